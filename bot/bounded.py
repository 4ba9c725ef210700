"""What is remembered of the newest alone, so that no chat can fill the memory of the computer. No I/O."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def put(known: OrderedDict[K, V], key: K, value: V, *, most: int) -> None:
    """Remember a value as the newest; beyond `most` the oldest go."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)
