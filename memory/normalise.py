"""Text made comparable: case, accents, punctuation, spaces and invisible characters no longer tell two texts apart. Pure.

No text is cached here, single code points aside: what a viewer had erased must not live on in a look-up table.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

LONGEST_TEXT = 2000  # code points that are looked at: a chat line has 500, an imported one may have a million
LONGEST_WORD = 40
_WORD = re.compile(r"\w+")
_REST_OF_WORD = re.compile(r"\w*")
_PILE = re.compile(r"[^\w\s]{32}")  # of marks, or of anything else that is no word
_ACCENTS = re.compile("[\u0300-\u036f]")
_REMEMBERED = 4096  # code points
_DROPPED = {"Mn", "Me", "Cf", "Co", "Cs"}  # marks, format characters (zero width, bidi, tags), private, surrogates
_ASCII_CONTROLS = dict.fromkeys((*range(32), 127), " ")


class _Kept(dict[int, int | str | None]):
    """What becomes of a code point, by its category; those met first are remembered, so that chat cannot fill the memory."""

    def __missing__(self, code: int) -> int | str | None:
        kind = unicodedata.category(chr(code))
        kept = " " if kind == "Cc" else None if kind in _DROPPED else code
        if len(self) < _REMEMBERED:
            self[code] = kept
        return kept


_KEPT = _Kept()


def fold(text: str) -> str:
    """Return `text` in lower case without accents, marks and invisible characters; controls become spaces.

    At most `LONGEST_TEXT` code points of the input are read, and of the result are kept (one ligature can stand for eighteen
    letters), so that the cost is bounded, here and where the result is matched.
    """
    return _folded(text[:LONGEST_TEXT], LONGEST_TEXT)


def _folded(text: str, longest: int | None = None) -> str:
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))[:longest]
    if text.isascii():
        return text.lower() if text.isprintable() else text.lower().translate(_ASCII_CONTROLS)
    return text.translate(_KEPT).casefold()


def words(text: str) -> tuple[str, ...]:
    """Return the folded words of `text`, in their order, each cut at `LONGEST_WORD`; apostrophes separate."""
    return tuple(word[:LONGEST_WORD] for word in _WORD.findall(fold(text)))


def spaced(text: str) -> str:
    """Return the folded words of `text` with one space before, between and after them: what phrases are matched on."""
    return f" {' '.join(words(text))} "


def holds(text: str, wanted: str) -> bool:
    """Return whether the folded words of `wanted` stand in a row anywhere in `text`, however long it is; no words never do.

    The time grows with the length of the text and no faster, whatever it is made of, and no pattern is made of anybody's words:
    `re` would keep it.
    """
    sought, behind = "".join([" ", *_each_before_a_space(_folded_whole(wanted))]), " "
    if not sought.strip():
        return False
    for piece in _between_words(_folded_whole(text)):
        said = "".join([behind, *_each_before_a_space(piece)])
        if sought in said:
            return True
        behind = said[-len(sought) :]
    return False


def _folded_whole(text: str) -> str:
    """Return all of `text` as `fold` would. Piled marks go first: sorting a pile takes the square of its height."""
    return _folded(text.casefold().translate(_KEPT) if _PILE.search(text) else text)


def _between_words(folded: str) -> Iterator[str]:
    """Yield a folded text in pieces that end with a word, or behind one."""
    start = 0
    while start < len(folded):
        rest = _REST_OF_WORD.match(folded, start + LONGEST_TEXT)
        end = rest.end() if rest is not None else len(folded)
        yield folded[start:end]
        start = end


def _each_before_a_space(folded: str) -> Iterator[str]:
    return (f"{word[:LONGEST_WORD]} " for word in _WORD.findall(folded))


def same_key(text: str) -> str:
    """Return a key that is equal for texts which differ in case, accents, punctuation, spaces or invisible characters."""
    found = words(text)
    return "".join(found) if found else "".join(fold(text).split())


def stem(word: str, suffixes: tuple[str, ...]) -> str:
    """Return a folded word without its longest matching ending; at least three letters stay.

    `suffixes` come longest first. A light stemmer, as CLEF's for Italian (Savoy 2001): it joins the forms of one word well
    enough to see whether two texts speak of the same thing, at a microsecond a word.
    """
    if not word.endswith(suffixes):
        return word
    for length, endings in _by_length(suffixes):
        if len(word) - length >= 3 and word[-length:] in endings:  # noqa: PLR2004 - the docstring names it
            return word[:-length]
    return word


@lru_cache(maxsize=64)  # one entry a language: its endings, no text
def _by_length(suffixes: tuple[str, ...]) -> tuple[tuple[int, frozenset[str]], ...]:
    lengths = dict.fromkeys(map(len, suffixes))
    return tuple((length, frozenset(one for one in suffixes if len(one) == length)) for length in lengths if length)


def visible(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return `text` on one line, cut at `longest` code points, without control, format, bidi and surrogate characters.

    Marks (accents) stay, three in a row at most, so that stacked ones cannot flood the prompt.
    """
    out: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text[: 2 * longest].encode("utf-8", "ignore").decode()):
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if category in {"Cf", "Co", "Cn"} or marks > 3:  # noqa: PLR2004 - the docstring names it
            continue
        out.append(" " if category in {"Cc", "Zl", "Zp", "Zs"} else char)
    line = " ".join("".join(out).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
