"""What a language model answered, remembered by what it was asked: the same question is never paid for twice."""

import hashlib
from collections import OrderedDict
from typing import Generic, TypeVar

from memory.extract.llm import Request

REMEMBERED = 512  # answers
V = TypeVar("V")


class Answers(Generic[V]):
    """The last answers, in memory alone: a restart asks again."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._kept: OrderedDict[str, V] = OrderedDict()

    def get(self, model: str, request: Request) -> V | None:
        """Return what this model answered, None where it was not asked, or too long ago."""
        return self._kept.get(_hash(model, request))

    def keep(self, model: str, request: Request, answer: V) -> None:
        """Remember an answer; the one that was kept first goes where there are too many."""
        self._kept[_hash(model, request)] = answer
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)


def _hash(model: str, request: Request) -> str:
    return hashlib.sha256(f"{model}\x1f{request.order}\x1f{request.text}".encode("utf-8", "replace")).hexdigest()
