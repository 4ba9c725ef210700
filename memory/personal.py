"""What people may ask about what is held of them: how much, all of it, and what was done to it."""

from typing import Any

from memory.model import Document
from memory.receipts import AuditEntry, Holding
from memory.store import audit, beliefs, decisions, holdings
from memory.store.database import Database
from memory.timeline import Chronicle


class Personal:
    """Answers about one viewer at a time. Every method raises StoreUnavailable where the store cannot be read."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    async def held(self, viewer_id: str) -> Holding:
        """Return how much is held of a viewer: counts and ids."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: holdings.counted(reading.connection(), viewer_id))

    async def export(self, viewer_id: str) -> dict[str, Any]:
        """Return everything held of a viewer: the viewer, lines, replies, memories, records, audit."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: holdings.exported(reading.connection(), viewer_id))

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer, and what the viewer claims about others, newest first."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: beliefs.claims_about(reading.connection(), viewer_id))

    async def history(self, viewer_id: str) -> list[Chronicle]:
        """Return every fact of a viewer, the claims about them and those they made, with all that was decided; oldest first."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: beliefs.chronicles(reading.connection(), viewer_id))

    async def settled(self) -> dict[str, int]:
        """Return how many conflicts between statements each step settled."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: decisions.shares(reading.connection()))

    async def audit(self, viewer_id: str | None, limit: int) -> list[AuditEntry]:
        """Return what was done, newest first; only by or to one viewer where named."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: audit.listed(reading.connection(), viewer_id=viewer_id, limit=limit))
