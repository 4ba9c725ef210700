"""What a process and the child that it started say to each other: pickles, each behind four bytes of length.

Nobody else holds the pipes, so nothing that comes from outside is ever unpickled. Errors of the memory cross as themselves.
"""

import pickle
import struct
import threading
from dataclasses import dataclass
from typing import IO, Any

from memory import errors
from memory.errors import BotMemoryError, CollectionLost, IndexUnavailable

_LENGTH = struct.Struct("<Q")


class Frames:
    """Both ends of a pair of pipes. Sending is for any thread, receiving for one."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        """Take the pipes over."""
        self._incoming, self._outgoing = incoming, outgoing
        self._sending = threading.Lock()

    def send(self, value: object) -> None:
        """Send a value whole.

        Raises:
            OSError, ValueError: the other side, or this one, has closed the pipe.
        """
        payload = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        with self._sending:
            self._outgoing.write(_LENGTH.pack(len(payload)))
            self._outgoing.write(payload)
            self._outgoing.flush()

    def receive(self) -> Any:  # noqa: ANN401 - what the other side of our own program sent
        """Return the next value.

        Raises:
            EOFError: the other side is gone, perhaps in the middle of a frame.
        """
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return pickle.loads(self._exactly(length))  # noqa: S301 - of our own child, or parent: see above

    def _exactly(self, length: int) -> bytes:
        content = self._incoming.read(length)
        if len(content) < length:
            msg = "the other process closed the pipe"
            raise EOFError(msg)
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldError:
    """An error on its way to another process."""

    kind: str  # a class of `memory.errors`
    text: str
    collections: tuple[str, ...] = ()


def told_error(error: BaseException) -> ToldError:
    """Return an error as it crosses: one of the memory's tree by its nearest public class, any other as `IndexUnavailable`."""
    if isinstance(error, CollectionLost):
        return ToldError(kind=CollectionLost.__name__, text=str(error), collections=error.collections)
    for kind in type(error).__mro__:
        if issubclass(kind, BotMemoryError) and getattr(errors, kind.__name__, None) is kind:
            return ToldError(kind=kind.__name__, text=str(error))
    msg = f"The vector index failed: {type(error).__name__}: {error}. Repeat the call; if it goes on, run `ricordo reindex`."
    return ToldError(kind=IndexUnavailable.__name__, text=msg)


def error_again(told: ToldError) -> BotMemoryError:
    """Return the error that the other process met."""
    if told.kind == CollectionLost.__name__:
        return CollectionLost(told.text, told.collections)
    made: BotMemoryError = getattr(errors, told.kind)(told.text)
    return made
