"""How the chat loop treats what comes in, as values."""

from dataclasses import dataclass, field, replace
from typing import Literal

from bot.batching import BatchingSettings
from bot.commands import CommandSettings

RECORDED_QUIET_SECONDS, RECORDED_WAIT_SECONDS = (
    8.0,
    60.0,
)  # in a recorded log a turn stays open until the bot's reply, which took it some seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How the loop treats what comes in."""

    batching: BatchingSettings = field(default_factory=BatchingSettings)
    commands: CommandSettings = field(default_factory=CommandSettings)
    replies: Literal["bot", "log"] = "bot"  # who speaks: the responder, or the replies recorded in the log
    ignored: frozenset[str] = frozenset()  # other bots, by user id or lower-case login
    blocked: tuple[str, ...] = ()  # whole words: a line with one of them is not taken in
    foreign_chat: bool = False  # shared chat: take in what was written in other channels
    resume: bool = False  # pass over turns that an earlier run recorded
    recorded_turns: int = 0  # of a resumed log: how many of its first turns an earlier run recorded, and all before them
    seen_ids: int = 20_000
    waiting_steps: int = 2000  # kept while the database is away; one more and the loop gives up
    retry_seconds: float = 2.0

    @property
    def effective_batching(self) -> BatchingSettings:
        """The batching rules, slower where a recorded log speaks: its tool calls and replies belong to the turn before them."""
        if self.replies == "bot":
            return self.batching
        return replace(
            self.batching,
            quiet_seconds=max(self.batching.quiet_seconds, RECORDED_QUIET_SECONDS),
            longest_wait_seconds=max(self.batching.longest_wait_seconds, RECORDED_WAIT_SECONDS),
        )
