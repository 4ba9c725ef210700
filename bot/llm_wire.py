"""Values to the wire format of chat completions and back. Pure: what servers send is judged here, not trusted."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.capabilities import Asked, Capabilities
from bot.llm_errors import LlmBadAnswer
from bot.llm_values import ChatMessage, Completion, LlmSettings, Tool, ToolCall, estimate_tokens

MESSAGE_TOKENS = 4  # role and separators, a message
_SPELT = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)  # as Hermes and Qwen write calls
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One call, before it is known how this server wants it put."""

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    json_schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()

    def asked(self, settings: LlmSettings) -> Asked:
        """Return which abilities the call leans on."""
        return Asked(
            json=self.json_schema is not None,
            tools=bool(self.tools),
            tool_results=any(message.tool_calls for message in self.messages),
            instructions=any(message.role == "system" for message in self.messages),
            stream=settings.stream,
        )


def request_of(wanted: Wanted, known: Capabilities, settings: LlmSettings) -> dict[str, Any]:
    """Return the arguments of `chat.completions.create`, put the way this server understands."""
    request: dict[str, Any] = {"model": settings.model, "messages": _messages(wanted, known)}
    if known.temperature:
        request["temperature"] = settings.temperature
    if known.limit:
        request[known.limit] = wanted.max_tokens
    if wanted.json_schema is not None and known.json != "plain":
        request["response_format"] = _response_format(wanted.json_schema, known.json)
    if wanted.tools and known.tools:
        request["tools"] = [{"type": "function", "function": _tool(tool)} for tool in wanted.tools]
    if settings.stream:
        request["stream"] = True
        if known.stream_options:
            request["stream_options"] = {"include_usage": True}
    return request


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _response_format(schema: Mapping[str, Any], mode: str) -> dict[str, Any]:
    if mode == "json_object":  # llama.cpp enforces the schema here; others ignore it
        return {"type": "json_object", "schema": dict(schema)}
    strict = schema.get("additionalProperties") is False  # what strict mode demands
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": strict}}


def _messages(wanted: Wanted, known: Capabilities) -> list[dict[str, Any]]:
    messages = list(wanted.messages)
    if wanted.json_schema is not None and known.json != "json_schema":
        messages = _asking_for_json(messages, wanted.json_schema)
    if known.role == "user":
        messages = _without_instructions(messages)
    return [_message(message, known) for message in messages]


def _asking_for_json(messages: list[ChatMessage], schema: Mapping[str, Any]) -> list[ChatMessage]:
    order = f"Answer with one JSON object and nothing else. It must fit this JSON schema: {json.dumps(schema)}"
    if not messages or messages[-1].role != "user":
        return [*messages, ChatMessage(role="user", content=order)]
    return [*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{order}")]


def _without_instructions(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Put the system messages before the first user message: some chat templates know no system role."""
    orders = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = ChatMessage(role="user", content=f"{orders}\n\n{message.content}".strip())
            return rest
    return [ChatMessage(role="user", content=orders), *rest]


def _message(message: ChatMessage, known: Capabilities) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "role": known.role if message.role == "system" else message.role,
        "content": _sendable(message.content),
    }
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
        if known.null_content and not message.content:
            wire["content"] = None
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _sendable(text: str) -> str:
    """Return `text` without what cannot be encoded (lone surrogates) or breaks C string handling on the other side (NUL)."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


def answer_of(body: object, wanted: Wanted, *, streamed: bool = False) -> Completion:
    """Return the completion in a response body.

    Raises:
        LlmBadAnswer: it holds no usable answer.
    """
    choice = _first_choice(body)
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    finish = choice.get("finish_reason")
    if streamed and not isinstance(finish, str):
        msg = "the model's answer broke off: the stream ended without a finish_reason; it is not used"
        raise LlmBadAnswer(msg, "cut")
    calls = _tool_calls(message.get("tool_calls"))
    text = _spoken(message)
    if wanted.tools and not calls:
        calls, text = _spelt_calls(text)
    if not text and not calls:
        raise LlmBadAnswer(_why_empty(message, finish), "empty")
    prompt, completion, estimated = _usage(body, wanted, text)
    return Completion(
        text=text,
        tool_calls=calls,
        parsed=_parsed(text, wanted.json_schema, finish) if wanted.json_schema is not None and not calls else None,
        prompt_tokens=prompt,
        completion_tokens=completion,
        usage_estimated=estimated,
        finish_reason=finish if isinstance(finish, str) else None,
    )


def _parsed(text: str, schema: Mapping[str, Any], finish: object) -> Mapping[str, Any]:
    try:
        return json_of(text, schema)
    except LlmBadAnswer:
        if finish != "length":
            raise
    msg = "the model's JSON was cut off by the limit on tokens: raise the limit, or ask for less"
    raise LlmBadAnswer(msg)


def _first_choice(body: object) -> Mapping[str, Any]:
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        msg = "the server's answer holds no choices: is the base URL that of an OpenAI-compatible API (often ending in /v1)?"
        raise LlmBadAnswer(msg)
    return choices[0]


def _spoken(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # content parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return _THINKING.sub("", content).strip() if isinstance(content, str) else ""


def _why_empty(message: Mapping[str, Any], finish: object) -> str:
    if message.get("refusal"):
        return "the model refused to answer; nothing is said"
    if finish == "content_filter":
        return "the server's content filter removed the answer; nothing is said"
    if finish == "length":
        return "the model used up its tokens before it said anything (long thinking does that): raise the limit on reply tokens"
    return "the model's answer is empty; nothing is said"


def _usage(body: object, wanted: Wanted, text: str) -> tuple[int, int, bool]:
    usage = body.get("usage") if isinstance(body, Mapping) else None
    usage = usage if isinstance(usage, Mapping) else {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(prompt, int) and isinstance(completion, int):
        return prompt, completion, False
    return estimate_prompt(wanted.messages), estimate_tokens(text), True


def estimate_prompt(messages: Sequence[ChatMessage]) -> int:
    """Return an upper guess of the tokens of a whole prompt."""
    return sum(estimate_tokens(message.content) + MESSAGE_TOKENS for message in messages)


def _tool_calls(raw: object) -> tuple[ToolCall, ...]:
    """Return the calls with ids that tell them apart, whatever the server numbered them."""
    calls = [_tool_call(call, position) for position, call in enumerate(raw if isinstance(raw, list) else [])]
    ids = [call.id for call in calls]
    return tuple(
        call if ids.index(call.id) == place else replace(call, id=f"{call.id}-{place}") for place, call in enumerate(calls)
    )


def _spelt_calls(text: str) -> tuple[tuple[ToolCall, ...], str]:
    """Return the calls that stand in the words, and the words without them: not every server knows its model's notation."""
    found = []
    for written in _SPELT.findall(text):
        try:
            call = json.loads(written)
        except (ValueError, RecursionError):
            continue
        if isinstance(call, Mapping) and isinstance(call.get("name"), str):
            found.append({"function": {"name": call["name"], "arguments": call.get("arguments")}})
    return _tool_calls(found), _SPELT.sub(" ", text).strip()


def _tool_call(call: object, position: int) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        msg = "the model's tool call names no tool; the call is not made"
        raise LlmBadAnswer(msg)
    id_, name, arguments = str(call.get("id") or f"call-{position}"), function["name"], function.get("arguments") or "{}"
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, Mapping):
        return ToolCall(id=id_, name=name, arguments={}, error="the arguments are not a JSON object")
    return ToolCall(id=id_, name=name, arguments=arguments)


def json_of(text: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the JSON object in `text`, which may stand in a fence or between words.

    Raises:
        LlmBadAnswer: there is none, or a key that `schema` requires is missing.
    """
    start = text.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        msg = "the model was asked for JSON and answered something else; the answer is not used"
        raise LlmBadAnswer(msg, "not_json")
    missing = [key for key in (schema or {}).get("required", ()) if key not in found]
    if missing:
        raise LlmBadAnswer(f"the model's JSON lacks {', '.join(map(str, missing))}; the answer is not used", "not_json")
    return found


class StreamedAnswer:
    """Collects the chunks of a stream into the body that the same answer would have had unstreamed."""

    def __init__(self) -> None:
        """Start empty."""
        self._text: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: object = None
        self._usage: object = None

    def add(self, chunk: object) -> None:
        """Take in one chunk; what is malformed in it is passed over, the end decides."""
        if not isinstance(chunk, Mapping):
            return
        self._usage = chunk.get("usage") or self._usage
        for choice in _mappings(chunk.get("choices"))[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                self._add_delta(delta)

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        self._text.append(_string(delta.get("content")))
        for call in _mappings(delta.get("tool_calls")):
            function = call.get("function")
            function = function if isinstance(function, Mapping) else {}
            known = self._calls.setdefault(call.get("index") or 0, {"id": None, "name": None, "arguments": ""})
            known["id"] = known["id"] or call.get("id")
            known["name"] = known["name"] or function.get("name")  # set once: some servers repeat it in every chunk
            known["arguments"] += _string(function.get("arguments"))

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        message = {"content": "".join(self._text), "tool_calls": calls}
        return {"choices": [{"message": message, "finish_reason": self._finish}], "usage": self._usage}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
