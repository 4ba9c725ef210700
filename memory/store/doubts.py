"""Which collections of the index may be believed: all of them, or, where it came back as another one, those compared since."""

from collections.abc import Iterable, Sequence

from memory.errors import CollectionLost


class Doubts:
    """For several threads: each method changes or reads one value at once."""

    def __init__(self) -> None:
        """Believe everything."""
        self._vouched: set[str] | None = None  # None: all are known to be whole

    def doubt(self) -> None:
        """Take every collection for lost until it is vouched for: the index came without what SQL says is in it."""
        self._vouched = set()

    def vouch(self, collections: Iterable[str]) -> None:
        """These collections hold what they should."""
        vouched = self._vouched
        if vouched is not None:
            vouched.update(collections)

    def trust(self) -> None:
        """All collections hold what they should."""
        self._vouched = None

    def check(self, collection: str) -> None:
        """See that a collection may be searched.

        Raises:
            CollectionLost: it is in doubt.
        """
        vouched = self._vouched
        if vouched is not None and collection not in vouched:
            raise lost([collection])


def lost(collections: Sequence[str]) -> CollectionLost:
    """Return the error that names these collections as gone."""
    shown = ", ".join(repr(collection)[:60] for collection in collections[:3])
    return CollectionLost(
        f"{len(collections)} collection(s) of the index are gone from its folder, such as {shown}; drop and index them again "
        "(`ricordo reindex` does all).",
        tuple(collections),
    )
