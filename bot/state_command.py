"""What `!state` orders: a list of records, or a tool call whose viewers are still names. No I/O."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "list": ("list", "lista", "elenco"),
        "request": ("request", "richiesta"),
        "done": ("done", "fatto", "fatta"),
        "note": ("note", "nota"),
        "relation": ("relation", "relazione"),
        "joke": ("joke", "tormentone"),
        "drop": ("drop", "togli"),
        "set": ("set", "imposta"),
    }
)
_MEANING = {word: verb for verb, typed in WORDS.items() for word in typed}
_UNTIL = re.compile(r"\s+(?:until|fino al|entro il)\s+(\d{4}-\d{2}-\d{2})\s*$", re.IGNORECASE)
_NAMED = re.compile(r"@(\w+)\s*")
_RELATION = re.compile(r"@(\w+)\s+(.+?)\s+@(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCommand:
    """An order about records. `tool` is empty for a list; `drop` names a record of whatever kind, by `id`."""

    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)  # viewers by the names that were typed
    id: str = ""  # of the record to close
    drop: bool = False
    name: str = ""  # list: of whom


def state_command_of(text: str) -> StateCommand | None:
    """Return what is ordered, None where it cannot be told. Without words it is a list of all."""
    first, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    verb = _MEANING.get(first.casefold(), "" if first else "list")
    reading = _READINGS.get(verb)
    return reading(rest) if reading else None


def _list(rest: str) -> StateCommand:
    return StateCommand(name=rest.lstrip("@"))


def _request(rest: str) -> StateCommand | None:
    named = _NAMED.match(rest)
    asked = rest[named.end() :] if named else ""
    return StateCommand(tool="request_open", arguments={"viewer": named[1], "text": asked}) if named and asked else None


def _relation(rest: str) -> StateCommand | None:
    found = _RELATION.fullmatch(rest)
    ends = {"subject": found[1], "relation": found[2], "object": found[3]} if found else {}
    return StateCommand(tool="relation_set", arguments=ends) if ends else None


def _set(rest: str) -> StateCommand | None:
    key, _, value = (part.strip() for part in rest.partition("="))
    return StateCommand(tool="channel_set", arguments={"key": key, "value": value}) if key and value else None


def _done(rest: str) -> StateCommand | None:
    id_ = rest.removeprefix("#")
    return StateCommand(tool="request_complete", id=id_) if id_ and " " not in id_ else None


def _drop(rest: str) -> StateCommand | None:
    id_ = rest.removeprefix("#")
    return StateCommand(drop=True, id=id_) if id_ and " " not in id_ else None


def _note(rest: str) -> StateCommand | None:
    until = _UNTIL.search(rest)
    text = rest[: until.start()] if until else rest
    named = _NAMED.match(text)
    said = text[named.end() :] if named else text
    if not said:
        return None
    arguments: dict[str, Any] = {"viewer": named[1] if named else None, "text": said}
    return StateCommand(
        tool="note_set", arguments=arguments | ({"expires_at": f"{until[1]}T23:59:59+00:00"} if until else {})
    )  # fmt: skip


def _joke(rest: str) -> StateCommand | None:
    participants: list[str] = []
    while named := _NAMED.match(rest):
        participants.append(named[1])
        rest = rest[named.end() :]
    return StateCommand(tool="joke_add", arguments={"text": rest, "participants": participants}) if rest else None


_READINGS: Final[Mapping[str, Callable[[str], StateCommand | None]]] = MappingProxyType(
    {
        "list": _list,
        "request": _request,
        "done": _done,
        "note": _note,
        "relation": _relation,
        "joke": _joke,
        "drop": _drop,
        "set": _set,
    }
)
