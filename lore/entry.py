"""One entry of the canon, as a value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreEntry:
    """A piece of the persona's world. Only the streamer's files change it."""

    id: str
    title: str
    aliases: tuple[str, ...]  # the names and words by which chat refers to it
    text: str
    digest: str  # SHA-256 of the entry: a change is indexed again
