"""Who erased and corrected what, and when: ids and counts, no content."""

from sqlalchemy import Connection, insert, or_, select

from memory.receipts import AuditEntry, Receipt
from memory.store.scrub import clean_or_none
from memory.store.stamps import milliseconds, moment
from memory.store.tables import AuditRow, table_of

AUDIT = table_of(AuditRow)
_COUNTS = ("lines", "replies", "documents", "records")


def note(connection: Connection, receipt: Receipt, by: str | None) -> None:
    """Write down what was done; nothing where nothing was found or it was refused."""
    if receipt.refused or (receipt.verb not in {"opt_out", "opt_in"} and not receipt.total):
        return
    counts = {name: getattr(receipt, name) for name in _COUNTS}
    row = {"at": milliseconds(receipt.at), "verb": receipt.verb, "by": clean_or_none(by), "viewer_id": receipt.viewer_id}
    connection.execute(insert(AUDIT), [row | counts])


def listed(connection: Connection, *, viewer_id: str | None = None, limit: int = 100) -> list[AuditEntry]:
    """Return what was done, newest first; only by or to one viewer where named."""
    wanted = select(AUDIT).order_by(AUDIT.c.seq.desc()).limit(limit)
    if viewer_id is not None:
        wanted = wanted.where(or_(AUDIT.c.viewer_id == viewer_id, AUDIT.c.by == viewer_id))
    return [
        AuditEntry(
            at=moment(row.at),
            verb=row.verb,
            by=row.by,
            viewer_id=row.viewer_id,
            **{name: getattr(row, name) for name in _COUNTS},
        )
        for row in connection.execute(wanted)
    ]
