"""The pieces of a benchmark worked on by several processes at once; one of them, the caller's, keeps the journal."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from queue import Queue
from threading import Thread
from typing import Any, Protocol, TypeVar

from replays.benchmarks.journal import Journal
from replays.benchmarks.loading import BenchmarkError

Row = dict[str, Any]
Piece = TypeVar("Piece")
_KILLED = (
    "a process of the benchmark was killed from outside, perhaps for want of memory. What was answered so far is kept: "
    "run the command again to go on"
)


class Rows(Protocol):
    """Where the answers to questions go, each at once, and what tells which are still to be asked."""

    def missing(self, ids: Sequence[str]) -> set[str]:
        """Return the questions that are still to be asked."""
        ...

    def add(self, row: Row) -> None:
        """Keep the answer to one question."""
        ...


class _Sent:
    """Rows on their way to the caller's process. It is never told of those that others send meanwhile: pieces share none."""

    def __init__(self, answered: Iterable[str], send: Callable[[Row], None]) -> None:
        self._answered, self.add = frozenset(answered), send

    def missing(self, ids: Sequence[str]) -> set[str]:
        return set(ids) - self._answered


_queue: Any = None  # of the caller, in a process that works for it


def spread(
    work: Callable[[Piece, Rows], None],
    pieces: Sequence[Piece],
    journal: Journal,
    *,
    heard: Callable[[str], None] = lambda _: None,
    processes: int | None = None,
) -> None:
    """Do `work` for every piece, as many at once as there are processors; each row is in the journal as soon as it is there.

    Args:
        work: a function of a module, or an object of one that can be pickled; what it raises is raised here, when all is done.
        pieces: what can be worked on by itself, and pickled.
        journal: where rows go, and which questions were answered before.
        heard: told the id of each row.
        processes: at most; as many as processors where it is None. With one, or with one piece, all is done in this process.

    Raises:
        BenchmarkError: one of the processes was killed; every row that had come is kept.
    """

    def keep(row: Row) -> None:
        journal.add(row)
        heard(row["id"])

    at_once = min(processes or os.cpu_count() or 1, len(pieces))
    if at_once > 1:
        _in_processes(work, pieces, at_once, answered=frozenset(journal.rows), keep=keep)
        return
    for piece in pieces:
        work(piece, _Sent(journal.rows, keep))


def _in_processes(
    work: Callable[[Piece, Rows], None],
    pieces: Sequence[Piece],
    at_once: int,
    *,
    answered: frozenset[str],
    keep: Callable[[Row], None],
) -> None:
    context = multiprocessing.get_context("spawn")  # threads and connections of this process stay out of the others
    queue: Any = context.SimpleQueue()
    arrived = Queue[Row | None]()
    Thread(target=_forward, args=(queue, arrived), daemon=True).start()
    try:
        with ProcessPoolExecutor(at_once, mp_context=context, initializer=_join, initargs=(queue,)) as pool:
            doing = [pool.submit(_do, work, piece, answered) for piece in pieces]
            pool.submit(os.getpid)  # a pool watches the processes that it had before it was given its newest work
            Thread(target=_end, args=(doing, queue, arrived), daemon=True).start()
            try:
                for row in iter(arrived.get, None):
                    keep(row)
            finally:  # after an interrupt or with a full disk, what nobody began yet is not begun any more
                pool.shutdown(wait=False, cancel_futures=True)
        for one in doing:
            one.result()
    except BrokenProcessPool:
        raise BenchmarkError(_KILLED) from None


def _forward(queue: Any, arrived: "Queue[Row | None]") -> None:  # noqa: ANN401 - has no public type
    """Take rows from where the other processes put them, until the end behind them."""
    while (row := queue.get()) is not None:
        arrived.put(dict(row))
    arrived.put(None)


def _end(doing: Sequence[Future[None]], queue: Any, arrived: "Queue[Row | None]") -> None:  # noqa: ANN401 - the same
    """Put the end behind the rows of the pieces, once all have ended.

    Whoever is killed while it puts a row holds the queue's lock for ever, so that nothing can be put behind it.
    """
    wait(doing)
    killed = any(not one.cancelled() and isinstance(one.exception(), BrokenProcessPool) for one in doing)
    (arrived if killed else queue).put(None)


def _join(queue: Any) -> None:  # noqa: ANN401 - the same
    global _queue  # noqa: PLW0603 - a process of the pool has one queue from its start on
    _queue = queue
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once, not one piece alone
    Thread(target=_end_with_caller, daemon=True).start()


def _end_with_caller() -> None:
    """End this process as soon as the caller's is gone, however it went: minutes of work would go nowhere."""
    caller = multiprocessing.parent_process()
    if caller is not None:
        caller.join()
        os._exit(1)


def _do(work: Callable[[Piece, Rows], None], piece: Piece, answered: frozenset[str]) -> None:
    work(piece, _Sent(answered, _queue.put))
