"""What still waits to be stored when the bot leaves, taken together; and where a mistake was made."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile

from memory import Batch, Line

TOGETHER = 25  # batches in one transaction: on a busy machine the wait for the writer costs more than the writing

Step = Callable[[], Awaitable[None]]


def next_batches(steps: Iterable[Step], turn: Callable[..., Awaitable[None]], most: int) -> list[Batch]:
    """Return the batches of the first steps, as far as these are calls of `turn`, and up to `most`."""
    turns = takewhile(lambda step: isinstance(step, partial) and step.func == turn, steps)
    return [step.args[0] for step in islice(turns, most) if isinstance(step, partial)]


def without(batch: Batch, covers: Callable[[Line], bool]) -> Batch:
    """Return the batch without the lines that moderation took back since."""
    return replace(batch, lines=tuple(line for line in batch.lines if not covers(line)))


def place(error: BaseException) -> str:
    """Return the file and line that an exception comes from. Its text may quote the chat, and is not for the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 2)[-1]}:{trace.tb_lineno}" if trace else "?"
