"""What the turn asks an answer of: a language model behind its prompt, or the deterministic stand-in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory import Batch, Message, Recall


class ResponderFailed(Exception):
    """No answer could be made; `kind` is a short word for the log (`timeout`, `refused`, …). Nothing was said."""

    def __init__(self, kind: str) -> None:
        """Take the short word."""
        super().__init__(f"the responder failed: {kind}")
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the responder would say. An empty text is the choice to say nothing."""

    text: str
    telling: str | None = None  # what of it tells something, where the rest are set phrases; None: all of it
    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    changed_domains: tuple[str, ...] = ()  # state domains that tools changed while answering
    held_viewers: tuple[str, ...] = ()  # viewers whom those changes were about; empty with domains: the whole batch


class Responder(Protocol):
    """Answers a message of a batch, or several by several people, with what the memory recalled."""

    async def reply(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message] = ()) -> Answer:
        """Return the answer to `to`, and in the same line the answers to `also`, which others wrote before it.

        Raises:
            ResponderFailed: there is none.
        """
        ...
