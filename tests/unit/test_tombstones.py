import pytest
from builders_live import at, message, notice

from bot.tombstones import REMEMBERED, Tombstones
from memory import Batch, Block, Deletion, Item, Plan, Recall, Window
from memory.model import HistoryLine


def deletion(
    scope: str = "message", *, message_id: str | None = None, user_id: str | None = None, seconds: float = 10
) -> Deletion:
    return Deletion(at=at(seconds), scope=scope, message_id=message_id, user_id=user_id)  # type: ignore[arg-type] # a literal


def item(*provenance: str) -> Item:
    return Item(section="recall", source="x", subject=None, author=None, text="x", provenance=provenance, tokens=1, score=1)


def test_a_deleted_message_is_covered_and_others_are_not() -> None:
    stones = Tombstones()
    stones.note(deletion(message_id="m1"))
    assert stones.covers(message("x", message_id="m1"))
    assert not stones.covers(message("x", message_id="m2"))


def test_a_ban_covers_what_its_user_wrote_before_it_and_not_what_follows() -> None:
    stones = Tombstones()
    stones.note(deletion("user", user_id="id-alice"))
    assert stones.covers(message("x", seconds=9))
    assert not stones.covers(message("x", seconds=11))
    assert not stones.covers(message("x", by="bob", seconds=9))
    assert not stones.covers(notice(by="bob", seconds=9))


def test_clearing_the_screen_takes_no_line_back() -> None:
    stones = Tombstones()
    stones.note(deletion("chat"))
    stones.note(deletion("user"))
    assert not stones.covers(message("x"))


@pytest.mark.parametrize("place", ["batch", "window", "window_user", "item"])
def test_a_reply_is_touched_by_whatever_it_was_made_from(place: str) -> None:
    stones = Tombstones()
    batch = Batch(stream_id="s", lines=(message("x", message_id="m1", by="bob", seconds=20),), closed_at=at(21))
    carla = message("", by="carla").user
    old = HistoryLine(id="m0", at=at(1), kind="message", author=carla, text="x")
    recall = Recall(plan=Plan(), window=Window(stream_id="s", lines=(old,)), block=Block(items=(item("m9"),)))
    assert not stones.touches(batch, recall)
    ids = {"batch": "m1", "window": "m0", "item": "m9"}
    stones.note(deletion("user", user_id=carla.id) if place == "window_user" else deletion(message_id=ids[place]))
    assert stones.touches(batch, recall)
    assert stones.touches(batch, None) == (place == "batch")


def test_a_ban_reaches_a_reply_that_was_made_from_what_its_user_said_in_any_memory() -> None:
    stones = Tombstones()
    stones.saw(message("il mio indirizzo è …", by="carla", message_id="m9", seconds=5))
    batch = Batch(stream_id="s", lines=(message("x", message_id="m1", by="bob", seconds=20),), closed_at=at(21))
    recall = Recall(plan=Plan(), window=Window(stream_id="s", lines=()), block=Block(items=(item("m8", "m9"),)))
    stones.note(deletion("user", user_id="id-bob", seconds=4))
    stones.note(deletion("user", user_id="id-carla", seconds=4))  # before she said it
    assert not stones.touches(batch, recall)
    stones.note(deletion("user", user_id="id-carla", seconds=22))
    assert stones.touches(batch, recall)


def test_old_tombstones_make_room() -> None:
    stones = Tombstones()
    for number in range(REMEMBERED + 1):
        stones.note(deletion(message_id=f"m{number}"))
    assert not stones.covers(message("x", message_id="m0"))
    assert stones.covers(message("x", message_id="m1"))
