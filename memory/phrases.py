"""Phrases of a language: plain words in a rule file, compiled to one regular expression that cannot blow up. Pure.

A phrase is words separated by spaces, matched against `normalise.spaced` text, whole words only:
`ricord*` a word that begins so · `*avo` a word that ends so · `(a|b c)` one of these · `di?` a word that may be missing ·
`_` any one word · `..` up to three words in between · `^` (first) only where the text begins ·
`$` (last, a word by itself) only where it ends.
Every repetition is bounded by a space, so matching takes time linear in the text for a given rule file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.normalise import fold

_TOKEN = re.compile(r"\([^()]+\)\??|[^ ()]+")
_WORD = re.compile(r"\*?\w+\*?")
_ANY_WORD = r"[^ ]+ "
_GAP = r"(?:[^ ]+ ){0,3}"


@dataclass(frozen=True, slots=True)
class Phrases:
    """A set of phrases of one meaning."""

    pattern: re.Pattern[str] | None = None

    def found(self, text: str) -> bool:
        """Return whether a phrase stands in `text` (spaced)."""
        return self.pattern is not None and self.pattern.search(text) is not None

    def first(self, text: str) -> str | None:
        """Return the first phrase in `text` as it stands there, None where there is none."""
        match = self.pattern.search(text) if self.pattern else None
        return match.group().strip() if match else None

    def removed(self, text: str) -> str:
        """Return `text` (spaced) without its phrases."""
        return self.pattern.sub("", text) if self.pattern else text


def compiled(phrases: Sequence[str]) -> Phrases:
    """Return the phrases as one matcher.

    Raises:
        ValueError: a phrase does not follow the notation; says which.
    """
    parts = [_one(phrase) for phrase in phrases]
    return Phrases(re.compile(f"(?:{'|'.join(parts)})") if parts else None)


def _one(phrase: str) -> str:
    body = phrase.removeprefix("^")
    tokens = _TOKEN.findall(body)
    if "".join(tokens).replace(" ", "") != body.replace(" ", ""):
        raise ValueError(f"phrase {phrase!r}: parentheses do not match")
    parts = [_part(token, phrase) for token in tokens]
    if not any(_fixed(token) for token in tokens):
        raise ValueError(f"phrase {phrase!r} needs at least one fixed word")
    return ("(?<=^ )" if phrase.startswith("^") else "(?<= )") + "".join(parts)


def _fixed(token: str) -> bool:
    return token not in {"..", "_", "$"} and not token.endswith("?")


def _part(token: str, phrase: str) -> str:
    if token == "$":  # noqa: S105 - a sign of the notation, no secret
        return "$"
    if token == "..":  # noqa: S105 - a sign of the notation, no secret
        return _GAP
    if token == "_":  # noqa: S105 - a sign of the notation, no secret
        return _ANY_WORD
    inner = token.removesuffix("?")
    choices = [choice.split() for choice in inner[1:-1].split("|")] if inner.startswith("(") else [[inner]]
    if not all(choices):
        raise ValueError(f"phrase {phrase!r}: {token!r} has an empty choice")
    body = "|".join("".join(_word(word, phrase) for word in choice) for choice in choices)
    return f"(?:{body})?" if token.endswith("?") else f"(?:{body})"


def _word(word: str, phrase: str) -> str:
    if not _WORD.fullmatch(word):
        raise ValueError(f"phrase {phrase!r}: {word!r} is none of: word, word*, *word, (a|b c), word?, _, ..")
    start, end = "[^ ]*" if word.startswith("*") else "", "[^ ]*" if word.endswith("*") else ""
    return f"{start}{re.escape(fold(word.strip('*')))}{end} "
