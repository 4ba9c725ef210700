"""The language model behind any OpenAI-compatible endpoint: one call, one total deadline, one tree of errors."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import structlog
from pydantic import BaseModel

from bot.capabilities import Asked, Capabilities, CapabilityFile, learned, step_down, without_json_mode
from bot.llm_errors import LlmBadAnswer, LlmRateLimited
from bot.llm_faults import Fault, FaultReader
from bot.llm_values import ChatMessage, Completion, LlmSettings, Tool, estimate_tokens
from bot.llm_wire import StreamedAnswer, Wanted, answer_of, request_of

log = structlog.get_logger(__name__)

FIRST_PAUSE_SECONDS = 0.25  # doubled after each attempt
CONNECT_SECONDS = 5.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class LanguageModel:
    """Chat completions with bounded concurrency. What the server cannot do is learned once and worked around from then on."""

    def __init__(self, settings: LlmSettings, *, capabilities_path: Path | None = None) -> None:
        """Prepare the client; nothing is sent yet. What is learned is kept in `capabilities_path` where one is given."""
        import openai  # noqa: PLC0415 - takes over a second: a bot without a model does not wait for it

        self._settings = settings
        self._file = CapabilityFile(capabilities_path, settings)
        self._known = self._file.load()
        self._faults = FaultReader(settings)
        self._slots = asyncio.Semaphore(settings.concurrency)
        local = urlsplit(settings.base_url).hostname in _LOOPBACK  # a proxy never reaches our own loopback
        self._sdk_error: type[Exception] = openai.OpenAIError
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            max_retries=0,
            timeout=openai.Timeout(settings.timeout_seconds, connect=min(CONNECT_SECONDS, settings.timeout_seconds)),
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not local),
        )

    def __repr__(self) -> str:
        """Return the endpoint and the model, never the key."""
        return f"LanguageModel({self._settings.address!r}, {self._settings.model!r})"

    @property
    def model(self) -> str:
        """The model's name, as configured."""
        return self._settings.model

    @property
    def capabilities(self) -> Capabilities:
        """What is known about the server so far."""
        return self._known

    async def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """Return the model's answer within `timeout_seconds`, waiting for a free slot and retries included.

        A call has no effect outside, so what may pass by itself (no connection, 5xx, a short 429, a cut answer) is tried again.

        Raises:
            LlmUnavailable: no connection, no answer in time, or a server error after all retries.
            LlmRateLimited: the server asks for a longer pause than the deadline allows.
            LlmRefused: key, model or request are wrong (`LlmTooLong`: the prompt does not fit).
            LlmBadAnswer: the answer is empty, cut off, or not the JSON that was asked for.
        """
        wanted = Wanted(
            messages=tuple(messages),
            max_tokens=max_tokens or self._settings.max_tokens,
            json_schema=json_schema,
            tools=tuple(tools),
        )
        started = time.perf_counter()
        outcome = await self._in_time(wanted)
        if isinstance(outcome, Fault):
            raise outcome.error  # here, outside of any handler: no exception that holds the request hangs on to it
        return replace(outcome, seconds=time.perf_counter() - started, model=self.model)

    async def close(self) -> None:
        """Close the connections; closing twice is fine."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        """Return the model itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def _in_time(self, wanted: Wanted) -> Completion | Fault:
        try:
            async with asyncio.timeout(self._settings.timeout_seconds) as deadline, self._slots:
                return await self._negotiate(wanted, deadline.when() or 0.0)
        except TimeoutError:
            return Fault(error=self._faults.late())

    async def _negotiate(self, wanted: Wanted, deadline: float) -> Completion | Fault:
        """Try, stepping down on an ability after each refusal; the ladders are finite, and so is this."""
        asked, trying = wanted.asked(self._settings), self._known
        while True:
            outcome = await self._with_retries(wanted, trying, deadline)
            if isinstance(outcome, Completion):
                self._learn(trying, asked, wanted, outcome)
                return outcome
            not_json = isinstance(outcome.error, LlmBadAnswer) and outcome.error.kind == "not_json"
            lower = (
                without_json_mode(trying) if not_json else step_down(trying, asked, status=outcome.status, words=outcome.words)
            )
            if lower is None:
                return outcome
            trying = lower

    def _learn(self, trying: Capabilities, asked: Asked, wanted: Wanted, completion: Completion) -> None:
        used = max(completion.completion_tokens, estimate_tokens(completion.text) // 2)
        known = learned(trying, asked, over_limit=used > wanted.max_tokens * 1.25 + 16)
        if known != self._known:
            log.info(
                "llm_capabilities_learned",
                model=self.model,
                json=known.json,
                role=known.role,
                limit=known.limit,
                tools=known.tools,
            )
            self._known = known
            self._file.save(known)
        if completion.usage_estimated:
            log.debug("llm_usage_estimated", model=self.model)

    async def _with_retries(self, wanted: Wanted, trying: Capabilities, deadline: float) -> Completion | Fault:
        attempt = 0
        while True:
            outcome = await self._once(wanted, trying)
            if isinstance(outcome, Completion) or not outcome.passing or attempt >= self._settings.retries:
                return outcome
            pause = FIRST_PAUSE_SECONDS * 2**attempt
            if isinstance(outcome.error, LlmRateLimited):
                pause = max(pause, outcome.error.retry_after or 0.0)
            if asyncio.get_running_loop().time() + pause >= deadline:
                return outcome
            log.info("llm_attempt_failed", model=self.model, attempt=attempt + 1, reason=str(outcome.error))
            await asyncio.sleep(pause)
            attempt += 1

    async def _once(self, wanted: Wanted, trying: Capabilities) -> Completion | Fault:
        request = request_of(wanted, trying, self._settings)
        try:
            body = await self._post(request)
            return answer_of(body, wanted, streamed=self._settings.stream)
        except LlmBadAnswer as error:
            return Fault(error=error, passing=error.kind == "cut")
        except self._sdk_error as error:
            return self._faults.of(error)
        except ValueError:  # the body, or a chunk of it, is not JSON
            return Fault(error=self._faults.not_json())

    async def _post(self, request: dict[str, Any]) -> object:
        if not self._settings.stream:
            raw = await self._client.chat.completions.with_raw_response.create(**request)
            return json.loads(raw.http_response.text)
        answer = StreamedAnswer()
        stream = await self._client.chat.completions.create(**request)
        async with stream:
            async for chunk in stream:
                answer.add(_plain(chunk))
        return answer.body()


def _plain(chunk: object) -> object:
    return chunk.model_dump() if isinstance(chunk, BaseModel) else chunk
