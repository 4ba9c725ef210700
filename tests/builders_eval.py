"""Builders of the evaluation's tests: a small annotated log, line by line."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory import Item, Message, Section, Viewer
from replays.cases import Case
from replays.cli import main
from replays.metrics import Result, Scored

START = datetime(2026, 3, 1, 20, tzinfo=UTC)
ANNA = {"id": "1", "login": "anna", "name": "Anna"}
BRUNO = {"id": "2", "login": "bruno", "name": "Bruno"}
BOT = {"id": "9", "login": "memobot", "name": "Memo", "aliases": ["memo"]}
CHANNEL = {"id": "7", "login": "casa", "name": "Casa"}
Line = dict[str, Any]


def at(minute: float) -> str:
    return (START + timedelta(minutes=minute)).isoformat()


def online(stream_id: str = "s1", minute: float = 0) -> Line:
    return {
        "type": "stream", "event": "online", "stream_id": stream_id, "at": at(minute), "channel": CHANNEL, "bot": BOT
    }  # fmt: skip


def offline(stream_id: str = "s1", minute: float = 60) -> Line:
    return {"type": "stream", "event": "offline", "stream_id": stream_id, "at": at(minute)}


def said(id_: str, text: str, user: Mapping[str, str] = ANNA, minute: float = 1, **more: object) -> Line:
    return {"type": "message", "id": id_, "at": at(minute), "user": dict(user), "text": text, **more}


def replied(id_: str, text: str, minute: float = 1) -> Line:
    return {"type": "reply", "id": id_, "at": at(minute), "text": text, "in_reply_to": []}


def probe(
    id_: str, text: str, user: Mapping[str, str] = ANNA, *, minute: float = 50, category: str = "recall", **keys: object
) -> Line:
    question = {"id": f"q-{id_}", "at": at(minute), "user": dict(user), "text": text}
    return {"type": "probe", "id": id_, "at": at(minute), "category": category, "batch": [question], **keys}


def chatter(count: int, minute: float = 2) -> list[Line]:
    """Return lines that push everything before them out of the recent history."""
    return [said(f"c{n}", f"che bello questo giro numero {n}", BRUNO, minute + n / 10) for n in range(count)]


def a_log(*probes: Line) -> list[Line]:
    """Return a stream in which Anna says where she lives, much is said after it, and the probes are asked."""
    return [
        online(),
        said("m1", "io abito a Vicenza da tre anni", ANNA, 1),
        said("m2", "il mio gatto si chiama Tigre", BRUNO, 1.5),
        *chatter(40),
        *probes,
        offline(),
    ]


WHERE = probe("p1", "memo, dove abito?", gold=["m1"], answers=["Vicenza"])
NOTHING = probe("p2", "ahah bellissimo", BRUNO, minute=51, category="none")


def written(path: Path, lines: Iterable[Line]) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def an_item(provenance: tuple[str, ...] = ("m1",), text: str = "abito a Vicenza", section: Section = "recall") -> Item:
    return Item(
        section=section,
        source="viewer:1:recall",
        subject="1",
        author="1",
        text=text,
        provenance=provenance,
        tokens=6,
        score=0.5,
    )


def scored(*items: Item, category: str = "recall", tokens: int = 12, total_ms: float = 10.0, **case: Any) -> Scored:  # noqa: ANN401 fields of a case
    question = Message(id="q1", at=START, user=Viewer(**ANNA), text="memo, dove abito?")
    latency = {"total": total_ms, "plan": 1.0, "retrieve": 5.0, "assemble": 1.0, "sources": {"viewer:1:recall": 4.0}}
    return Scored(
        case=Case(id="p1", at=START, category=category, batch=(question,), **case),
        result=Result(
            id="p1",
            category=category,
            plan=("history", "viewer:1:recall"),
            items=items,
            block="\n".join(item.text for item in items),
            block_tokens=tokens,
            abstained=False,
            degraded=False,
            timed_out=(),
            latency_ms=latency,
        ),
        authors={"m1": "1", "m3": "2"},
    )


def run(*arguments: str | Path) -> int:
    """Run a command as a person would and return its exit code."""
    try:
        main([str(one) for one in arguments])
    except SystemExit as left:
        return int(left.code or 0)
    return 0
