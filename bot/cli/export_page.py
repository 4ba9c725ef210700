"""Everything that is held of a viewer as a Markdown page that people can read."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from bot.cli.terminal import printable
from memory import AuditEntry, Document, StateRecord

_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|!~"})
_TITLES = {
    "it": {
        "title": "Cosa si conserva di {name}",
        "lines": "Ciò che hai scritto",
        "replies": "Risposte del bot fatte per te, o di ciò che hai scritto",
        "memories": "Ricordi ricavati",
        "records": "Annotazioni",
        "audit": "Cosa è stato cancellato o cambiato",
        "none": "Nulla.",
        "opted_out": "Non si conserva più nulla: hai scelto così.",
        "names": "Nomi",
        "seen": "Visto la prima volta il {first}, l'ultima il {last} (UTC).",
        "past": "non più attuale dal {date}",
    },
    "en": {
        "title": "What is held of {name}",
        "lines": "What you wrote",
        "replies": "The bot's replies to you, or made of what you wrote",
        "memories": "Memories drawn from it",
        "records": "Records",
        "audit": "What was erased or changed",
        "none": "Nothing.",
        "opted_out": "Nothing is kept any more: you chose so.",
        "names": "Names",
        "seen": "First seen {first}, last seen {last} (UTC).",
        "past": "no longer true since {date}",
    },
}


def export_page(held: Mapping[str, Any], language: str) -> str:
    """Return what `Memory.export` gave as Markdown; nothing that was written in chat can format the page."""
    words, viewer = _TITLES.get(language, _TITLES["en"]), held["viewer"]
    page = [f"# {words['title'].format(name=_safe(viewer['name'] or viewer['id']))}", "", f"Twitch id: {_safe(viewer['id'])}"]
    if viewer["first_seen"] and viewer["last_seen"]:
        page += ["", words["seen"].format(first=_day(viewer["first_seen"]), last=_day(viewer["last_seen"]))]
    page += ["", words["opted_out"]] if viewer["opted_out"] else []
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("names", (f"{_safe(one['name'])} ({_safe(one['login'])}), {_day(one['from'])}" for one in viewer["names"])),
        ("lines", map(_line, held["lines"])),
        ("replies", map(_line, held["replies"])),
        ("memories", (_memory(one, words["past"]) for one in held["memories"])),
        ("records", map(_record, held["records"])),
        ("audit", map(_audit, held["audit"])),
    )
    for name, lines in sections:
        entries = [f"- {line}" for line in lines] or [words["none"]]
        page += ["", f"## {words[name]}", "", *entries]
    return "\n".join(page) + "\n"


def _line(line: Mapping[str, Any]) -> str:
    return f"{_minute(line['at'])} {_safe(line['text'])} ({_safe(line['id'])})"


def _memory(memory: Document, past: str) -> str:
    ended = f" ({past.format(date=_day(memory.invalid_at))})" if memory.invalid_at else ""
    return f"{_minute(memory.at)} {memory.kind}: {_safe(memory.text)}{ended} ({_safe(', '.join(memory.provenance))})"


def _record(record: StateRecord) -> str:
    at = f"{_minute(record.updated_at)} " if record.updated_at else ""
    return f"{at}{record.domain}: {_safe(record.text)} ({record.status}, {_safe(record.id)})"


def _audit(entry: AuditEntry) -> str:
    counts = f"{entry.lines} + {entry.replies} + {entry.documents} + {entry.records}"
    return f"{_minute(entry.at)} {entry.verb}: {counts}"


def _safe(text: str) -> str:
    return printable(text, 10_000).translate(_MARKS)


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
