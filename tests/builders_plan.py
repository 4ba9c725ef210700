"""Builders for the planner and the pure steps after it: an invented chat with a bot called Nuvola."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from lore.entry import LoreEntry
from memory.events import BotIdentity, Channel, Line, Message, Viewer
from memory.model import (
    Batch,
    Document,
    Evidence,
    HistoryLine,
    KnownViewer,
    Plan,
    SourceKind,
    SourceRequest,
    Stream,
    Window,
)
from memory.names import NameIndex
from memory.plan import make_plan
from memory.recipes import FULL
from memory.rules import Rules, load_rules

NOW = datetime(2026, 5, 20, 20, 0, tzinfo=UTC)
BOT = BotIdentity(id="9", login="nuvolabot", name="NuvolaBot", aliases=("nuvola",))
CHANNEL = Channel(id="1", login="ombretta", name="Ombretta")
PEOPLE = {
    "1": ("ombretta", "Ombretta"),
    "2": ("gigi_volante", "Gigi_Volante"),
    "3": ("rosalba_t", "Rosalba_T"),
    "4": ("seppiastorta", "SeppiaStorta"),
    "5": ("quartz_ellis", "Quartz_Ellis"),
    "6": ("moon", "Moon"),
    "7": ("tamburino88", "Tamburino88"),
    "8": ("nightbot", "Nightbot"),
}
LORE = (
    LoreEntry(id="faro", title="Il faro", aliases=("Faro di Gesso", "lanterna"), text="Un faro di gesso.", digest=""),
    LoreEntry(id="fears", title="Fears", aliases=("fear", "fears"), text="Afraid of moths.", digest=""),
)


@cache
def the_rules() -> tuple[Rules, ...]:
    """Both shipped languages."""
    return load_rules(("it", "en"))


def person(viewer_id: str) -> Viewer:
    """Somebody of the cast."""
    login, name = PEOPLE[viewer_id]
    return Viewer(id=viewer_id, login=login, name=name)


def known(viewer_id: str, **changes: Any) -> KnownViewer:  # noqa: ANN401 - any field of KnownViewer
    """The same, as the planner knows them."""
    login, name = PEOPLE[viewer_id]
    fields: dict[str, Any] = {"id": viewer_id, "login": login, "name": name, "is_bot": login == "nightbot", **changes}
    return KnownViewer(**fields)


def a_stream(stream_id: str = "s3", *, days_ago: int = 0, title: str | None = None) -> Stream:
    """A stream of the channel that began two hours before `NOW`, so many days ago."""
    started = NOW - timedelta(days=days_ago, hours=2)
    return Stream(id=stream_id, channel=CHANNEL, bot=BOT, started_at=started, title=title)


PAST = (a_stream("s2", days_ago=7, title="Regata in vasca"), a_stream("s1", days_ago=30, title="Castelli di sabbia"))


def a_message(text: str, by: str = "2", message_id: str = "q1", **changes: Any) -> Message:  # noqa: ANN401 - any field of Message
    """A chat line."""
    fields: dict[str, Any] = {"id": message_id, "at": NOW, "user": person(by), "text": text, **changes}
    return Message(**fields)


def a_batch(*messages: Line | str) -> Batch:
    """A batch of the present stream; plain texts are Gigi's."""
    lines = tuple(a_message(m, message_id=f"q{i}") if isinstance(m, str) else m for i, m in enumerate(messages))
    return Batch(stream_id="s3", lines=lines, closed_at=NOW)


def a_window(*lines: tuple[str, str] | HistoryLine) -> Window:
    """A history of (author id, text) lines with ids h0, h1, …; "9" is the bot."""
    out = []
    for place, line in enumerate(lines):
        if isinstance(line, HistoryLine):
            out.append(line)
            continue
        by, text = line
        author = Viewer(id=BOT.id, login=BOT.login, name=BOT.name) if by == BOT.id else person(by)
        kind: Any = "reply" if by == BOT.id else "message"
        out.append(HistoryLine(id=f"h{place}", at=NOW - timedelta(minutes=9), kind=kind, author=author, text=text))
    return Window(stream_id="s3", lines=tuple(out))


def plan_for(*messages: Line | str, window: Window | None = None, **changes: Any) -> Plan:  # noqa: ANN401 - any input of make_plan
    """The plan for a batch in the invented chat."""
    inputs: dict[str, Any] = {
        "viewers": NameIndex(known(viewer_id) for viewer_id in PEOPLE),
        "stream": a_stream(),
        "past_streams": PAST,
        "lore": LORE,
        "rules": the_rules(),
        "recipe": FULL,
        **changes,
    }
    return make_plan(a_batch(*messages), window or Window(stream_id="s3"), **inputs)


def sources(plan: Plan) -> set[str]:
    """The names of the sources that a plan asks."""
    return {request.name for request in plan.requests}


def about(plan: Plan) -> set[str]:
    """The viewers whose own messages a plan searches."""
    return {request.viewer_id for request in plan.requests if request.kind is SourceKind.RECALL and request.viewer_id}


def a_request(kind: SourceKind = SourceKind.RECALL, viewer_id: str | None = "2", query: str = "dove abito") -> SourceRequest:
    """A request to a viewer's memory."""
    stream_id = "s2" if kind is SourceKind.EPISODE else None
    return SourceRequest(kind=kind, why="test", query=query, viewer_id=viewer_id, stream_id=stream_id)


def a_document(text: str, document_id: str = "d1", **changes: Any) -> Document:  # noqa: ANN401 - any field of Document
    """A message of Gigi's, a week old."""
    fields: dict[str, Any] = {
        "id": document_id,
        "collection": "viewer-2",
        "kind": "message",
        "text": text,
        "at": NOW - timedelta(days=7),
        "provenance": (document_id,),
        "subject": "2",
        "author": "2",
        **changes,
    }
    return Document(**fields)


def a_turn(*lines: str, document_id: str = "t1") -> Document:
    """A whole turn of the last stream with lines `l0`, `l1`, …"""
    ids = tuple(f"l{place}" for place in range(len(lines)))
    return a_document(
        "\n".join(lines), document_id, kind="turn", collection="stream-s2", provenance=ids, subject=None, author=None
    )


def an_evidence(document: Document, request: SourceRequest | None = None, *, score: float = 1.0, **channels: float) -> Evidence:
    """A piece of evidence in the section of its request."""
    asked = request or a_request()
    section: Any = asked.kind.value
    return Evidence(request=asked, section=section, document=document, score=score, channels=channels or {"dense": 0.5})


def texts(evidence: Sequence[Evidence]) -> list[str]:
    """What the evidence says."""
    return [item.document.text for item in evidence]
