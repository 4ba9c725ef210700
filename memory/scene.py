"""The scene around a line of a stream: who told it, how the chat took it, and whether somebody asked about was there. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.normalise import words

AFTER = 6  # lines behind it in which the chat takes it up
SECONDS = 40.0  # … and how soon
HOSTED, TAKEN_UP, PRESENT = 1 / 3, 1 / 3, 1 / 3  # what each sign adds; together 1
_SHOUTED = 0.6  # share of capitals
_SHORT = 3  # words of a reaction


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneLine:
    """A line of a scene, its text cut short. `place` counts from the line that the scene is about, which has 0."""

    place: int
    kind: str  # message | notice | reply
    viewer_id: str | None
    at: datetime
    text: str
    hosts: bool = False  # written by the broadcaster or a moderator, or by the platform; told of place 0 alone


def weight(scene: Sequence[SceneLine], people: Collection[str] = ()) -> float:
    """Return 0 to 1: what a line weighs that the hosts told, that the chat took up, and that somebody of `people` wrote or met.

    Hosts tell what is to be seen; viewers speak of themselves. The chat takes up what happens: shouts, short lines, the bot.
    A person counts in full as the author, half just before or behind.
    """
    told = next((line for line in scene if line.place == 0), None)
    if told is None:
        return 0.0
    behind = [line for line in scene if 0 < line.place <= AFTER and (line.at - told.at).total_seconds() <= SECONDS]
    taken_up = sum(map(_reacts, behind)) / AFTER
    return HOSTED * told.hosts + TAKEN_UP * taken_up + PRESENT * _present(scene, people)


def _present(scene: Sequence[SceneLine], people: Collection[str]) -> float:
    return max(
        (1.0 if line.place == 0 else 0.5 for line in scene if abs(line.place) <= 1 and line.viewer_id in people), default=0.0
    )


def _reacts(line: SceneLine) -> bool:
    if line.kind == "reply" or "!" in line.text:
        return True
    letters = [char for char in line.text if char.isalpha()]
    return sum(map(str.isupper, letters)) > _SHOUTED * max(1, len(letters)) or len(words(line.text)) <= _SHORT
