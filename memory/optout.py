"""Opting out: everything of a viewer goes, and nothing of them is stored again until they opt in."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from memory.forget import Forgetter
from memory.receipts import ForgetRequest, Receipt
from memory.store import audit, optouts
from memory.store.database import Database
from memory.store.scrub import clean
from memory.store.stamps import milliseconds, moment


class OptOuts:
    """Who opted out, since when: read from SQL once, asked for every line."""

    def __init__(self, database: Database, forgetter: Forgetter) -> None:
        """Call `load` before anything else."""
        self._database = database
        self._forgetter = forgetter
        self._since: dict[str, datetime] = {}

    async def load(self) -> None:
        """Read who opted out.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        async with self._database.reading() as session:
            found = await session.run_sync(lambda reading: optouts.all_of(reading.connection()))
        self._since = {viewer_id: moment(at) for viewer_id, at in found.items()}

    def covers(self, viewer_id: str, at: datetime) -> bool:
        """Return whether what a viewer wrote at that moment is none of the memory's business."""
        since = self._since.get(clean(viewer_id))
        return since is not None and at >= since

    def among(self, viewer_ids: Iterable[str]) -> list[str]:
        """Return those who are opted out now."""
        return [one for one in viewer_ids if clean(one) in self._since]

    async def opt_out(self, viewer_id: str, at: datetime, *, by: str | None) -> Receipt:
        """Forget everything of a viewer and store nothing of them from now on.

        Raises:
            StoreUnavailable: nothing was changed; try again.
        """
        request = ForgetRequest(scope="viewer", at=at, viewer_id=viewer_id, by=by)

        def write(connection: Connection) -> Receipt:
            optouts.shut(connection, clean(viewer_id), milliseconds(at))
            receipt = replace(self._forgetter.hide(connection, request), verb="opt_out")
            audit.note(connection, receipt, by)
            return receipt

        receipt = await self._database.write(write)
        self._since[clean(viewer_id)] = min(at, self._since.get(clean(viewer_id), at))
        return receipt

    async def opt_in(self, viewer_id: str, at: datetime, *, by: str | None) -> Receipt:
        """Store what a viewer writes again; what was forgotten stays forgotten.

        Raises:
            StoreUnavailable: nothing was changed; try again.
        """
        receipt = Receipt(verb="opt_in", at=at, viewer_id=clean(viewer_id))

        def write(connection: Connection) -> bool:
            changed = optouts.open_again(connection, clean(viewer_id))
            if changed:
                audit.note(connection, receipt, by)
            return changed

        await self._database.write(write)
        self._since.pop(clean(viewer_id), None)
        return receipt
