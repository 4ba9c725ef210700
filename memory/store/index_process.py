"""The vector index in a process of its own, seen from the memory: the calls of `ShardedCollections`, answered by a child.

A child that dies or hangs costs the calls in hand, which raise; what is doubted is remembered here. docs/decisions/0017.
"""

from collections.abc import Iterable, Sequence
from typing import Self

from memory.errors import BotMemoryError
from memory.ports import Vectors
from memory.store.doubts import Doubts
from memory.store.folder_client import Found, Write
from memory.store.index_child import IndexChild
from memory.store.index_opening import Opening


class IndexProcess:
    """Reads from several threads, writes from one."""

    def __init__(self, opening: Opening, *, hang_seconds: float) -> None:
        """Begin to start the child; `open` waits for it."""
        self._doubts = Doubts()
        self._known = ""  # the identity of the last child's index
        self._looked = ""  # the identity at the last look
        self._child = IndexChild(opening, hang_seconds=hang_seconds, ready=self._meet)

    @classmethod
    def open(cls, opening: Opening, *, hang_seconds: float) -> Self:
        """Return it when the child is ready; a call without a sign of life for `hang_seconds` has the child killed.

        Raises:
            IndexUnavailable: the child cannot be started, or cannot open the index.
        """
        made = cls(opening, hang_seconds=hang_seconds)
        try:
            made._child.wait()
        except BotMemoryError:
            made.close()
            raise
        made._looked = made.identity
        return made

    @property
    def pid(self) -> int | None:
        """The child's process, None where there is none."""
        return self._child.pid

    @property
    def touched(self) -> int:
        """How many collections were open in Chroma at the last answer, each at 2.6 MiB."""
        return self._child.state[0]

    @property
    def identity(self) -> str:
        """The name of this index: another one where its files were lost and made anew."""
        return self._child.state[1]

    def doubt(self) -> None:
        """Take every collection for lost until it is vouched for: the index came without what SQL says is in it."""
        self._doubts.doubt()

    def vouch(self, collections: Iterable[str]) -> None:
        """These collections hold what they should."""
        self._doubts.vouch(collections)

    def trust(self) -> None:
        """All collections hold what they should."""
        self._doubts.trust()

    def names(self) -> set[str]:
        """Return what all collections are called in the folders."""
        names: set[str] = self._child.call("names")
        return names

    def look(self) -> bool:
        """Return whether files of the index were taken away, also while there was no child to notice."""
        moved: bool = self._child.call("look")
        before, self._looked = self._looked, self.identity
        self._known = self.identity
        return moved or before != self._looked

    def search(self, collection: str, vector: Vectors, limit: int) -> Found:
        """Read a small collection whole and score it, or ask Chroma.

        Raises:
            CollectionLost: it is in doubt, or gone.
            IndexUnavailable: Chroma failed, or the child ended.
        """
        self._doubts.check(collection)
        found: Found = self._child.call("search", collection, vector, limit)
        return found

    def ids(self, collection: str) -> set[str]:
        """Return every id of a collection."""
        ids: set[str] = self._child.call("ids", collection)
        return ids

    def upsert(self, writes: Sequence[Write], chunk: int) -> set[str]:
        """Store all, `chunk` rows a Chroma call; return the collections that were empty before.

        Raises:
            CollectionLost: these collections were stored once and are gone; the others of the call are stored.
            IndexUnavailable: anything may or may not be stored; repeat the call.
        """
        fresh: set[str] = self._child.call("upsert", writes, chunk)
        return fresh

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids; `vacuum` erases their bytes."""
        self._child.call("delete", collection, ids)

    def drop(self, collection: str) -> None:
        """Remove a collection."""
        self._child.call("drop", collection)

    def vacuum(self) -> int:
        """Clean every folder where something was deleted; return how many.

        Raises:
            IndexUnavailable: a folder could not be cleaned; the next call tries again.
        """
        cleaned: int = self._child.call("vacuum")
        return cleaned

    def close(self) -> None:
        """Have the child close its folders and end; one that does not is killed. Closing twice is fine."""
        self._child.close()

    def abandon(self) -> None:
        """Kill the child, in whatever call it hangs, and start none again."""
        self._child.close(gently=False)

    def _meet(self, _: int, identity: str) -> None:
        """Doubt an index that another child left as another one, until `look` has told so."""
        if self._known not in {"", identity}:
            self._doubts.doubt()
        self._known = identity
