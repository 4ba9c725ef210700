"""Single values about the whole memory, and what stands in it by number."""

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.sqlite import insert

from memory.errors import WrongChannel
from memory.events import Channel
from memory.store.document_writes import DOCUMENT, IN_SIGHT, LINE
from memory.store.episodes import TURN
from memory.store.scrub import clean
from memory.store.streams import STREAM
from memory.store.tables import MetaRow, table_of
from memory.store.viewers import VIEWER

META = table_of(MetaRow)
_CHANNEL = "channel_id"


def value_of(connection: Connection, key: str) -> str | None:
    """Return a stored value, None where there is none."""
    found: str | None = connection.scalar(select(META.c.value).where(META.c.key == key))
    return found


def store_value(connection: Connection, key: str, value: str) -> None:
    """Store a value, in place of an older one."""
    statement = insert(META).values(key=key, value=clean(value))
    connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": clean(value)}))


def channel_id(connection: Connection) -> str | None:
    """Return the id of the channel whose memory it is, which is that of its broadcaster."""
    return value_of(connection, _CHANNEL)


def claim(connection: Connection, channel: Channel) -> None:
    """Make the memory this channel's, or check that it is.

    Raises:
        WrongChannel: it belongs to another channel; nothing was changed.
    """
    owner = value_of(connection, _CHANNEL)
    if owner is None:
        store_value(connection, _CHANNEL, channel.id)
    elif owner != clean(channel.id):
        raise WrongChannel(
            f"this data directory holds the memory of channel {owner}, not of {channel.id} ({channel.login}): "
            "choose another data directory for this channel"
        )


def owner(connection: Connection) -> str | None:
    """Return the id of the channel whose memory this is."""
    return value_of(connection, _CHANNEL)


def counts(connection: Connection) -> dict[str, int]:
    """Return how many viewers, streams, messages, turns (recorded) and documents there are."""
    asked = {
        "viewers": select(func.count()).select_from(VIEWER),
        "streams": select(func.count()).select_from(STREAM).where(STREAM.c.joined_to.is_(None)),
        "messages": select(func.count()).select_from(LINE).where(LINE.c.kind == "message", LINE.c.deleted_at.is_(None)),
        "turns": select(func.count()).select_from(TURN).where(TURN.c.state == "recorded"),
        "documents": select(func.count()).select_from(DOCUMENT).where(IN_SIGHT),
    }
    return {name: connection.scalar(statement) or 0 for name, statement in asked.items()}
