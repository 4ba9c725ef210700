"""A language model server on loopback: real HTTP, scripted answers, and every fault and quirk that real servers showed us.

`async with FakeLlmServer([says("hi"), Fault("429", retry_after="1")]) as server:` answers one script entry a request and the
last one for ever after. `quirks` change how requests are judged; `requests` holds what came in.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

Kind = Literal[
    "slow", "hang", "429", "500", "status", "detail", "cut", "stream_error",
    "bad_json", "html", "empty_choices", "null_content", "not_an_object",
]  # fmt: skip
QUIRKS = frozenset(
    {
        "no_json_schema",  # response_format json_schema: 500
        "no_json_object",  # response_format json_object: 400 that names it
        "ignores_json",  # response_format is accepted and prose comes back
        "ignores_max_completion_tokens",
        "ignores_max_tokens",
        "refuses_max_tokens",  # as OpenAI's reasoning models
        "refuses_temperature",  # the same
        "refuses_developer_role",  # 500
        "refuses_system_role",  # 400, as chat templates without one
        "stream_without_end",  # no finish_reason
        "refuses_stream_options",
        "tool_null_content_500",
        "tool_empty_content_500",
        "no_tools",  # 400 that names them
        "streamed_tool_name_repeats",
        "too_long_400",
        "no_usage",
        "content_parts",
    }
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the model says. `tool_calls` are (name, arguments as JSON text) pairs."""

    text: str | None = "ok"
    tool_calls: tuple[tuple[str, str], ...] = ()
    finish_reason: str | None = "stop"
    refusal: str | None = None


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request."""

    kind: Kind
    seconds: float = 0.2  # slow
    retry_after: str | None = None  # 429
    status: int = 400  # status
    message: str = "it does not work"
    detail: Any = None  # detail: what stands under that name, as some frameworks answer
    then: Answer = field(default_factory=Answer)  # slow


def says(text: str, *, finish_reason: str | None = "stop") -> Answer:
    """Return a plain answer."""
    return Answer(text=text, finish_reason=finish_reason)


def calls(name: str, arguments: str = "{}") -> Answer:
    """Return a tool call with null content, as servers send it."""
    return Answer(text=None, tool_calls=((name, arguments),), finish_reason="tool_calls")


class FakeLlmServer:
    """Serves `/v1/chat/completions` on a free port while it is entered."""

    def __init__(self, script: Sequence[Answer | Fault] = (), *, quirks: Sequence[str] = (), key: str | None = None) -> None:
        unknown = set(quirks) - QUIRKS
        assert not unknown, f"unknown quirks: {unknown}"
        self.script: list[Answer | Fault] = list(script) or [Answer()]
        self.quirks = frozenset(quirks)
        self.key = key
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.arrived = asyncio.Event()  # set at each request
        self._released = asyncio.Event()
        self._port = 0

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._released.set()
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.arrived.set()
        self.headers.append(dict(request.headers))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return self._refusal(request, body) or await self._next(request, body)
        finally:
            self.in_flight -= 1

    def _refusal(self, request: web.Request, body: Mapping[str, Any]) -> web.Response | None:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            sent = request.headers.get("Authorization", "")
            return _error(401, f"Incorrect API key provided: {sent}")  # echoes it whole: worse than any real one
        roles = {message["role"] for message in body["messages"]}
        mode = body.get("response_format", {}).get("type")
        with_calls = [message["content"] for message in body["messages"] if message.get("tool_calls")]
        rules = {
            "no_json_schema": (mode == "json_schema", 500, "[{'type': 'literal_error'}]"),
            "no_json_object": (mode == "json_object", 400, "response_format json_object is not supported"),
            "refuses_max_tokens": (
                "max_tokens" in body,
                400,
                "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
            ),
            "refuses_temperature": ("temperature" in body, 400, "Unsupported value: 'temperature' does not support 0.7."),
            "refuses_developer_role": ("developer" in roles, 500, "Internal Server Error"),
            "refuses_system_role": ("system" in roles, 400, "System role not supported"),
            "refuses_stream_options": ("stream_options" in body, 400, "unknown field: stream_options"),
            "tool_null_content_500": (None in with_calls, 500, "Internal Server Error"),
            "tool_empty_content_500": ("" in with_calls, 500, "Internal Server Error"),
            "no_tools": ("tools" in body, 400, "this model does not support tools"),
            "too_long_400": (
                sum(len(str(message["content"])) for message in body["messages"]) > 4096,
                400,
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            ),
        }
        for quirk, (hit, status, message) in rules.items():
            if quirk in self.quirks and hit:
                return _error(status, message)
        return None

    async def _next(self, request: web.Request, body: Mapping[str, Any]) -> web.StreamResponse:
        entry = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(entry, Answer):
            return await self._answer(request, body, entry)
        match entry.kind:
            case "slow":
                await asyncio.sleep(entry.seconds)
                return await self._answer(request, body, entry.then)
            case "cut":
                return await self._cut(request, body)
            case "stream_error":
                return await self._stream(request, ['{"error": {"message": "out of memory"}}'])
            case "hang":
                await self._released.wait()
        return _broken(entry)

    async def _cut(self, request: web.Request, body: Mapping[str, Any]) -> web.StreamResponse:
        if body.get("stream"):
            chunk = _chunk({"content": "half a sen"}, None)
            response = await self._stream(request, [chunk], end=False)
        else:
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [{"mess')
        assert request.transport is not None
        request.transport.abort()
        return response

    async def _answer(self, request: web.Request, body: Mapping[str, Any], answer: Answer) -> web.StreamResponse:
        text = self._text(body, answer)
        usage = {"prompt_tokens": 7, "completion_tokens": len((text or "").split()), "total_tokens": 0}
        if body.get("stream"):
            return await self._stream(request, self._chunks(answer, text, usage))
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if "content_parts" in self.quirks and text:
            message["content"] = [{"type": "text", "text": text}]
        if answer.refusal:
            message["refusal"] = answer.refusal
        if answer.tool_calls:
            message["tool_calls"] = [_call(index, *call) for index, call in enumerate(answer.tool_calls)]
        whole: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"]}
        whole["choices"] = [{"index": 0, "message": message, "finish_reason": answer.finish_reason}]
        if "no_usage" not in self.quirks:
            whole["usage"] = usage
        return web.json_response(whole)

    def _text(self, body: Mapping[str, Any], answer: Answer) -> str | None:
        if answer.text is None:
            return None
        if "ignores_json" in self.quirks and "response_format" in body:
            return "Sure! Here is what you asked for."
        words = answer.text.split(" ")
        limits = [
            body[key]
            for key in ("max_tokens", "max_completion_tokens")
            if key in body and f"ignores_{key}" not in self.quirks
        ]  # fmt: skip
        return " ".join(words[: min(limits, default=len(words))])

    def _chunks(self, answer: Answer, text: str | None, usage: Mapping[str, Any]) -> list[str]:
        chunks = [_chunk({"role": "assistant"}, None)]
        chunks += [_chunk({"content": piece}, None) for piece in (text or "").splitlines(keepends=True)]
        for index, (name, arguments) in enumerate(answer.tool_calls):
            half = len(arguments) // 2
            first = {**_call(index, name, arguments[:half]), "index": index}
            again = name if "streamed_tool_name_repeats" in self.quirks else None
            chunks.append(_chunk({"tool_calls": [first]}, None))
            chunks.append(
                _chunk({"tool_calls": [{"index": index, "function": {"name": again, "arguments": arguments[half:]}}]}, None)
            )
        if "stream_without_end" not in self.quirks:
            chunks.append(_chunk({}, answer.finish_reason))
        if "no_usage" not in self.quirks:
            chunks.append(json.dumps({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        return chunks

    async def _stream(self, request: web.Request, chunks: Sequence[str], *, end: bool = True) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(f"data: {chunk}\n\n".encode())
        if end:
            await response.write(b"data: [DONE]\n\n")
            await response.write_eof()
        return response


def _call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _chunk(delta: Mapping[str, Any], finish_reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]})


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "fake", "code": None}}, status=status, headers=headers)


def _broken(fault: Fault) -> web.Response:
    null = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "stop"}
    made: dict[str, Callable[[], web.Response]] = {
        "429": lambda: _error(429, fault.message, {"Retry-After": fault.retry_after} if fault.retry_after else {}),
        "500": lambda: _error(500, fault.message),
        "status": lambda: _error(fault.status, fault.message),
        "detail": lambda: web.json_response({"detail": fault.detail}, status=fault.status),
        "hang": lambda: _error(503, "shutting down"),
        "bad_json": lambda: web.Response(text='{"choices": [{"message": ', content_type="application/json"),
        "html": lambda: web.Response(text="<html>hello, this is a home page</html>", content_type="text/html"),
        "empty_choices": lambda: web.json_response({"id": "c1", "choices": []}),
        "null_content": lambda: web.json_response({"id": "c1", "choices": [null]}),
        "not_an_object": lambda: web.json_response([1, 2, 3]),
    }
    return made[fault.kind]()
