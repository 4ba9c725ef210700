"""What happens in a chat, as values: the vocabulary that live chat, logs and memory share.

Every time is an aware UTC `datetime`; ids are opaque strings. The JSON form of each event is the one of the chat log format.
An event never holds an id that cannot be stored: it is cleaned as the event is made, wherever it came from, so that every layer
sees the same one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

DeletionScope = Literal["message", "user", "chat"]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def utc(at: datetime) -> datetime:
    """Return `at` in UTC; a naive time is refused, since guessing its zone would falsify the record.

    Raises:
        ValueError: `at` has no zone.
    """
    if at.tzinfo is None:
        msg = f"time without a zone: {at.isoformat()}"
        raise ValueError(msg)
    return at.astimezone(UTC)


def storable(text: str) -> str:
    """Return `text` as it can be stored: lone surrogates (no UTF-8) and NUL (it cuts texts short) become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _clean(event: object, *fields: str) -> None:
    """Make the ids in these fields storable, in a value that nobody has seen yet."""
    for name in fields:
        found = getattr(event, name)
        if found is not None and _UNSTORABLE.search(found):
            object.__setattr__(event, name, storable(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who takes part in the chat. `id` is the identity for ever; the names are what it was called at that moment."""

    id: str
    login: str  # lower-case, as typed after @; Twitch recycles it
    name: str  # display name, any script

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The chat's home: the one scope a memory is opened for."""

    id: str
    login: str
    name: str

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class BotIdentity:
    """Whom the chat addresses when it talks to the bot."""

    id: str
    login: str
    name: str
    aliases: tuple[str, ...] = ()  # lower-case words that also address it

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Emote:
    """An emote inside a text, by code-point offsets as its source gave them."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A chat line by one viewer."""

    id: str
    at: datetime
    user: Viewer
    text: str
    badges: tuple[str, ...] = ()
    reply_to: str | None = None  # the message it answers
    is_action: bool = False  # /me
    bits: int = 0
    emotes: tuple[Emote, ...] = ()
    mentions: tuple[Viewer, ...] = ()
    is_bot: bool = False  # another bot wrote it
    source_channel: str | None = None  # shared chat: the foreign channel's id; None at home
    extra: Mapping[str, Any] = field(default_factory=dict)  # unknown keys, kept as they came

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id", "reply_to", "source_channel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A platform event (subscription, raid, gift, …). `user` is None where the giver is anonymous."""

    id: str
    at: datetime
    kind: str  # sub, resub, gift, raid, cheer, follow, announcement, redemption, or a newer word that the source used
    user: Viewer | None
    text: str | None = None  # the viewer's own words, where the platform carries them
    data: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Moderation: one message, all of one user's in this stream, or the visible chat."""

    at: datetime
    scope: DeletionScope
    message_id: str | None = None
    user_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "message_id", "user_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """A stream began or ended."""

    at: datetime
    event: Literal["online", "offline"]
    stream_id: str
    title: str | None = None
    category: str | None = None
    channel: Channel | None = None
    bot: BotIdentity | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "stream_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class BotReply:
    """What the bot said, and to which messages."""

    at: datetime
    text: str
    in_reply_to: tuple[str, ...] = ()
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")
        object.__setattr__(self, "in_reply_to", tuple(map(storable, self.in_reply_to)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A chat command aimed at the bot, such as `!forget @alice`."""

    at: datetime
    user: Viewer
    text: str
    badges: tuple[str, ...] = ()
    id: str | None = None
    mentions: tuple[Viewer, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCall:
    """A structured-state tool call, made in the turn that was open at that time."""

    at: datetime
    tool: str
    arguments: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Run every pending job to its end before going on."""

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question put to the memory at its moment; its batch leaves no trace. `case` holds the keys as they were annotated."""

    id: str
    at: datetime
    category: str
    batch: tuple[Message, ...]
    settle: bool = True
    as_of: datetime | None = None
    case: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean the ids."""
        _clean(self, "id")


Line = Message | Notice
Event = StreamEvent | Message | Notice | Deletion | BotReply | Command | StateCall | Settle | Probe
