"""Builders for facts and what is stated: small values with sensible defaults."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.statements import Fact, Slot, Statement

DAY0 = datetime(2026, 1, 1, tzinfo=UTC)
HOME = Slot(name="home", single=True)
ORIGIN = Slot(name="origin", single=True, stable=True)
LIKE, DISLIKE = Slot(name="like", contrary="dislike"), Slot(name="dislike", contrary="like")
GAME = Slot(name="game")
PROFESSION = Slot(name="profession", single=True, group=("workplace",))
WORKPLACE = Slot(name="workplace", single=True, group=("profession",))
PLAN = Slot(name="plan")
OWN = Slot(name="own")


def on(day: float) -> datetime:
    return DAY0 + timedelta(days=day)


def stated(said: str, *, slot: Slot = HOME, day: float = 10, source: str = "m9", **changes: Any) -> Statement:  # noqa: ANN401 - any field
    predicate = changes.pop("predicate", slot.name)
    whole = Statement(subject="1001", slot=slot, predicate=predicate, object=said, text=f"… {said}", at=on(day), source=source)
    return replace(whole, **changes)


def held(said: str, *, slot: Slot = HOME, day: float = 1, source: str = "m1", **changes: Any) -> Fact:  # noqa: ANN401 - any field
    predicate = changes.pop("predicate", slot.name)
    whole = Fact(id=f"f-{source}-{said}", subject="1001", predicate=predicate, object=said, at=on(day), sources=(source,))
    return replace(whole, **changes)
