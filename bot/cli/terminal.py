"""Text for a terminal: chat is hostile, and a terminal obeys control characters."""

import unicodedata
from datetime import datetime, tzinfo

from rich.text import Text

from bot.cli.login_texts import Language
from bot.plain import is_invisible

_MARKS_IN_A_ROW = 2  # accents on one letter; more climb over the lines above
CUT = "…"
MONTHS: dict[Language, tuple[str, ...]] = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "it": ("gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"),
}


def printable(text: str, limit: int = 2000) -> str:
    """Return `text` on one line, without characters that a terminal obeys or that turn its lines around; cut at `limit`."""
    kept: list[str] = []
    marks = 0
    for character in text[: 4 * limit]:
        if character.isspace():
            character = " "  # noqa: PLW2901 - line breaks and tabs are spaces here
        elif is_invisible(character):
            continue
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MARKS_IN_A_ROW:
            kept.append(character)
    shown = " ".join("".join(kept).split())
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + CUT


def styled(text: str, style: str = "", *, limit: int = 2000) -> Text:
    """Return `text` made printable, for rich: no markup in it is read."""
    return Text(printable(text, limit), style=style)


def day(at: datetime, zone: tzinfo | None = None, *, language: Language = "en") -> str:
    """Return a date for people, in `zone` or that of this machine."""
    local = at.astimezone(zone)
    return f"{local.day} {MONTHS[language][local.month - 1]} {local.year}"


def minute(at: datetime, zone: tzinfo | None = None) -> str:
    """Return date and time for people, in `zone` or that of this machine."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
