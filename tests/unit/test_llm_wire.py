import pytest
from builders_llm import ASK, ASKED_TOOL, SCHEMA

from bot.capabilities import Asked, Capabilities, step_down
from bot.llm_errors import LlmBadAnswer
from bot.llm_values import ChatMessage, LlmSettings, ToolCall
from bot.llm_wire import StreamedAnswer, Wanted, answer_of, request_of


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"tool_calls": [{"function": {}}]}}]},
        {"choices": [{"message": {"tool_calls": ["x"]}}]},
        {"choices": [{"message": "x"}]},
        {"choices": ["x"]},
        {"choices": None},
        None,
    ],
)
def test_body_of_any_shape_is_judged_without_a_crash(body: object) -> None:
    with pytest.raises(LlmBadAnswer):
        answer_of(body, Wanted(messages=ASK, max_tokens=5))


def test_tool_arguments_may_come_parsed_or_not_at_all() -> None:
    calls_ = [{"function": {"name": "a", "arguments": {"x": 1}}}, {"id": 7, "function": {"name": "b", "arguments": ""}}]
    done = answer_of({"choices": [{"message": {"tool_calls": calls_}}]}, Wanted(messages=ASK, max_tokens=5))
    assert done.tool_calls == (ToolCall(id="call-0", name="a", arguments={"x": 1}), ToolCall(id="7", name="b", arguments={}))


@pytest.mark.parametrize(
    "chunk",
    [
        None,
        [],
        {"choices": None},
        {"choices": ["x"]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": ["x"]}}]},
    ],
)
def test_malformed_chunk_is_passed_over(chunk: object) -> None:
    answer = StreamedAnswer()
    answer.add({"choices": [{"delta": {"content": "a"}}]})
    answer.add(chunk)
    answer.add({"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]})
    assert answer_of(answer.body(), Wanted(messages=ASK, max_tokens=5), streamed=True).text == "ab"


def test_json_order_stands_alone_where_the_last_message_is_not_the_users() -> None:
    wanted = Wanted(messages=ASKED_TOOL, max_tokens=5, json_schema=SCHEMA)
    settings = LlmSettings(base_url="http://localhost/v1", model="m")
    messages = request_of(wanted, Capabilities(json="plain"), settings)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert "JSON schema" in messages[-1]["content"]


def test_instructions_without_a_user_message_become_one() -> None:
    wanted = Wanted(
        messages=(ChatMessage(role="system", content="a"), ChatMessage(role="assistant", content="b")), max_tokens=5
    )
    settings = LlmSettings(base_url="http://localhost/v1", model="m")
    assert request_of(wanted, Capabilities(role="user"), settings)["messages"][0] == {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("known", "words", "lower"),
    [
        (Capabilities(limit=""), "max_tokens", None),
        (Capabilities(seen=frozenset({"max_completion_tokens:refused"})), "unknown: max_tokens", ""),
        (Capabilities(role="user"), "the role user is odd", None),
    ],
)
def test_ladders_end(known: Capabilities, words: str, lower: str | None) -> None:
    stepped = step_down(known, Asked(instructions=True), status=400, words=words)
    assert (stepped.limit if stepped else None) == lower


@pytest.mark.parametrize("status", [None, 401, 404, 429, 503])
def test_status_that_says_nothing_of_abilities_steps_nowhere(status: int | None) -> None:
    assert step_down(Capabilities(), Asked(json=True), status=status, words="response_format") is None
