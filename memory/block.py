"""The lines of the memory block: quoted data, one line each, so that nothing in them can pass for anything else. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from memory.model import Document, Evidence, Item, StateRecord, Window
from memory.normalise import visible, words
from memory.tokens import count_tokens
from memory.wording import Wording, ago

OPENING, CLOSING = "<memory>", "</memory>"
LONGEST_NAME, LONGEST_QUOTE, LONGEST_CANON = 30, 300, 900  # code points
TURN_LINES = 7  # lines of a turn that are shown at most
_MARKS = {"<": "(", ">": ")", '"': "”", "`": "'", "[": "(", "]": ")", "\\": "/", "{": "(", "}": ")"}
_WIDE = 0xFEE0  # from an ASCII mark to its full-width look-alike, which some tokenizers fold into it
_STAND_INS = str.maketrans(_MARKS | {chr(ord(mark) + _WIDE): stand_in for mark, stand_in in _MARKS.items()})
_NAME_STAND_INS = str.maketrans(dict.fromkeys(":\uff1a\ufe55\ufe30\u2236\ua789\u00b7\u2022\u2027\u2219\u22c5\u30fb\uff65", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every line is written with."""

    words: Wording
    viewers: Mapping[str, str]  # id -> display name
    now: datetime


def quoted(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return `text` as one quoted piece of one line: no controls, no bidi, no quotes, brackets or delimiters of ours inside."""
    return f'"{visible(text, longest).translate(_STAND_INS)}"'


def plain_name(name: str) -> str:
    """Return a name that cannot break out of the brackets it stands in."""
    return visible(name, LONGEST_NAME).translate(_STAND_INS).translate(_NAME_STAND_INS) or "?"


def evidence_item(evidence: Evidence, setting: Setting) -> Item:
    """Return the line of a piece of evidence: `- [whose · when] according to whom: "what"`; a fact says its kind as well."""
    document = evidence.document
    said, about = _said(document)
    label = " · ".join(part for part in (_whom(document, setting), about, _when(document, setting)) if part)
    author = document.author if document.author != document.subject and document.subject else None
    by = f" {setting.words.according_to.format(name=_name(author, setting))}" if author else ""
    line = f"- [{label}]{by} {_content(document)}"
    return Item(
        section=evidence.section,
        source=evidence.request.name,
        subject=document.subject,
        author=document.author,
        text=line,
        provenance=document.provenance,
        tokens=count_tokens(line),
        score=evidence.score,
        at=document.at,
        valid_at=document.valid_at,
        invalid_at=document.invalid_at,
        current=document.invalid_at is None or document.invalid_at > setting.now,
        kind=document.kind,
        words=said,
        subject_name=_name(document.subject, setting) if document.subject else None,
        author_name=_name(document.author, setting) if document.author else None,
    )


def state_item(record: StateRecord, setting: Setting) -> Item:
    """Return the line of a record of structured state."""
    at = record.updated_at or record.created_at
    fixed = setting.words
    parts = [fixed.domains[record.domain], ", ".join(_name(viewer, setting) for viewer in record.viewers)]
    parts.append(fixed.statuses.get(record.status, "") if record.domain == "request" else "")
    parts.append(_date(at, setting) if at else "")
    parts.append(fixed.expires.format(date=record.expires_at.date().isoformat()) if record.expires_at else "")
    line = f"- [{' · '.join(part for part in parts if part)}] {quoted(record.text)}"
    return Item(
        section="state",
        source="state",
        subject=record.viewers[0] if record.viewers else None,
        author=None,
        text=line,
        provenance=(record.id if record.id.startswith("state:") else f"state:{record.id}",),
        tokens=count_tokens(line),
        score=0.0,
        at=at,
    )


def history_items(window: Window) -> tuple[Item, ...]:
    """Return the window's lines as items of the section `history`, for what `eval` writes; the prompt shows them as chat."""
    items = []
    for line in window.lines:
        author = line.author.id if line.author else None
        text = f"{line.author.name}: {line.text}" if line.author else line.text
        items.append(
            Item(
                section="history",
                source="history",
                subject=author,
                author=author,
                text=text,
                provenance=(line.id,),
                tokens=count_tokens(text),
                score=0.0,
                at=line.at,
            )
        )
    return tuple(items)


def excerpt(document: Document, query_terms: Collection[str], limit: int = TURN_LINES) -> Document:
    """Return a turn with its `limit` best-matching lines, in their order, with their provenance; others as they are.

    A line counts the folded terms whose first four letters begin one of its words; equal lines go by their order. A document
    whose lines and provenance differ in number cannot be cut.
    """
    lines = document.text.split("\n")
    if document.kind != "turn" or len(lines) != len(document.provenance) or len(lines) <= limit:
        return document
    starts = {term[:4] for term in query_terms if len(term) >= 4}  # noqa: PLR2004 - the docstring's four letters
    hits = [len(starts & {word[:4] for word in words(line)}) for line in lines]
    best = sorted(sorted(range(len(lines)), key=lambda place: (-hits[place], place))[:limit])
    return replace(
        document,
        text="\n".join(lines[place] for place in best),
        provenance=tuple(document.provenance[place] for place in best),
    )


def _said(document: Document) -> tuple[str, str]:
    """Return what was said and, of a fact or claim, what it is about: the second line of its text, which nobody said."""
    if document.kind not in {"fact", "claim"}:
        return document.text, ""
    said, _, about = document.text.partition("\n")
    return said, plain_name(about.strip("()")) if about else ""


def _content(document: Document) -> str:
    lines = document.text.split("\n")
    if document.kind == "turn" and len(lines) == len(
        document.provenance
    ):  # else a line break inside a line could forge a speaker
        return " ".join(quoted(line) for line in lines)
    return quoted(_said(document)[0], LONGEST_CANON if document.kind in {"lore", "turn"} else LONGEST_QUOTE)


def _whom(document: Document, setting: Setting) -> str:
    if document.kind == "lore":
        return plain_name(document.provenance[0].removeprefix("lore:") if document.provenance else document.id)
    if document.kind in {"line", "turn"}:
        return setting.words.stream
    if document.kind == "reply" and not document.author:
        return setting.words.bot_said
    return _name(document.subject or document.author, setting)


def _name(viewer_id: str | None, setting: Setting) -> str:
    fixed = setting.words
    if viewer_id is None:
        return fixed.unknown
    if viewer_id not in setting.viewers:
        return plain_name(f"{fixed.unknown} {viewer_id}")
    name = plain_name(setting.viewers[viewer_id])
    # A viewer who is called as the block calls a stream, or the bot's own words, is not to pass for them.
    return f"@{name}" if name.casefold() in {fixed.stream, fixed.bot_said, fixed.unknown, *fixed.domains.values()} else name


def _when(document: Document, setting: Setting) -> str:
    if document.kind == "lore":
        return ""
    since = _date(document.valid_at or document.at, setting)
    if document.invalid_at and document.invalid_at <= setting.now:
        return f"{since} · {setting.words.until.format(date=document.invalid_at.date().isoformat())}"
    return since


def _date(at: datetime, setting: Setting) -> str:
    return f"{at.date().isoformat()}, {ago(at, setting.now, setting.words)}"
