"""Words as the full-text index sees them: without accents and case, and reduced to their stems, Italian and English at once.

A chat mixes languages within a line, so nothing is guessed: each word gives its Italian stem and, where it differs, its English
one, when it is stored and when it is asked. Stemming: Snowball (Porter, 2001). Pure.
"""

import re
import unicodedata
from functools import lru_cache
from threading import Lock

import snowballstemmer  # in C where PyStemmer is installed: the same stems, 25 times as fast

_WORD = re.compile(r"[^\W_]+")
_STEMMED = range(4, 25)  # letters: shorter words have no ending to lose, longer ones are shouts and links
_SHOUT = re.compile(r"(.)\1\1")  # no word of either language has a letter three times in a row
_LONGEST = 40  # what is cached of a word is bounded too: chat is hostile
_MOST = 2000  # words of one text that are indexed
_ITALIAN, _ENGLISH = snowballstemmer.stemmer("italian"), snowballstemmer.stemmer("english")
for _stemmer in (_ITALIAN, _ENGLISH):
    _stemmer.maxCacheSize = 0  # the one in C remembers words for itself, and cannot be asked to forget them
_ONE_AT_A_TIME = Lock()  # the writer's thread and the loop both stem, and a stemmer keeps a buffer


def folded(text: str) -> str:
    """Return `text` in compatibility form, without case and combining marks (`perché` and `PERCHE` are the same)."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()  # a mathematical A has a case only once it is plain
    decomposed = unicodedata.normalize("NFKD", plain)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _ascii(stem: str) -> str:
    """Spell other alphabets in ASCII, so that the index need not know what their letters are."""
    return stem if stem.isascii() else "".join(char if char.isascii() else f"_{ord(char):x}_" for char in stem)


@lru_cache(maxsize=65536)
def _stems_of(word: str) -> tuple[str, ...]:
    if not word.isascii() or not word.isalpha() or len(word) not in _STEMMED or _SHOUT.search(word):
        return (_ascii(word),)
    with _ONE_AT_A_TIME:
        return tuple(dict.fromkeys((_ITALIAN.stemWord(word), _ENGLISH.stemWord(word))))


def forget() -> None:
    """Remember no word any more: some of them were erased."""
    _stems_of.cache_clear()


def word_stems(text: str) -> list[tuple[str, ...]]:
    """Return the stems of each word of `text`, in its order, repeats kept; each stem of `[a-z0-9_]` alone, safe to quote."""
    words = _WORD.findall(folded(text[: _MOST * _LONGEST]))[:_MOST]
    return [found for word in words if (found := _stems_of(word[:_LONGEST]))]


def stems(text: str) -> str:
    """Return what is indexed of `text`: all its stems, separated by spaces."""
    return " ".join(stem for found in word_stems(text) for stem in found)
