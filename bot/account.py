"""Who connects to Twitch, and as whom: the values around the connection."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bot.live_errors import EndpointRefused
from memory import BotIdentity, Channel, StreamEvent

# Types of event, as Twitch names them.
CHAT, NOTICES = "channel.chat.message", "channel.chat.notification"
MODERATION = ("channel.chat.message_delete", "channel.chat.clear_user_messages", "channel.chat.clear")
STREAMS = ("stream.online", "stream.offline", "channel.update")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwitchSettings:
    """Who connects where, and what is heard there.

    Raises:
        EndpointRefused: `api_url` is not on this machine: tokens would go to a stranger.
    """

    client_id: str
    channel: str  # login of the channel
    token_file: Path
    client_secret: str = field(default="", repr=False)  # empty for a public client
    access_token: str = field(default="", repr=False)  # the first pair, until the token file holds a newer one
    refresh_token: str = field(default="", repr=False)
    bot: str = ""  # login of the bot's account; empty: whoever the token belongs to
    aliases: tuple[str, ...] = ()  # lower-case words that also address the bot
    request_seconds: float = 10.0
    notices: bool = True  # subscriptions, raids, announcements and other notices
    moderation: bool = True  # deletions, time-outs, clears: without them the bot remembers what was deleted
    api_url: str = ""  # a stand-in for Twitch on this machine (http://127.0.0.1:PORT); empty: Twitch itself

    def __post_init__(self) -> None:
        """Refuse stand-ins on other machines."""
        if self.api_url and (urlsplit(self.api_url).scheme != "http" or urlsplit(self.api_url).hostname not in _LOOPBACK):
            msg = f"{self.api_url} is no stand-in for Twitch on this machine (http://127.0.0.1:PORT); leave api_url empty"
            raise EndpointRefused(msg)

    @property
    def endpoints(self) -> tuple[str, str, str] | None:
        """The stand-in's URLs for Helix, for OAuth and for EventSub; None: Twitch's own."""
        if not self.api_url:
            return None
        address = self.api_url.rstrip("/")
        return f"{address}/helix/", f"{address}/", f"{address.replace('http', 'ws', 1)}/ws"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who the bot is, where it is, and the stream that is on air (None: offline)."""

    channel: Channel
    bot: BotIdentity
    stream: StreamEvent | None


def wanted_types(settings: TwitchSettings) -> tuple[set[str], set[str]]:
    """Return the types of event that the bot cannot do without, and those that it likes to hear."""
    required = {CHAT, *(MODERATION if settings.moderation else ())}
    return required, {*((NOTICES,) if settings.notices else ()), *STREAMS}
