"""Chat text made comparable (hostile characters gone, look-alikes folded), or cut to a length where words end."""

import re
import unicodedata

EXAMINED = 2000  # code points: a chat line has 500, a hostile log line may have a million
_IGNORABLE = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]
)
JOINERS = "\u200c\u200d\ufe0f"  # invisible, yet part of emoji and of several scripts
_SENTENCE = re.compile(r"[.!?…]$")
_TAGS = range(0xE0000, 0xE1000)


def is_invisible(character: str) -> bool:
    """Return whether nobody sees the character: controls, formats, surrogates, fillers that chat clients append to repeats."""
    point = ord(character)
    return point in _IGNORABLE or point in _TAGS or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"}


def visible(text: str) -> str:
    """Return `text` without invisible characters, its white space collapsed to single spaces."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if character.isspace() else character for character in text)
    return " ".join("".join(character for character in spaced if not is_invisible(character)).split())


def plain(text: str) -> str:
    """Return the first part of `text` for comparing: NFKC, visible characters only, case folded."""
    return visible(unicodedata.normalize("NFKC", text[:EXAMINED]))[:EXAMINED].casefold()


def cut(text: str, limit: int) -> str:
    """Return at most `limit` code points of `text`, cut at a word; an ellipsis marks what stops inside a sentence."""
    if len(text) <= limit:
        return text
    words = text[:limit].rsplit(" ", 1)[0] if " " in text[:limit] else text[: limit - 1]
    while len(words) > 1 and (unicodedata.combining(text[len(words)]) or text[len(words)] in JOINERS or words[-1] in JOINERS):
        words = words[:-1]
    return words if _SENTENCE.search(words) else words.rstrip(" ,;:-") + "…"
