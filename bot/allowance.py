"""How much the language model may be asked: calls and tokens an hour and a stream. What is over it is not asked at all."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

import structlog

from bot.llm_errors import LlmError
from bot.llm_values import Chat, ChatMessage, Completion, Tool
from memory import BotMemoryError, Clock, ModelSpent, ModelUse, Stream

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


class Account(Protocol):
    """Where it is written down what was spent, so that a restart is no way to more: the memory."""

    async def spent(self, stream_id: str) -> ModelSpent:
        """Return what a stream cost, and the hour before now. Raises BotMemoryError where it cannot be told."""
        ...

    async def note_spent(self, uses: Sequence[ModelUse]) -> None:
        """Count what was asked. Raises BotMemoryError where nothing was counted."""
        ...


class MeteredChat:
    """A model in front of which every call is counted, in memory and in the account, which no answer waits to be written to."""

    def __init__(self, chat: Chat, allowance: Allowance, clock: Clock, account: Account | None = None) -> None:
        """Take the model, what may be spent on it, and the account; without one a restart forgets what was spent."""
        self._chat = chat
        self._allowance = allowance
        self._clock = clock
        self._account = account
        self._hour: list[ModelUse] = []
        self._calls, self._tokens = 0, 0  # of the present stream
        self._counted: str | None = None  # the stream that the counts belong to; None: one that the platform will name yet
        self._stream_id = ""
        self._hour_read, self._stream_read = account is None, True
        self._unwritten: list[ModelUse] = []
        self._writing: asyncio.Task[None] | None = None
        self._told = ""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._chat.model

    def begin(self, stream: Stream) -> None:
        """Count a stream anew; one that goes on, and the real one of a temporary one, go on being counted."""
        if self._counted not in {None, stream.id}:
            self._calls = self._tokens = 0
        self._counted = None if stream.temporary else stream.id
        if self._stream_id != stream.id:
            self._stream_id, self._stream_read = stream.id, False

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
        await self._read_account()
        self._refuse_when_spent()
        tokens = 0
        try:
            completion = await self._chat.chat(messages, max_tokens=max_tokens, json_schema=json_schema, tools=tools)
            tokens = completion.prompt_tokens + completion.completion_tokens
        finally:
            self._count(ModelUse(at=self._clock.now(), tokens=tokens, stream_id=self._stream_id))
        return completion

    async def _read_account(self) -> None:
        """Know what was spent before the program started, and in a stream that comes back. What is known counts, too."""
        if self._account is None or (self._hour_read and self._stream_read):
            return
        try:
            if self._writing is not None:
                await asyncio.wait({self._writing})
            spent = await self._account.spent(self._stream_id)
        except BotMemoryError as error:  # then what this process saw is what counts; the next call looks again
            log.warning("llm_account_not_read", reason=str(error))
            return
        if not self._hour_read:
            self._hour = [*spent.hour, *self._unwritten]
        missing = [use for use in self._unwritten if use.stream_id == self._stream_id]
        self._calls = max(self._calls, spent.calls + sum(use.calls for use in missing))
        self._tokens = max(self._tokens, spent.tokens + sum(use.tokens for use in missing))
        self._hour_read = self._stream_read = True

    def _count(self, use: ModelUse) -> None:
        self._hour.append(use)
        self._calls += use.calls
        self._tokens += use.tokens
        if self._account is None:
            return
        self._unwritten.append(use)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(self._account), name="llm-account")

    async def _write(self, account: Account) -> None:
        """Write down what is not yet; the writes of the memory keep their order, so it stands there before the turn does."""
        while self._unwritten:
            taken = tuple(self._unwritten)
            try:
                await account.note_spent(taken)
            except BotMemoryError as error:  # tried again with the next call
                log.warning("llm_account_not_written", calls=len(taken), reason=str(error))
                return
            del self._unwritten[: len(taken)]

    def _refuse_when_spent(self) -> None:
        now = self._clock.now()
        # A clock that was set back must not keep the hour from ending.
        self._hour = [replace(use, at=min(use.at, now)) for use in self._hour if use.at > now - _HOUR]
        rules = self._allowance
        spent = {
            "calls_per_hour": (sum(use.calls for use in self._hour), rules.calls_per_hour),
            "tokens_per_hour": (sum(use.tokens for use in self._hour), rules.tokens_per_hour),
            "calls_per_stream": (self._calls, rules.calls_per_stream),
            "tokens_per_stream": (self._tokens, rules.tokens_per_stream),
        }
        over = next((name for name, (used, allowed) in spent.items() if allowed and used >= allowed), "")
        if over and over != self._told:  # once: a chat that goes on asking must not flood the log
            log.warning("llm_allowance_spent", limit=over, degraded="nobody is answered until there is more")
        self._told = over
        if over:
            raise LlmSpent(f"[llm] {over} is used up; the model is not asked. Raise it, or wait")
