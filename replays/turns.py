"""`turns.jsonl`: every turn of a replay as one JSON object a line; the same input gives the same bytes, latencies aside."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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


def recall_to_json(recall: Recall) -> dict[str, Any]:
    """Return what a recall planned, found and packed."""
    return {
        "plan": plan_names(recall),
        "reasons": list(recall.plan.reasons),
        "requests": [{"source": request.name, "query": request.query, "why": request.why} for request in recall.plan.requests],
        "items": [item_to_json(item) for item in (*history_items(recall.window), *recall.block.items)],
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
    """Return one turn: batch, plan and reasons, items with provenance, block, reply, latencies."""
    said = turn.said
    return {
        "turn": turn.batch.id,
        "stream": turn.batch.stream_id,
        "at": _time(turn.batch.closed_at),
        "closed_by": turn.batch.flush_reason,
        "batch": [_line(line) for line in turn.batch.lines],
        **(recall_to_json(turn.recall) if turn.recall else {}),
        "reply": {
            "state": said.state,
            "reason": said.reason,
            "text": said.text,
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
        """Keep the lines of recorded turns, take back the rest, open for appending; return how many were kept."""
        kept, size = 0, 0
        if self._path.exists():
            with self._path.open("rb") as lines:
                for raw in lines:
                    if not raw.endswith(b"\n") or not await recorded(json.loads(raw)["turn"]):
                        break
                    kept, size = kept + 1, size + len(raw)
        self._file = self._path.open("ab")
        self._file.truncate(size)
        return kept

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
