"""What moderation took back lately, so that nothing answers it: also before its message, or while a reply is being made."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from bot.bounded import put
from memory import Batch, Deletion, Line, Recall

REMEMBERED = 10_000
ANYBODY = ""  # whose memory an order changes that names a place, not a viewer


class Tombstones:
    """Recent deletions, bounded. The memory keeps its own, for ever; these are for the turn that is running."""

    def __init__(self) -> None:
        """Start with none."""
        self._messages: OrderedDict[str, None] = OrderedDict()
        self._users: OrderedDict[str, datetime] = OrderedDict()
        self._authors: OrderedDict[str, tuple[str, datetime]] = OrderedDict()  # of what was said lately, by message id
        self._orders: OrderedDict[str, str] = OrderedDict()  # to erase, not carried out yet: whose memory, by command id

    def note(self, deletion: Deletion) -> None:
        """Remember a deletion. Clearing the visible chat takes no line back for good and is not remembered."""
        if deletion.scope == "message" and deletion.message_id is not None:
            put(self._messages, deletion.message_id, None, most=REMEMBERED)
        elif deletion.scope == "user" and deletion.user_id is not None:
            put(self._users, deletion.user_id, deletion.at, most=REMEMBERED)

    def saw(self, line: Line) -> None:
        """Remember who wrote a line, so that a ban of theirs is known to reach what was made of it."""
        if line.user is not None:
            put(self._authors, line.id, (line.user.id, line.at), most=REMEMBERED)

    def expect(self, command_id: str, viewer_id: str) -> None:
        """An order to erase or change what is this viewer's, or `ANYBODY`'s, waits: nothing is made of that any more."""
        put(self._orders, command_id, viewer_id, most=REMEMBERED)

    def passed_over(self, command_id: str) -> None:
        """Nothing came of what was expected."""
        self._orders.pop(command_id, None)

    @contextmanager
    def carrying_out(self, command_id: str | None, *, unless: type[Exception]) -> Iterator[None]:
        """Expect the order no more once this ends, `unless` with an error after which it is given again."""
        given_again = False
        try:
            yield
        except unless:
            given_again = True
            raise
        finally:
            if not given_again:
                self._orders.pop(command_id or "", None)

    def covers(self, line: Line) -> bool:
        """Return whether this line was taken back: by its id, or by a ban or time-out of its writer after it was written."""
        if line.id in self._messages:
            return True
        return line.user is not None and self._by_user(line.user.id, line.at)

    def hold(self, message_ids: Iterable[str]) -> bool:
        """Return whether all of these messages were taken back."""
        return all(one in self._messages for one in message_ids)

    def touches(self, batch: Batch, recall: Recall | None) -> bool:
        """Return whether anything that a reply to this batch was made from was taken back, or is about to be."""
        if any(self.covers(line) for line in batch.lines) or self._at_stake(batch, recall):
            return True
        if recall is None:
            return False
        if any(
            line.id in self._messages or (line.author is not None and self._by_user(line.author.id, line.at))
            for line in recall.window.lines
        ):
            return True
        return any(self._taken_back(one) for item in recall.block.items for one in item.provenance)

    def among(self, lines: Iterable[Line]) -> set[str]:
        """Return the ids of those lines that were taken back."""
        return {line.id for line in lines if self.covers(line)}

    def _at_stake(self, batch: Batch, recall: Recall | None) -> bool:
        """Return whether an order that waits may reach what the reply was made from; in doubt it does."""
        whose = frozenset(self._orders.values())
        if not whose:
            return False
        sources = {line.user.id for line in batch.lines if line.user is not None}
        if recall is not None:
            sources |= {line.author.id for line in recall.window.lines if line.author is not None}
            sources |= {item.subject for item in recall.block.items if item.subject is not None}
            wrote = [self._authors.get(one, (ANYBODY,)) for item in recall.block.items for one in item.provenance]
            sources |= {author[0] for author in wrote}
        return ANYBODY in whose | sources or not whose.isdisjoint(sources)

    def _taken_back(self, message_id: str) -> bool:
        wrote = self._authors.get(message_id)
        return message_id in self._messages or (wrote is not None and self._by_user(*wrote))

    def _by_user(self, user_id: str, at: datetime) -> bool:
        banned = self._users.get(user_id)
        return banned is not None and at <= banned
