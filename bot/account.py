"""Who connects to Twitch, and as whom: the values around the connection."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bot.live_errors import EndpointRefused
from memory import BotIdentity, Channel, StreamEvent

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwitchSettings:
    """Who connects where. The three URLs are for a Twitch on this machine: tests and demonstrations.

    Raises:
        EndpointRefused: a URL is not on this machine: tokens would go to a stranger.
    """

    client_id: str
    channel: str  # login of the channel
    token_file: Path
    client_secret: str = field(default="", repr=False)  # empty for a public client
    access_token: str = field(default="", repr=False)  # the first pair, until the token file holds a newer one
    refresh_token: str = field(default="", repr=False)
    aliases: tuple[str, ...] = ()  # lower-case words that also address the bot
    request_seconds: float = 10.0
    helix_url: str | None = None  # with a slash at its end
    id_url: str | None = None  # with a slash at its end
    eventsub_url: str | None = None

    def __post_init__(self) -> None:
        """Refuse URLs on other machines."""
        for url in (self.helix_url, self.id_url, self.eventsub_url):
            if url is not None and urlsplit(url).hostname not in _LOOPBACK:
                msg = f"{url} is neither Twitch nor this machine; leave the Twitch URLs out of the configuration"
                raise EndpointRefused(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who the bot is, where it is, and the stream that is on air (None: offline)."""

    channel: Channel
    bot: BotIdentity
    stream: StreamEvent | None
