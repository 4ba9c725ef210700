"""What crosses between the memory and the process of its index: values whole, and errors as themselves."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

import pytest

from memory import errors
from memory.errors import BotMemoryError, CollectionLost, IndexUnavailable, ModelMismatch
from memory.store.folder_client import FolderSpoilt
from memory.store.frames import Frames, error_again, told_error

Ends = tuple[Frames, Frames]


@pytest.fixture
def ends() -> Iterator[Ends]:
    (here, there_out), (there, here_out) = os.pipe(), os.pipe()
    files: list[IO[bytes]] = [
        os.fdopen(here, "rb"),
        os.fdopen(here_out, "wb"),
        os.fdopen(there, "rb"),
        os.fdopen(there_out, "wb"),
    ]
    yield Frames(files[0], files[1]), Frames(files[2], files[3])
    for file in files:
        with suppress(OSError):  # the other side is closed
            file.close()


def test_values_arrive_in_order_and_whole_however_large(ends: Ends) -> None:
    here, there = ends
    large = b"x" * 3_000_000

    def send() -> None:
        for value in (1, ("a", large), None):
            here.send(value)

    sending = threading.Thread(target=send)
    sending.start()
    assert [there.receive() for _ in range(3)] == [1, ("a", large), None]
    sending.join()


def test_the_end_of_the_other_side_is_an_end_also_within_a_frame(ends: Ends) -> None:
    here, there = ends
    here._outgoing.write(b"\x09\0\0\0\0\0\0\0half")
    here._outgoing.close()
    for _ in range(2):
        with pytest.raises(EOFError):
            there.receive()


@pytest.mark.parametrize(
    "kind",
    [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BotMemoryError)],
    ids=lambda kind: kind.__name__,
)
def test_every_error_of_the_memory_crosses_as_itself(kind: type[BotMemoryError], ends: Ends) -> None:
    here, there = ends
    error = CollectionLost("gone", ("viewer-1", "lore")) if kind is CollectionLost else kind("what happened")
    here.send(told_error(error))
    again = error_again(there.receive())
    assert type(again) is kind
    assert str(again) == str(error)
    assert getattr(again, "collections", None) == getattr(error, "collections", None)


def test_an_error_of_the_inside_crosses_as_the_one_that_callers_know() -> None:
    again = error_again(told_error(FolderSpoilt("spoilt")))
    assert type(again) is IndexUnavailable
    assert str(again) == "spoilt"


def test_any_other_error_is_an_index_that_is_away() -> None:
    again = error_again(told_error(ZeroDivisionError("by nothing")))
    assert type(again) is IndexUnavailable
    assert "ZeroDivisionError" in str(again)
    assert not isinstance(again, ModelMismatch)
