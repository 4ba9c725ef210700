"""`turns.jsonl`: every turn of a replay as one JSON object a line; the same input gives the same bytes, latencies aside."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from memory import Item, Line, Message, Recall, Turn, history_items

ITEM_DIGITS = 6  # of a score: enough to compare, few enough to be the same on every machine


def item_to_json(item: Item) -> dict[str, Any]:
    """Return an item as the evaluation contract writes it, with its author and time beside."""
    return {
        "section": item.section,
        "source": item.source,
        "subject": item.subject,
        "author": item.author,
        "text": item.text,
        "provenance": list(item.provenance),
        "tokens": item.tokens,
        "score": round(item.score, ITEM_DIGITS),
        "at": _time(item.at),
        "valid_at": _time(item.valid_at),
        "invalid_at": _time(item.invalid_at),
        "current": item.current,
    }


def plan_names(recall: Recall) -> list[str]:
    """Return the names of the sources that were asked, the history first."""
    return ["history", *dict.fromkeys(request.name for request in recall.plan.requests)]


def recall_to_json(recall: Recall, *, history: bool = True) -> dict[str, Any]:
    """Return what a recall planned, found and packed; `history`: the recent lines among the items."""
    recent = history_items(recall.window) if history else ()
    return {
        "plan": plan_names(recall),
        "reasons": list(recall.plan.reasons),
        "requests": [{"source": request.name, "query": request.query, "why": request.why} for request in recall.plan.requests],
        "items": [item_to_json(item) for item in (*recent, *recall.block.items)],
        "left_out": [{**asdict(left), "score": round(left.score, ITEM_DIGITS)} for left in recall.block.left_out],
        "block": recall.block.text,
        "block_tokens": recall.block.tokens,
        "abstained": recall.block.abstained,
        "degraded": recall.degraded,
        "timed_out": list(recall.timed_out),
        "failed": list(recall.failed),
    }


def latencies_to_json(recall: Recall) -> dict[str, Any]:
    """Return milliseconds of the memory stage: in all, by step, by source."""
    asked = set(plan_names(recall)) - {"history"}
    sources = {step.step: round(step.seconds * 1000, 3) for step in recall.steps if step.step in asked}
    steps = {step.step: step.seconds * 1000 for step in recall.steps if step.step.split("/")[0] not in asked}
    assemble = sum(steps.get(step, 0.0) for step in ("fuse", "gate", "dedup", "budget"))
    return {
        "total": round(sum(steps.values()), 3),
        "plan": round(steps.get("plan", 0.0), 3),
        "retrieve": round(steps.get("retrieve", 0.0), 3),
        "assemble": round(assemble, 3),
        "sources": sources,
    }


def turn_to_json(turn: Turn, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return one turn: batch, plan and reasons, items with provenance, block, reply, latencies.

    The recent lines are among the items where the turn searched or answered; elsewhere they are the turns before, once more.
    """
    said = turn.said
    used = said.state != "silent" or bool(turn.recall and turn.recall.plan.requests)
    return {
        "turn": turn.batch.id,
        "stream": turn.batch.stream_id,
        "at": _time(turn.batch.closed_at),
        "closed_by": turn.batch.flush_reason,
        "batch": [_line(line) for line in turn.batch.lines],
        **(recall_to_json(turn.recall, history=used) if turn.recall else {}),
        "reply": {
            "state": said.state,
            "reason": said.reason,
            "text": said.text,
            "at": _time(said.at),
            "to": list(said.in_reply_to),
            "model": said.model,
        },
        "latency_ms": {
            **{step: round(value * 1000, 3) for step, value in seconds.items()},
            **({"memory": latencies_to_json(turn.recall)} if turn.recall else {}),
        },
    }


class TurnFile:
    """Appends turns to a file, a line each, handed to the operating system before the turn is recorded.

    So a turn that is recorded always has its line; a line whose turn is not recorded was cut off by a crash and is taken back.
    """

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._path = path
        self._file: Any = None

    async def resume(self, recorded: Callable[[str], Awaitable[bool]]) -> int:
        """Keep the lines of recorded turns, take back the rest, open for appending; return how many were kept.

        Turns are recorded in the order of their lines, so the last recorded one is looked for from the end.
        """
        self._file = self._path.open("a+b")
        ends = _line_ends(self._file)
        while ends and not await recorded(_turn_of(self._file, ends)):
            ends.pop()
        self._file.truncate(ends[-1] if ends else 0)
        return len(ends)

    def said(self, count: int) -> list[tuple[str, datetime]]:
        """Return the last `count` replies that the kept turns sent, oldest first: what was said, and when."""
        replies: deque[tuple[str, datetime]] = deque(maxlen=count)
        self._file.seek(0)
        for raw in self._file:
            reply = json.loads(raw)["reply"]
            if reply["state"] == "sent" and reply["at"]:
                replies.append((reply["text"], datetime.fromisoformat(reply["at"])))
        self._file.seek(0, 2)
        return list(replies)

    def write(self, turn: Turn, seconds: Mapping[str, float]) -> None:
        """Append one turn."""
        line = json.dumps(turn_to_json(turn, seconds), ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.encode("utf-8", "replace") + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        if self._file:
            self._file.close()


def _line_ends(file: BinaryIO) -> list[int]:
    """Return where each whole line ends, in bytes from the start of the file."""
    file.seek(0)
    return list(accumulate(len(raw) for raw in file if raw.endswith(b"\n")))


def _turn_of(file: BinaryIO, ends: Sequence[int]) -> str:
    """Return the turn of the last of these lines; one that is no turn has an id that nobody recorded."""
    start = ends[-2] if len(ends) > 1 else 0
    file.seek(start)
    try:
        return str(json.loads(file.read(ends[-1] - start))["turn"])
    except (ValueError, KeyError, TypeError):
        return ""


def _line(line: Line) -> dict[str, Any]:
    user = line.user
    return {
        "id": line.id,
        "at": _time(line.at),
        "user": {"id": user.id, "login": user.login, "name": user.name} if user else None,
        "text": line.text,
        **({} if isinstance(line, Message) else {"notice": line.kind}),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
