import asyncio
import socket
from typing import Any

import pytest
import structlog
from builders_llm import ASK, SCHEMA, ask, model_of
from fakes.llm_server import Answer, FakeLlmServer, Fault, says

from bot.llm import LanguageModel
from bot.llm_errors import LlmBadAnswer, LlmError, LlmRateLimited, LlmRefused, LlmTooLong, LlmUnavailable
from bot.llm_values import ChatMessage, Completion, LlmSettings

# --- faults


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", [Fault("500"), Fault("cut"), Fault("429"), Fault("429", retry_after="0")])
async def test_what_passes_by_itself_is_tried_again(fault: Fault, stream: bool) -> None:
    async with FakeLlmServer([fault, says("back")]) as server:
        assert (await ask(server, stream=stream)).text == "back"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "error", "match", "requests"),
    [
        (Fault("500"), LlmUnavailable, "answered 500", 2),
        (Fault("cut"), LlmUnavailable, "cut", 2),
        (Fault("429", retry_after="3600"), LlmRateLimited, "again in 3600 s", 1),
        (Fault("429", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), LlmRateLimited, "asks for a pause", 2),
        (Fault("429", message="You exceeded your current quota"), LlmRateLimited, "no credit", 1),
        (Fault("status", status=401), LlmRefused, "check the LLM key", 1),
        (Fault("status", status=404), LlmRefused, r"check the model name \(fake-1\)", 1),
        (Fault("status", status=400), LlmRefused, "check the LLM settings", 1),
        (Fault("status", status=413, message="prompt is too long"), LlmTooLong, "lower the prompt limit", 1),
        (Fault("bad_json"), LlmBadAnswer, "not JSON", 1),
        (Fault("html"), LlmBadAnswer, "not JSON", 1),
        (Fault("empty_choices"), LlmBadAnswer, "no choices", 1),
        (Fault("not_an_object"), LlmBadAnswer, "no choices", 1),
        (Fault("null_content"), LlmBadAnswer, "empty", 1),
    ],
)  # fmt: skip
async def test_fault_becomes_the_error_that_says_what_to_do(
    fault: Fault, error: type[LlmError], match: str, requests: int
) -> None:
    async with FakeLlmServer([fault]) as server:
        with pytest.raises(error, match=match):
            await ask(server)
    assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (Answer(text=None, refusal="I cannot"), "refused to answer"),
        (Answer(text="", finish_reason="content_filter"), "content filter"),
        (Answer(text=" "), "empty"),
    ],
)  # fmt: skip
async def test_answer_without_words_says_why(answer: Answer, match: str) -> None:
    async with FakeLlmServer([answer]) as server:
        with pytest.raises(LlmBadAnswer, match=match):
            await ask(server)


ECHOES = {
    "as_json": 'body.temperature: too high; got {"messages": [{"role": "user", "content": "Hello?"}]}',
    "as_python": "[{'type': 'x', 'loc': ('body', 'x'), 'msg': 'too high', 'input': {'messages': [{'content': 'Hello?'}]}}]",
    "as_quoted": "too high: Answer Alice, who writes: «Hello?»",
    "cut_off": "too high: Answer Alice, who writes: «Hello? and so on for a thousand words",
    "as_lines": 'too high at {"line": 1, "author": "A1", "text": "Hello?"}',
}


@pytest.mark.parametrize("status", [400, 429, 500])
@pytest.mark.parametrize("echo", ECHOES)
async def test_chat_that_a_server_sends_back_stands_in_no_error(echo: str, status: int) -> None:
    kind = Fault("status", status=status, message=ECHOES[echo])
    async with FakeLlmServer([kind, kind]) as server:
        with structlog.testing.capture_logs() as logged, pytest.raises(LlmError, match="too high") as raised:
            await ask(server)
    assert "Hello" not in f"{raised.value} {logged}"


async def test_a_list_of_what_is_wrong_with_a_request_is_told_without_the_request() -> None:
    detail = [{"type": "missing", "loc": ["body", "x"], "msg": "Field required", "input": {"messages": ["Hello?"]}}]
    async with FakeLlmServer([Fault("detail", status=422, detail=detail)]) as server:
        with pytest.raises(LlmRefused, match="Field required") as raised:
            await ask(server)
    assert "Hello" not in str(raised.value)


async def test_stream_without_an_end_is_an_error_after_a_retry() -> None:
    async with FakeLlmServer([says("half")], quirks=["stream_without_end"]) as server:
        with pytest.raises(LlmBadAnswer, match="broke off"):
            await ask(server, stream=True)
    assert len(server.requests) == 2


async def test_error_inside_a_stream_is_an_error() -> None:
    async with FakeLlmServer([Fault("stream_error")]) as server:
        with pytest.raises(LlmUnavailable, match="out of memory"):
            await ask(server, stream=True)


async def test_too_long_prompt_says_how_much_fits_and_is_not_tried_again() -> None:
    async with FakeLlmServer(quirks=["too_long_400"]) as server, model_of(server) as model:
        with pytest.raises(LlmTooLong) as caught:
            await model.chat([ChatMessage(role="user", content="x" * 5000)], json_schema=SCHEMA)
    assert caught.value.limit == 4096
    assert len(server.requests) == 1


async def test_nobody_listening_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        async with LanguageModel(LlmSettings(base_url=url, model="m", retries=1)) as model:
            with pytest.raises(LlmUnavailable, match="no connection"):
                await model.chat(ASK)


# --- deadline, concurrency, cancellation


@pytest.mark.parametrize("stream", [False, True])
async def test_hanging_server_ends_at_the_deadline(stream: bool) -> None:
    async with FakeLlmServer([Fault("hang")]) as server:
        with pytest.raises(LlmUnavailable, match=r"no answer within 0\.3 s"):
            await ask(server, timeout_seconds=0.3, stream=stream, retries=5)


async def test_deadline_covers_waiting_for_a_slot() -> None:
    async with FakeLlmServer([Fault("hang")]) as server, model_of(server, timeout_seconds=0.3, concurrency=1) as model:
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            waiting = [group.create_task(_outcome(model)) for _ in range(4)]
        assert {type(task.result()) for task in waiting} == {LlmUnavailable}
        assert len(server.requests) < len(waiting)  # the others ended while they waited


async def _outcome(model: LanguageModel) -> Completion | LlmError:
    try:
        return await model.chat(ASK)
    except LlmError as error:
        return error


async def test_no_more_requests_at_once_than_allowed() -> None:
    async with (
        FakeLlmServer([Fault("slow", seconds=0.05)]) as server,
        model_of(server, concurrency=2) as model,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(6):
            group.create_task(model.chat(ASK))
    assert len(server.requests) == 6
    assert server.most_in_flight == 2


async def test_cancelled_call_gives_its_slot_back() -> None:
    async with FakeLlmServer([Fault("hang"), says("free")]) as server, model_of(server, concurrency=1) as model:
        task = asyncio.create_task(model.chat(ASK))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.chat(ASK)).text == "free"


async def test_closing_twice_is_fine() -> None:
    async with FakeLlmServer() as server, model_of(server) as model:
        await model.chat(ASK)
        await model.close()


# --- secrets


async def test_key_stands_in_no_message_log_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    secret = "sk-verysecret-42"
    caplog.set_level("DEBUG")
    async with FakeLlmServer(key="the right one") as server:
        settings = LlmSettings(base_url=server.url, model="m", api_key=secret, retries=0)
        with structlog.testing.capture_logs() as logs:
            async with LanguageModel(settings) as model:
                with pytest.raises(LlmRefused) as caught:
                    await model.chat(ASK)
                shown = [repr(model), repr(settings), repr(logs), caplog.text]
    error: BaseException | None = caught.value
    while error is not None:
        shown += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    assert "***" in str(caught.value)
    assert not [text for text in shown if "verysecret" in text]


@pytest.mark.parametrize("key", ["sk-a\n", " sk-a", "sk-ä", "sk\x00a"])
def test_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError, match="copy it again") as caught:
        LlmSettings(base_url="http://localhost/v1", model="m", api_key=key)
    assert "sk" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "http://u:p@localhost/v1"},
        {"base_url": "http://localhost/v1?key=1"},
        {"base_url": "localhost:8080"},
        {"base_url": "ftp://x/"},
        {"model": ""},
        {"timeout_seconds": 0.0},
        {"retries": -1},
        {"concurrency": 0},
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="LLM"):
        LlmSettings(**{"base_url": "http://localhost/v1", "model": "m", **wrong})


@pytest.mark.parametrize(
    "echo", ["token plain-secret is unknown", "Incorrect API key provided: sk-plain**ecret.", "Bearer plain-sec"]
)
async def test_key_that_the_server_echoes_is_not_passed_on(echo: str) -> None:
    async with FakeLlmServer([Fault("status", status=401, message=echo)]) as server:
        with pytest.raises(LlmRefused) as caught:
            await ask(server, api_key="plain-secret")
    assert "***" in str(caught.value)
    assert "plain" not in str(caught.value)
