"""The store's edge: what SQLite and UTF-8 cannot hold is replaced here (in ids even earlier, where an event is made).

Lone surrogates cannot be written as UTF-8, and NUL cuts a text short in SQLite's own functions: both become U+FFFD. All else
stays as it was written: zalgo, control characters, right-to-left marks, text of any length. A document's text is cut: it is
what is searched and shown, while the line keeps the whole.
"""

from memory.events import storable

DOCUMENT_CHARACTERS = 8000


def clean(text: str) -> str:
    """Return `text` with every character that cannot be stored replaced by U+FFFD."""
    return storable(text)


def clean_or_none(text: str | None) -> str | None:
    """Return `clean(text)`, None for None."""
    return None if text is None else clean(text)


def shortened(text: str) -> str:
    """Return the text as a document holds it: at most `DOCUMENT_CHARACTERS`, a cut marked with an ellipsis."""
    return text if len(text) <= DOCUMENT_CHARACTERS else text[: DOCUMENT_CHARACTERS - 1] + "…"
