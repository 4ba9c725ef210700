"""The recency channel: how new a document is. A prior, never evidence: it ranks what others found, and finds nothing."""

from collections.abc import Iterable
from datetime import datetime

from memory.caches import Hits
from memory.model import Document
from memory.salience import recency

NAME = "recency"


def by_recency(documents: Iterable[Document], now: datetime) -> Hits:
    """Return the documents newest first, each with 2^(-age / half-life), see `memory.salience`."""
    newest_first = sorted(documents, key=lambda document: (-document.at.timestamp(), document.id))
    return [(document.id, recency(document.at, now)) for document in newest_first]
