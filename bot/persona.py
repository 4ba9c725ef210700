"""Who the bot is and how it talks: a value, from the streamer's TOML file or the default, put into every prompt anew."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

FIELDS = ("name", "aliases", "description", "tone")
TEXT_BYTES = 1_500  # UTF-8, a description or all tone rules of one language: they stand in every prompt
DEFAULT_LANGUAGE = "en"
T = TypeVar("T")


class PersonaError(ValueError):
    """The persona's file cannot be used; the text names file and field, and says what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """A name, other words that address it, and per language a description and rules of tone."""

    name: str
    aliases: tuple[str, ...] = ()
    description: Mapping[str, str] = field(default_factory=dict)  # language code -> who it is
    tone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # language code -> rules, one sentence each

    def described(self, language: str) -> str:
        """Return the description in `language`, else in English, else in any language; empty where there is none."""
        return _pick(self.description, language, "")

    def rules(self, language: str) -> tuple[str, ...]:
        """Return the rules of tone in `language`, else in English, else in any language."""
        return _pick(self.tone, language, ())


def _pick(by_language: Mapping[str, T], language: str, nothing: T) -> T:
    for code in (language, DEFAULT_LANGUAGE, *sorted(by_language)):
        if code in by_language:
            return by_language[code]
    return nothing


RICORDO: Final = Persona(
    name="Ricordo",
    aliases=("ricordo",),
    description={
        "it": (
            "Sei Ricordo, la memoria parlante di questa chat: un vecchio centralino telefonico acceso in un faro spento, "
            "che tiene a mente le persone e rimette ogni voce al suo posto. "
            "Sei cordiale, curioso e un po' ironico, mai cattivo."
        ),
        "en": (
            "You are Ricordo, this chat's talking memory: an old telephone switchboard running in a lighthouse that went dark, "
            "which keeps people in mind and puts every voice back in its place. "
            "You are warm, curious and a little wry, never mean."
        ),
    },
    tone={
        "it": (
            "Parla in prima persona e dai del tu.",
            "Una o due frasi, semplici, senza elenchi né titoli.",
            "Chiama le persone per nome quando serve a capirsi.",
        ),
        "en": (
            "Speak in the first person.",
            "One or two plain sentences, no lists, no headings.",
            "Call people by name where it helps.",
        ),
    },
)


def load_persona(path: Path | None) -> Persona:
    """Return the persona of a TOML file, the default where there is no path.

    The file has `name`, `aliases` (a list), and the tables `[description]` (language = text) and `[tone]` (language = list of
    sentences).

    Raises:
        PersonaError: the file cannot be read, or a field is unknown, missing or of the wrong kind.
    """
    if path is None:
        return RICORDO
    try:
        with path.open("rb") as file:
            fields = tomllib.load(file)
    except OSError as error:
        raise PersonaError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PersonaError(f"{path}: not TOML: {error}") from error
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise PersonaError(f"{path}: {unknown[0]}: unknown field; there are {', '.join(FIELDS)}")
    return Persona(
        name=_text(path, "name", fields.get("name")),
        aliases=tuple(alias.casefold() for alias in _texts(path, "aliases", fields.get("aliases", []))),
        description={code: _text(path, f"description.{code}", text) for code, text in _table(path, "description", fields)},
        tone={code: _texts(path, f"tone.{code}", rules) for code, rules in _table(path, "tone", fields)},
    )


def _table(path: Path, name: str, fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    table = fields.get(name, {})
    if not isinstance(table, dict):
        raise PersonaError(f'{path}: {name}: must be a table by language, such as [{name}] with en = "…"')
    return sorted(table.items())


def _texts(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise PersonaError(f"{path}: {name}: must be a list of texts")
    texts = tuple(_text(path, name, part) for part in value)
    if len("".join(texts).encode()) > TEXT_BYTES:
        raise PersonaError(f"{path}: {name}: longer than {TEXT_BYTES} bytes; it is sent with every request")
    return texts


def _text(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PersonaError(f"{path}: {name}: must be a text that is not empty")
    text = " ".join(value.split())
    if len(text.encode()) > TEXT_BYTES:
        raise PersonaError(f"{path}: {name}: longer than {TEXT_BYTES} bytes; it is sent with every request")
    return text
