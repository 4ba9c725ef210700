import json
from pathlib import Path

import pytest
import structlog
from builders_llm import ASK, ASKED_TOOL, SCHEMA, TOOL, ask, model_of
from fakes.llm_server import FakeLlmServer, Fault, calls, says

from bot.llm import LanguageModel
from bot.llm_errors import LlmBadAnswer, LlmUnavailable
from bot.llm_values import ChatMessage, Completion, LlmSettings, ToolCall


@pytest.mark.parametrize("stream", [False, True])
async def test_plain_question_gets_the_text_and_what_it_cost(stream: bool) -> None:
    async with FakeLlmServer([says("Hello\nyou there")]) as server:
        done = await ask(server, stream=stream)
    assert (done.text, done.finish_reason, done.prompt_tokens, done.completion_tokens) == ("Hello\nyou there", "stop", 7, 3)
    assert not done.usage_estimated
    assert done.seconds > 0
    assert done.model == "fake-1"
    request = server.requests[0]
    assert request["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
    assert request["max_tokens"] == 200
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-0123456789"


@pytest.mark.parametrize("stream", [False, True])
async def test_missing_usage_is_estimated_and_said(stream: bool) -> None:
    async with FakeLlmServer([says("Hello you")], quirks=["no_usage"]) as server:
        done = await ask(server, stream=stream)
    assert done.usage_estimated
    assert done.prompt_tokens > 4
    assert done.completion_tokens == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("quirks", [(), ("streamed_tool_name_repeats",)])
async def test_tool_calls_with_null_content_arrive_with_their_name_once(stream: bool, quirks: tuple[str, ...]) -> None:
    async with (
        FakeLlmServer([calls("note_set", '{"id": "n1"}')], quirks=quirks) as server,
        model_of(server, stream=stream) as model,
    ):
        done = await model.chat(ASK, tools=[TOOL])
    assert done.tool_calls == (ToolCall(id="call_0", name="note_set", arguments={"id": "n1"}),)
    assert done.text == ""
    assert server.requests[0]["tools"][0]["function"]["name"] == "note_set"


@pytest.mark.parametrize("arguments", ['{"id": ', "[1]", '"x"'])
async def test_tool_call_with_broken_arguments_comes_with_its_error(arguments: str) -> None:
    async with FakeLlmServer([calls("note_set", arguments)]) as server:
        [call] = (await ask(server)).tool_calls
    assert (call.name, call.arguments, call.error) == ("note_set", {}, "the arguments are not a JSON object")


async def test_content_in_parts_is_joined() -> None:
    async with FakeLlmServer([says("in parts")], quirks=["content_parts"]) as server:
        assert (await ask(server)).text == "in parts"


async def test_thinking_is_not_said() -> None:
    async with FakeLlmServer([says("<think>who is this?\nhm</think>\nHi!")]) as server:
        assert (await ask(server)).text == "Hi!"


async def test_thinking_without_an_end_says_to_raise_the_limit() -> None:
    async with FakeLlmServer([says("<think>who is this", finish_reason="length")]) as server:
        with pytest.raises(LlmBadAnswer, match="raise the limit"):
            await ask(server)


@pytest.mark.parametrize("role", ["system", "developer"])
async def test_lone_surrogates_and_nul_reach_the_server_as_valid_text(role: str) -> None:
    async with FakeLlmServer() as server, model_of(server, instruction_role=role) as model:
        await model.chat([ChatMessage(role="system", content="a\ud800b"), ChatMessage(role="user", content="x\x00y")])
    assert server.requests[0]["messages"][0] == {"role": role, "content": "a?b"}
    assert server.requests[0]["messages"][1]["content"] == "x y"


# --- structured output: json_schema -> json_object with schema -> plain


@pytest.mark.parametrize(
    ("quirks", "formats"),
    [
        ((), ["json_schema"]),
        (("no_json_schema",), ["json_schema", "json_schema", "json_object"]),  # a 500 is tried twice: it might have passed
        (("no_json_schema", "no_json_object"), ["json_schema", "json_schema", "json_object", None]),
        (("ignores_json",), ["json_schema", "json_object", None]),
    ],
)
async def test_json_is_asked_for_in_the_way_the_server_knows_and_only_found_out_once(
    quirks: tuple[str, ...], formats: list[str | None]
) -> None:
    async with FakeLlmServer([says('Sure: ```json\n{"name": "Ada"}\n```')], quirks=quirks) as server, model_of(server) as model:
        first = await model.chat(ASK, json_schema=SCHEMA)
        assert [request.get("response_format", {}).get("type") for request in server.requests] == formats
        server.requests.clear()
        second = await model.chat(ASK, json_schema=SCHEMA)
    assert first.parsed == second.parsed == {"name": "Ada"}
    assert [request.get("response_format", {}).get("type") for request in server.requests] == formats[-1:]
    told = "JSON schema" in server.requests[0]["messages"][-1]["content"]
    assert told == (formats[-1] != "json_schema")


async def test_json_object_carries_the_schema() -> None:
    async with FakeLlmServer([says('{"name": "Ada"}')], quirks=["no_json_schema"]) as server, model_of(server) as model:
        await model.chat(ASK, json_schema=SCHEMA)
    assert server.requests[-1]["response_format"] == {"type": "json_object", "schema": dict(SCHEMA)}


@pytest.mark.parametrize("text", ["no JSON here", "{broken", "[1]", '{"other": 1}', "{" * 50_000])
async def test_answer_that_is_not_the_json_asked_for_is_refused_on_every_rung(text: str) -> None:
    async with FakeLlmServer([says(text)]) as server, model_of(server, max_tokens=100_000) as model:
        with pytest.raises(LlmBadAnswer, match="JSON"):
            await model.chat(ASK, json_schema=SCHEMA)
        assert len(server.requests) == 3
        assert model.capabilities.json == "json_schema"  # nothing worked, so nothing was learned


async def test_json_cut_by_the_limit_is_not_held_against_the_server() -> None:
    async with FakeLlmServer([says('{"name": "Ad', finish_reason="length")]) as server, model_of(server) as model:
        with pytest.raises(LlmBadAnswer, match="raise the limit"):
            await model.chat(ASK, json_schema=SCHEMA)
        assert len(server.requests) == 1


async def test_outage_after_a_success_is_an_outage_and_teaches_nothing() -> None:
    async with FakeLlmServer([says('{"name": "Ada"}'), Fault("500")]) as server, model_of(server, retries=0) as model:
        await model.chat(ASK, json_schema=SCHEMA)
        with pytest.raises(LlmUnavailable, match="500"):
            await model.chat(ASK, json_schema=SCHEMA)
        assert model.capabilities.json == "json_schema"
        assert len(server.requests) == 2


# --- limits, roles, temperature, tools


async def test_ignored_token_limit_makes_the_next_request_use_the_other_key() -> None:
    async with FakeLlmServer([says("word " * 500)], quirks=["ignores_max_tokens"]) as server, model_of(server) as model:
        for _ in range(3):
            await model.chat(ASK, max_tokens=10)
    assert ["max_completion_tokens" in request for request in server.requests] == [False, True, True]


async def test_server_that_ignores_max_completion_tokens_is_never_sent_it() -> None:
    long = says("word " * 500)
    async with FakeLlmServer([long], quirks=["ignores_max_completion_tokens"]) as server, model_of(server) as model:
        done = await model.chat(ASK, max_tokens=10)
    assert done.completion_tokens == 10
    assert "max_completion_tokens" not in server.requests[0]


async def test_server_that_ignores_both_limits_is_asked_with_one_of_them() -> None:
    quirks = ["ignores_max_tokens", "ignores_max_completion_tokens"]
    async with FakeLlmServer([says("word " * 500)], quirks=quirks) as server, model_of(server) as model:
        for _ in range(4):
            await model.chat(ASK, max_tokens=10)
        assert model.capabilities.limit == "max_completion_tokens"


@pytest.mark.parametrize(
    ("quirk", "gone", "there"),
    [
        ("refuses_max_tokens", "max_tokens", "max_completion_tokens"),
        ("refuses_temperature", "temperature", "max_tokens"),
    ],
)
async def test_refused_parameter_is_left_out_from_then_on(quirk: str, gone: str, there: str) -> None:
    async with FakeLlmServer(quirks=[quirk]) as server, model_of(server) as model:
        await model.chat(ASK)
        await model.chat(ASK)
    assert [gone in request for request in server.requests] == [True, False, False]
    assert there in server.requests[-1]


async def test_refused_developer_role_becomes_system() -> None:
    async with (
        FakeLlmServer(quirks=["refuses_developer_role"]) as server,
        model_of(server, instruction_role="developer", retries=0) as model,
    ):
        await model.chat(ASK)
        await model.chat(ASK)
    assert [request["messages"][0]["role"] for request in server.requests] == ["developer", "system", "system"]


async def test_refused_system_role_moves_the_instructions_into_the_user_message() -> None:
    async with FakeLlmServer(quirks=["refuses_system_role"]) as server, model_of(server) as model:
        await model.chat(ASK)
        await model.chat([ChatMessage(role="system", content="Only this.")])
    assert server.requests[1]["messages"] == [{"role": "user", "content": "Be brief.\n\nHello?"}]
    assert server.requests[2]["messages"] == [{"role": "user", "content": "Only this."}]


@pytest.mark.parametrize(("quirk", "sent"), [("tool_null_content_500", [""]), ("tool_empty_content_500", ["", None])])
async def test_assistant_message_with_tool_calls_gets_through_either_way(quirk: str, sent: list[str | None]) -> None:
    async with FakeLlmServer(quirks=[quirk]) as server, model_of(server, retries=0) as model:
        done = await model.chat(ASKED_TOOL, tools=[TOOL])
    assert done.text == "ok"
    assert [request["messages"][1]["content"] for request in server.requests] == sent
    assert json.loads(server.requests[0]["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"id": "n"}
    assert server.requests[0]["messages"][2]["tool_call_id"] == "c0"


async def test_server_without_tools_is_asked_without_them() -> None:
    async with FakeLlmServer(quirks=["no_tools"]) as server, model_of(server) as model:
        await model.chat(ASK, tools=[TOOL])
        assert not model.capabilities.tools
    assert ["tools" in request for request in server.requests] == [True, False]


async def test_refused_stream_options_are_left_out() -> None:
    async with FakeLlmServer(quirks=["refuses_stream_options"]) as server:
        assert (await ask(server, stream=True)).text == "ok"
    assert ["stream_options" in request for request in server.requests] == [True, False]


# --- what was learned is kept


async def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "new" / "llm.json"
    async with FakeLlmServer([says('{"name": "Ada"}')], quirks=["no_json_schema", "refuses_max_tokens"]) as server:
        async with model_of(server, path) as model:
            await model.chat(ASK, json_schema=SCHEMA)
        server.requests.clear()
        async with model_of(server, path) as model:
            await model.chat(ASK, json_schema=SCHEMA)
        assert len(server.requests) == 1
        another = LlmSettings(base_url=server.url, model="another")
        async with LanguageModel(another, capabilities_path=path) as other:
            assert other.capabilities.json == "json_schema"
    assert "sk-secret" not in path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["llm.json"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"KEY": 1}', '{"KEY": {"json": "magic"}}', "\x00\xff"])
async def test_damaged_file_is_said_and_replaced(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "llm.json"
    async with FakeLlmServer([says('{"name": "Ada"}')]) as server:
        path.write_text(damage.replace("KEY", f"{server.url} fake-1"), encoding="latin-1")
        with structlog.testing.capture_logs() as logs:
            async with model_of(server, path) as model:
                await model.chat(ASK, json_schema=SCHEMA)
    assert "json_schema:works" in json.loads(path.read_text())[f"{server.url} fake-1"]["seen"]
    unreadable = [entry for entry in logs if entry["event"] == "llm_capabilities_unreadable"]
    assert bool(unreadable) == (damage not in {"[]", '{"KEY": 1}'})


async def test_unwritable_file_is_said_and_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with FakeLlmServer([says('{"name": "Ada"}')]) as server:
        with structlog.testing.capture_logs() as logs:
            done = await _json_from(server, tmp_path / "file" / "llm.json")
    assert done.parsed == {"name": "Ada"}
    assert "llm_capabilities_not_kept" in [entry["event"] for entry in logs]


async def _json_from(server: FakeLlmServer, path: Path) -> Completion:
    async with model_of(server, path) as model:
        return await model.chat(ASK, json_schema=SCHEMA)
