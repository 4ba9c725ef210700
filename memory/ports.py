"""What the memory needs from the outside, as small protocols: fakes and real things pass the same contract suites.

Every call that does I/O is a coroutine and may be cancelled at any await without leaving anything half done.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lore.entry import LoreEntry
from memory.model import Document, HistoryLine, KnownViewer, StateRecord, Stream
from memory.relations import Edge

Vectors = NDArray[np.float32]  # (n, dimension), rows of unit length


class Embedder(Protocol):
    """Text to vectors. Hostile text is the normal case: implementations clean and cap it themselves."""

    @property
    def name(self) -> str:
        """Model and version, as stored with the index: `use-m3/0.2.1`."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, for storing; an empty text gives a zero vector.

        Raises:
            ModelUnavailable: the model failed; retrying later may help.
        """
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, dimension) vector of a question.

        Raises:
            ModelUnavailable: the model failed.
        """
        ...

    async def close(self) -> None:
        """Release threads and processes; closing twice is fine."""
        ...


class JsonModel(Protocol):
    """A language model that answers in JSON: asked in the background alone, and never believed by itself."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def answer(
        self, order: str, text: str, *, schema: Mapping[str, Any], max_tokens: int
    ) -> tuple[Mapping[str, Any], int]:
        """Return the JSON object that the model answers, and the tokens that it cost, read and written.

        Raises:
            LanguageModelUnavailable: it cannot be reached, or refuses; retrying later may help.
            AnswerUnusable: the answer is not JSON, lacks a key that `schema` requires, or the lines are too many for it.
        """
        ...

    async def close(self) -> None:
        """Close its connections; closing twice is fine."""
        ...


@runtime_checkable
class Forgetful(Protocol):
    """An embedder that keeps vectors by their texts."""

    async def forget(self, texts: Sequence[str]) -> None:
        """Erase what is kept of these texts."""
        ...

    async def forget_everything(self) -> None:
        """Erase all that is kept."""
        ...


class VectorIndex(Protocol):
    """Vectors by collection: ids and numbers only, no text. The collection is the scope; there are no filters."""

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under deterministic ids: storing again replaces.

        Raises:
            IndexUnavailable: nothing may be assumed about what was stored; repeat the call.
        """
        ...

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids; missing ones are fine."""
        ...

    async def drop(self, collection: str) -> None:
        """Remove a whole collection; a missing one is fine."""
        ...

    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine) pairs, best first; a missing collection gives none.

        `vector` may have several rows: a document counts by the one it is nearest to.

        Raises:
            IndexUnavailable: the collection is broken or late; it must be rebuilt from SQL.
        """
        ...

    async def ids(self, collection: str) -> set[str]:
        """Return every id of a collection (for drift; not on the hot path)."""
        ...

    async def close(self) -> None:
        """Close every folder."""
        ...


class MemoryReader(Protocol):
    """What recall reads from SQL, at most one short session a call. A call never waits for a model or for Chroma."""

    async def stream(self, stream_id: str) -> Stream | None:
        """Return a stream, None where unknown."""
        ...

    async def streams(self, *, before: datetime, limit: int) -> list[Stream]:
        """Return streams that began before a moment, newest first."""
        ...

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        """Return the newest lines of a stream, oldest first; deleted and hidden ones are not among them."""
        ...

    async def known_viewers(self) -> list[KnownViewer]:
        """Return everybody seen in this channel, opted-out viewers aside."""
        ...

    async def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the living documents among `ids`; erased and superseded-away ones are missing."""
        ...

    async def full_text(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (document id, BM25 score, higher is better) within one collection."""
        ...

    async def newest(self, collection: str, limit: int) -> list[Document]:
        """Return the newest documents of a collection, newest first."""
        ...

    async def around(self, ids: Sequence[str], each_side: int) -> dict[str, tuple[list[Document], list[Document]]]:
        """Return, for each living document among `ids`, those written just before and just after it in its collection.

        Up to `each_side` of either, in the order of writing.
        """
        ...

    async def answered(self, line_ids: Sequence[str]) -> dict[str, tuple[str, bool]]:
        """Return, for each line that answers another one, the words of that one, and whether it is a reply; others are missing.

        A line answers the one that it replies to; where just two people talk, it is taken to answer the last one of the other
        within ten minutes. What was erased or cleared away is nothing. For ranking only: they are other people's words.
        """
        ...

    async def aftermath(self, line_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return, for each line, the words said within three minutes behind it.

        Those said next by its author (`own`), in answer to it (`answer`), and next by somebody else (`other`); empty where
        there are none, or they were erased or cleared away. For judging only: they are not shown.
        """
        ...

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None) -> list[Document]:
        """Return the facts (kind `fact`) about a viewer, stated by themselves, true now or at `as_of`; newest first."""
        ...

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer (kind `claim`) and has not ended, newest first."""
        ...

    async def edges(self, starts: Sequence[str], *, hops: int, most: int) -> list[Edge]:
        """Return the edges of facts believed now around these entities, up to `hops` steps from them, at most so many."""
        ...

    async def lore(self) -> list[LoreEntry]:
        """Return the canon, as last synchronised."""
        ...

    async def state(self, domains: Sequence[str], viewer_ids: Sequence[str], *, at: datetime) -> list[StateRecord]:
        """Return live records of the domains (of those viewers where any are named), expired and deleted ones aside."""
        ...


class JobHandler(Protocol):
    """The work behind one kind of job: idempotent, since a job may run more than once."""

    async def __call__(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Do the work of these jobs together; any exception fails them all (the worker splits them where that helps)."""
        ...
