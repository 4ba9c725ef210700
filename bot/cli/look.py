"""One look at a bot: from its database, running or not, and from the socket of one that runs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from bot.watch_server import SOCKET
from memory import Clock, HistoryLine, Inspection, PastTurn, Present, inspect_memory

SPANS = (10, 60)  # seconds over which the chat's pace is told
_SUMS_SECONDS = 30.0  # how long the sums of a memory are believed: to count all is slow
_SOCKET_SECONDS = 1.0
_MEMORIES = 6  # shown of one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What somebody said, and when. `who` is None where nobody is named."""

    who: str | None
    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLook:
    """A turn as it is shown. `running` is what the running bot adds: milliseconds by step, plan, missing sources."""

    turn: PastTurn
    asked: tuple[Quote, ...]
    memories: tuple[Quote, ...]
    also: tuple[str, ...]  # canon entries and notes among the memories, by id
    running: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything that is shown at one moment. `running` is None where no bot answers in that folder."""

    at: datetime
    present: Present
    sums: Mapping[str, int]
    turns: tuple[TurnLook, ...]
    running: Mapping[str, Any] | None


class Looker:
    """Looks again and again. Made by `looker`; every look raises StoreUnavailable where the database cannot be read."""

    def __init__(self, inspection: Inspection, folder: Path, clock: Clock) -> None:
        """Look into an open memory."""
        self._inspection = inspection
        self._folder = folder
        self._clock = clock
        self._sums: Mapping[str, int] = {}
        self._summed_at: float | None = None

    async def look(self, turns: int) -> Look:
        """Return how things are now, with the last `turns` turns that had a reply or should have had one."""
        now = self._clock.now()
        running = await _ask(self._folder / SOCKET)
        since = [now - timedelta(seconds=span) for span in SPANS]
        present = await self._inspection.present(since=since, turns=turns)
        if self._summed_at is None or self._clock.elapsed() - self._summed_at > _SUMS_SECONDS:
            self._sums, self._summed_at = await self._inspection.sums(), self._clock.elapsed()
        return Look(
            at=now, present=present, sums=self._sums, turns=await self._turns(present.turns, running or {}), running=running
        )

    async def _turns(self, past: Sequence[PastTurn], running: Mapping[str, Any]) -> tuple[TurnLook, ...]:
        seen = {told["id"]: told for told in running.get("turns", ())}
        behind = {turn.id: _behind(turn, seen.get(turn.id, {})) for turn in past}
        asked = {turn.id: turn.in_reply_to or turn.line_ids[-1:] for turn in past}
        ids = [id_ for turn in past for id_ in (*behind[turn.id], *asked[turn.id])]
        lines = await self._inspection.lines(list(dict.fromkeys(ids)))
        return tuple(
            TurnLook(
                turn=turn,
                asked=tuple(_quoted(lines[id_]) for id_ in asked[turn.id] if id_ in lines),
                memories=tuple(_quoted(lines[id_]) for id_ in behind[turn.id] if id_ in lines)[:_MEMORIES],
                also=tuple(id_ for id_ in behind[turn.id] if id_.startswith(("lore:", "state:")))[:_MEMORIES],
                running={key: told for key, told in seen.get(turn.id, {}).items() if key not in {"id", "at", "memories"}},
            )
            for turn in past
        )


@asynccontextmanager
async def looker(folder: Path, clock: Clock) -> AsyncIterator[Looker]:
    """Give looks at the memory in `folder`.

    Raises:
        StoreUnavailable, SchemaTooNew: as `inspect_memory`.
    """
    async with inspect_memory(folder, clock) as inspection:
        yield Looker(inspection, folder, clock)


async def _ask(path: Path) -> dict[str, Any] | None:
    """Return what the running bot says, None where none does."""
    patience = aiohttp.ClientTimeout(total=_SOCKET_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(path=str(path)), timeout=patience) as session,
            session.get("http://bot/watch") as answer,
        ):
            told: dict[str, Any] = await answer.json()
            return told
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return None


def _behind(turn: PastTurn, seen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids behind a turn's memories: as the running bot says, or else as they were recorded with the reply."""
    told = [id_ for item in seen.get("memories", ()) for id_ in item["provenance"]]
    return tuple(dict.fromkeys(told or turn.rests_on))


def _quoted(line: HistoryLine) -> Quote:
    return Quote(who=line.author.name if line.author else None, at=line.at, text=line.text)
