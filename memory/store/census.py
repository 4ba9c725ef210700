"""What there is, in numbers, and whose memory it is."""

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.errors import WrongChannel
from memory.events import Channel
from memory.store.document_writes import DOCUMENT, LINE
from memory.store.episodes import TURN
from memory.store.streams import STREAM
from memory.store.tables import MetaRow, table_of
from memory.store.viewers import VIEWER

_META = table_of(MetaRow)
_CHANNEL = "channel_id"


async def counts(session: AsyncSession) -> dict[str, int]:
    """Return how many viewers, streams, messages, turns and documents there are; erased messages are not counted."""
    tables = {
        "viewers": select(func.count()).select_from(VIEWER),
        "streams": select(func.count()).select_from(STREAM).where(STREAM.c.joined_to.is_(None)),
        "messages": select(func.count()).select_from(LINE).where(LINE.c.kind == "message", LINE.c.deleted_at.is_(None)),
        "turns": select(func.count()).select_from(TURN).where(TURN.c.state == "recorded"),
        "documents": select(func.count()).select_from(DOCUMENT).where(DOCUMENT.c.superseded.is_(False)),
    }
    return {name: int(await session.scalar(statement) or 0) for name, statement in tables.items()}


def claim(connection: Connection, channel: Channel) -> None:
    """Write the channel's id into a new memory; refuse that of another channel.

    Raises:
        WrongChannel: names both.
    """
    row = insert(_META).values(key=_CHANNEL, value=channel.id)
    connection.execute(row.on_conflict_do_nothing(index_elements=["key"]))
    held = connection.scalar(select(_META.c.value).where(_META.c.key == _CHANNEL))
    if held != channel.id:
        raise WrongChannel(
            f"this data directory holds the memory of channel {held}, not of {channel.id} ({channel.login}): "
            "choose another data directory, or the other channel"
        )
