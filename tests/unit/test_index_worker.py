"""The side of the index's process that answers, over real pipes, with a store that can be held up."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any

import pytest
import structlog

from memory.errors import CollectionLost
from memory.store.frames import Frames, error_again
from memory.store.index_worker import Courtesy, Server
from memory.store.worker_log import send_logs, tell_log


class Held:
    """A store whose writes go on until they are let go."""

    touched, identity = 7, "this-one"

    def __init__(self) -> None:
        self.free, self.closed = threading.Event(), False

    def search(self, collection: str) -> str:
        if collection == "lost":
            msg = "gone"
            raise CollectionLost(msg, (collection,))
        return f"found in {collection}"

    def upsert(self, collection: str) -> str:
        assert self.free.wait(30)
        return collection

    def close(self) -> None:
        self.closed = True


class Served:
    """A server on a thread of its own, and the parent's side of it."""

    def __init__(self) -> None:
        (here, there_out), (there, here_out) = os.pipe(), os.pipe()
        self.files: list[IO[bytes]] = [
            os.fdopen(here, "rb"),
            os.fdopen(here_out, "wb"),
            os.fdopen(there, "rb"),
            os.fdopen(there_out, "wb"),
        ]
        self.parent, self.child = Frames(self.files[0], self.files[1]), Frames(self.files[2], self.files[3])
        self.store, self.server = Held(), Server(self.child)
        self.thread = threading.Thread(target=self._run)

    def start(self, make: Callable[[], Held] | None = None) -> Any:  # noqa: ANN401 - a frame
        self._make = make or (lambda: self.store)
        self.thread.start()
        return self.parent.receive()

    def _run(self) -> None:
        with suppress(EOFError):
            store = self.server.open(self._make)
            if store is not None:
                self.server.serve(store)


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.store.free.set()
    made.files[1].close()  # the server's pipe ends
    if made.thread.ident is not None:
        made.thread.join()  # before its own files are closed: it may be about to read
    for file in (made.files[3], made.files[0], made.files[2]):
        with suppress(OSError, ValueError):
            file.close()
    structlog.reset_defaults()


def test_a_call_is_answered_by_its_number_with_the_state_of_the_index(served: Served) -> None:
    assert served.start() == ("ready", 0, None, 7, "this-one")
    served.parent.send((41, "search", ("lore",)))
    assert served.parent.receive() == ("answer", 41, "found in lore", 7, "this-one")


def test_a_search_does_not_wait_behind_a_long_write(served: Served) -> None:
    served.start()
    served.parent.send((1, "upsert", ("viewer-1",)))
    served.parent.send((2, "search", ("lore",)))
    assert served.parent.receive()[1] == 2
    served.store.free.set()
    assert served.parent.receive()[:3] == ("answer", 1, "viewer-1")


def test_an_error_is_sent_and_the_next_call_is_answered(served: Served) -> None:
    served.start()
    served.parent.send((1, "search", ("lost",)))
    kind, number, told = served.parent.receive()
    assert (kind, number) == ("error", 1)
    assert error_again(told).collections == ("lost",)  # type: ignore[attr-defined]  # a CollectionLost
    served.parent.send((2, "no_such_call", ()))
    assert served.parent.receive()[0] == "error"
    served.parent.send((3, "search", ("lore",)))
    assert served.parent.receive()[0] == "answer"


def test_an_index_that_cannot_be_opened_says_why(served: Served) -> None:
    def fail() -> Held:
        msg = "no folder"
        raise CollectionLost(msg, ())

    kind, _, told = served.start(fail)
    assert kind == "failed"
    assert str(error_again(told)) == "no folder"


def test_closing_waits_for_the_write_in_hand_and_ends(served: Served) -> None:
    served.start()
    served.parent.send((1, "upsert", ("viewer-1",)))
    served.parent.send((2, "close", ()))
    served.store.free.set()
    assert [served.parent.receive()[1] for _ in range(2)] == [1, 2]
    served.thread.join(30)
    assert served.store.closed


def test_a_write_lets_a_search_end_first_but_does_not_wait_for_ever() -> None:
    beats: list[int] = []
    courtesy = Courtesy(lambda: beats.append(1))
    reading = courtesy.reading()
    reading.__enter__()
    done = threading.Event()

    def write() -> None:
        courtesy.give_way()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert done.wait(30)
    thread.join()
    reading.__exit__(None, None, None)
    courtesy.give_way()
    assert len(beats) == 1  # not with every piece


def test_what_the_process_logs_is_written_by_its_parent(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        send_logs(served.child)
        structlog.get_logger("x").warning("index_folder_removed", folder="viewers/000", what={1})
        structlog.get_logger("x").debug("not_this")
        logging.getLogger("chromadb").warning("old %s", "thing")
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
        structlog.reset_defaults()
    with structlog.testing.capture_logs() as written:
        tell_log(*served.parent.receive())
    assert written == [{"event": "index_folder_removed", "log_level": "warning", "folder": "viewers/000", "what": "{1}"}]
    with caplog.at_level(logging.WARNING):
        tell_log(*served.parent.receive())
    assert caplog.messages == ["old thing"]
