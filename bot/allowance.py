"""How much the language model may be asked: calls and tokens an hour and a stream. What is over it is not asked at all."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from bot.llm_errors import LlmError
from bot.llm_values import Chat, ChatMessage, Completion, Tool
from memory import Clock, Stream

log = structlog.get_logger(__name__)
_HOUR = timedelta(hours=1)


class LlmSpent(LlmError):
    """The allowance is used up; the text says which, and when there is more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What may be spent. Zero: as much as is asked for."""

    calls_per_hour: int = 0
    tokens_per_hour: int = 0
    calls_per_stream: int = 0
    tokens_per_stream: int = 0


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    tokens: int = 0


class MeteredChat:
    """A model in front of which every call is counted. What was spent is forgotten when the program ends."""

    def __init__(self, chat: Chat, allowance: Allowance, clock: Clock) -> None:
        """Take the model and what may be spent on it."""
        self._chat = chat
        self._allowance = allowance
        self._clock = clock
        self._calls: deque[tuple[datetime, int]] = deque()  # of the last hour: when, and how many tokens
        self._stream = _Spent()
        self._stream_id: str | None = None
        self._told = ""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._chat.model

    def begin(self, stream: Stream) -> None:
        """Count a stream anew; one that goes on, and the real one of a temporary one, go on being counted."""
        if self._stream_id not in {None, stream.id}:
            self._stream = _Spent()
        self._stream_id = None if stream.temporary else stream.id

    async def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """Return the model's answer.

        Raises:
            LlmSpent: the allowance is used up; the model was not asked.
            LlmError: as the model's own; the call counts.
        """
        self._refuse_when_spent()
        tokens = 0
        try:
            completion = await self._chat.chat(messages, max_tokens=max_tokens, json_schema=json_schema, tools=tools)
            tokens = completion.prompt_tokens + completion.completion_tokens
        finally:
            self._calls.append((self._clock.now(), tokens))
            self._stream.calls += 1
            self._stream.tokens += tokens
        return completion

    def _refuse_when_spent(self) -> None:
        since = self._clock.now() - _HOUR
        while self._calls and self._calls[0][0] <= since:
            self._calls.popleft()
        rules = self._allowance
        spent = {
            "calls_per_hour": (len(self._calls), rules.calls_per_hour),
            "tokens_per_hour": (sum(tokens for _, tokens in self._calls), rules.tokens_per_hour),
            "calls_per_stream": (self._stream.calls, rules.calls_per_stream),
            "tokens_per_stream": (self._stream.tokens, rules.tokens_per_stream),
        }
        over = next((name for name, (used, allowed) in spent.items() if allowed and used >= allowed), "")
        if over and over != self._told:  # once: a chat that goes on asking must not flood the log
            log.warning("llm_allowance_spent", limit=over, degraded="nobody is answered until there is more")
        self._told = over
        if over:
            raise LlmSpent(f"[llm] {over} is used up; the model is not asked. Raise it, or wait")
