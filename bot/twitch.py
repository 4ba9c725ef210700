"""The connection through TwitchIO: what is heard is handed on, our lines become posts, and its silences are found."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Self

import aiohttp
import structlog
import twitchio
from twitchio import eventsub
from twitchio.eventsub import websockets
from twitchio.ext import commands
from twitchio.http import Route

from bot.account import Account, TwitchSettings
from bot.live_errors import LiveError, TwitchRefused
from bot.on_air import OnAir
from bot.scopes import AS_BOT
from bot.tokens import KeptPair, load_tokens
from bot.twitch_errors import ENDED, NO_ANSWER, ended, our_errors, passes
from bot.twitch_events import message_of, notice_of, on_air_of, update_of
from bot.twitch_voice import TwitchVoice
from memory import BotIdentity, Channel, Clock, Deletion, Event, StreamEvent

log = structlog.get_logger(__name__)
Take = Callable[[Event], None]
_UNAUTHORISED, _FORBIDDEN = 401, 403
_SESSION_GONE = frozenset({400})  # the socket that it was asked for is being replaced
_Kind = type[eventsub.SubscriptionPayload]
_MODERATION: tuple[_Kind, ...] = (
    eventsub.ChatMessageDeleteSubscription,
    eventsub.ChatClearUserMessagesSubscription,
    eventsub.ChatClearSubscription,
)
_STREAMS: tuple[_Kind, ...] = (
    eventsub.ChannelUpdateSubscription,
    eventsub.StreamOnlineSubscription,
    eventsub.StreamOfflineSubscription,
)


def _required(settings: TwitchSettings) -> tuple[_Kind, ...]:
    return (eventsub.ChatMessageSubscription, *(_MODERATION if settings.moderation else ()))


def _optional(settings: TwitchSettings) -> tuple[_Kind, ...]:
    return (*((eventsub.ChatNotificationSubscription,) if settings.notices else ()), *_STREAMS)


@contextmanager
def _endpoints(settings: TwitchSettings) -> Iterator[None]:
    """Send TwitchIO to the stand-in, where one is configured, and back to Twitch afterwards. This is global to the process."""
    before = Route.BASE, Route.ID_BASE, websockets.WSS
    Route.BASE, Route.ID_BASE, websockets.WSS = settings.endpoints or before
    try:
        yield
    finally:
        Route.BASE, Route.ID_BASE, websockets.WSS = before


class TwitchConnection:
    """One bot account in one channel: `async with`, then `log_in`, `listen`, and `check` now and then."""

    def __init__(self, settings: TwitchSettings, clock: Clock) -> None:
        """Take who connects; nothing happens yet."""
        logging.getLogger("twitchio").setLevel(logging.ERROR)  # below, it logs notifications and URLs with secrets
        self._settings = settings
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._client: _Client | None = None
        self._channel_id = ""
        self._bot_id = ""
        self._refused: set[str] = set()
        self._required, self._optional = _required(settings), _optional(settings)
        self._undo = ExitStack()

    async def __aenter__(self) -> Self:
        """Return the connection itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave."""
        await self.close()

    async def log_in(self) -> Account:
        """Check the tokens (refreshing them where needed) and find out who is who.

        Raises:
            TwitchRefused: the tokens or the channel's name are no good.
            TwitchUnreachable: no answer.
            TokenFileUnsafe, TokenFileBroken: the token file must be put right first.
        """
        self._undo.enter_context(_endpoints(self._settings))
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._settings.request_seconds))
        self._client = _Client(self._settings, self._session, self._clock)
        with our_errors("log in"):
            self._bot_id = await self._client.log_in_as_bot()
            return await self._look_up(self._client)

    async def listen(self, take: Take) -> None:
        """Subscribe to the chat.

        Raises:
            TwitchRefused: Twitch refuses an event that the bot cannot do without; optional ones are only logged.
            TwitchUnreachable: no answer.
        """
        client = self._connected()
        client.take = take
        for kind in self._required:
            with our_errors(f"subscribe to {kind.type}"):
                await self._subscribe(client, kind)
        for kind in self._optional:
            await self._try_subscribing(client, kind)

    async def check(self) -> list[str]:
        """Subscribe again to whatever is not heard any more; return what that was.

        Raises:
            TwitchRefused, TwitchUnreachable: not now.
        """
        client = self._connected()
        client.keep_tokens()
        if not client.has_token():
            raise TwitchRefused(ENDED)
        with our_errors("check the token"):
            await client.revive_validation()
        await client.discard_dead_sockets()
        heard = (self.living() & await self._listed(client)) | self._refused
        missing = [kind for kind in (*self._required, *self._optional) if kind.type not in heard]
        failed: LiveError | None = None
        for kind in missing:  # one that fails keeps no other from being heard
            try:
                with our_errors(f"subscribe again to {kind.type}", passing=_SESSION_GONE):
                    await self._subscribe(client, kind)
            except LiveError as error:
                failed = failed or error
        await client.look_for_stream()
        if failed is not None:
            raise failed
        return [kind.type for kind in missing]

    async def _listed(self, client: "_Client") -> set[str]:
        """Return what Twitch itself says it delivers to the living sockets; where it does not say, what is known here."""
        try:
            known = await client.fetch_eventsub_subscriptions(token_for=self._bot_id)
            sessions = client.session_ids()
            return {
                held.type
                async for held in known.subscriptions
                if held.status == "enabled" and getattr(held.transport, "session_id", None) in sessions
            }
        except twitchio.HTTPException as error:
            if ended(error):
                raise TwitchRefused(ENDED) from None
            log.warning("subscriptions_not_listed", status=error.status)
        except (aiohttp.ClientError, TimeoutError, twitchio.TwitchioException) as error:
            log.warning("subscriptions_not_listed", error=type(error).__name__)
        return self.living()

    def living(self) -> set[str]:
        """Return the types of event that are subscribed to, as far as is known here."""
        return {subscription.type.value for subscription in self._connected().websocket_subscriptions().values()}

    async def close(self) -> None:
        """Leave; closing twice is fine."""
        if self._client is not None:
            self._client.keep_tokens()
            await self._client.close(save_tokens=False)
        if self._session is not None:
            await self._session.close()
        self._undo.close()

    def voice(self) -> TwitchVoice:
        """Return the way to post into the channel; `log_in` first."""
        client = self._connected()
        channel, as_app = client.create_partialuser(self._channel_id), client.may_post_as_app()
        return TwitchVoice(channel, self._bot_id, has_token=client.has_token, as_app=as_app)

    def _connected(self) -> "_Client":
        if self._client is None:
            msg = "not logged in: call log_in first"
            raise LiveError(msg)
        return self._client

    async def _look_up(self, client: "_Client") -> Account:
        users = await client.fetch_users(ids=[self._bot_id], logins=[self._settings.channel.lower()], token_for=self._bot_id)
        bot = next((user for user in users if user.id == self._bot_id), None)
        home = next((user for user in users if (user.name or "").lower() == self._settings.channel.lower()), None)
        if bot is not None and self._settings.bot not in {"", (bot.name or "").lower()}:
            msg = (
                f"the token belongs to {bot.name}, the configuration names {self._settings.bot} as the bot; run `ricordo login`"
            )
            raise TwitchRefused(msg)
        if bot is None or home is None:
            msg = f"Twitch knows no channel called {self._settings.channel}; check the channel's name in the configuration"
            raise TwitchRefused(msg)
        self._channel_id = home.id
        channel = client.channel = Channel(id=home.id, login=home.name or home.id, name=home.display_name or home.id)
        streams = await client.fetch_streams(user_ids=[home.id], token_for=self._bot_id)
        on_air = on_air_of(streams[0], channel) if streams else None
        if on_air is not None:
            client.on_air.began(on_air.stream_id)
        await client.learn_title(home.id)
        return Account(
            channel=channel,
            bot=BotIdentity(
                id=bot.id, login=bot.name or bot.id, name=bot.display_name or bot.id, aliases=self._settings.aliases
            ),
            stream=on_air,
        )  # fmt: skip

    async def _subscribe(self, client: "_Client", kind: _Kind) -> None:
        if kind in _STREAMS:
            wanted = kind(broadcaster_user_id=self._channel_id)
        else:
            wanted = kind(broadcaster_user_id=self._channel_id, user_id=self._bot_id)
        await client.subscribe_websocket(wanted, as_bot=False, token_for=self._bot_id)

    async def _try_subscribing(self, client: "_Client", kind: _Kind) -> None:
        """Subscribe where Twitch lets us; what it forbids is not asked for again, what merely failed the watchdog repeats."""
        try:
            await self._subscribe(client, kind)
        except twitchio.HTTPException as error:
            if _UNAUTHORISED <= error.status <= _FORBIDDEN:
                self._refused.add(kind.type)
            log.warning("subscription_refused", type=kind.type, status=error.status)
        except (aiohttp.ClientError, TimeoutError, twitchio.TwitchioException) as error:
            log.warning("subscription_failed", type=kind.type, error=type(error).__name__)


class _Client(commands.Bot):
    """TwitchIO's bot with nothing of its own: every handler hands its payload on and returns, so that nothing overtakes."""

    def __init__(self, settings: TwitchSettings, session: aiohttp.ClientSession, clock: Clock) -> None:
        super().__init__(
            client_id=settings.client_id, client_secret=settings.client_secret or None, prefix="\0", session=session
        )
        self.take: Take = lambda _: None  # until `listen`
        self._ours = settings
        self._now = clock.now
        self._kept = KeptPair(settings.token_file, access=settings.access_token, refresh=settings.refresh_token)
        self.bot_token = ""  # whose token is the bot's
        self._scopes: frozenset[str] = frozenset()
        self.channel: Channel | None = None
        self.on_air = OnAir(clock)
        self.title: str | None = None  # of the channel: a stream that begins has it, and Twitch does not say so then
        self.category: str | None = None

    async def log_in_as_bot(self) -> str:
        """Return the bot's user id."""
        pairs = self._kept.candidates()
        if not pairs:
            msg = f"the bot has no token: neither {self._ours.token_file} nor the environment holds one; run `ricordo login`"
            raise TwitchRefused(msg)
        token = None if self._ours.client_secret else pairs[0].access
        await self.login(token=token, load_tokens=False, save_tokens=False)
        for number, pair in enumerate(pairs, start=1):
            try:
                valid = await self.add_token(pair.access, pair.refresh)
            except twitchio.InvalidTokenException as error:
                if number == len(pairs) or passes(error.status):
                    raise
                continue
            if valid.user_id is not None:
                self.bot_token, self._scopes = valid.user_id, frozenset(valid.scopes or ())
                self.keep_tokens()
                return valid.user_id
        msg = "the bot's token belongs to no user; make a user token for the bot's account"
        raise TwitchRefused(msg)

    async def learn_title(self, channel_id: str) -> None:
        """Ask what the channel is about. Where Twitch does not say, its next update will."""
        try:
            channel = await self.fetch_channel(channel_id, token_for=self.bot_token)
        except NO_ANSWER as error:
            log.warning("title_not_known", error=type(error).__name__)
            return
        if channel is not None:
            self.title, self.category = channel.title or None, channel.game_name or None

    async def look_for_stream(self) -> None:
        """Tell of a stream that began or ended while nobody heard it: events of a broken connection are never sent again."""
        if self.channel is None:
            return
        try:
            streams = await self.fetch_streams(user_ids=[self.channel.id], token_for=self.bot_token)
        except NO_ANSWER as error:
            log.warning("stream_not_known", error=type(error).__name__)
            return
        missed = self.on_air.look(streams[0].id if streams else None)
        if missed is None:
            return
        log.warning("stream_event_was_lost", stream_event=missed.event, stream_id=missed.stream_id)
        self.take(on_air_of(streams[0], self.channel) if streams else missed)

    def has_token(self) -> bool:
        """Return whether the bot's token still lives: TwitchIO drops one that cannot be refreshed, without a word."""
        return self.bot_token in self.tokens

    def may_post_as_app(self) -> bool:
        """Return whether both accounts allow the application to write as the bot, and it has the secret which that takes."""
        known = load_tokens(self._ours.token_file)
        return AS_BOT in self._scopes and "broadcaster" in known and bool(self._ours.client_secret)

    def keep_tokens(self) -> None:
        """Write the bot's tokens where they have changed; what cannot be written is tried again at the next call."""
        if (held := self.tokens.get(self.bot_token)) is None:
            return
        try:
            if self._kept.keep(held["token"], held["refresh"]):
                log.info("tokens_saved", role="bot")
        except (OSError, LiveError) as error:
            advice = "mend the folder: a restart would need `ricordo login`"
            log.error("tokens_not_saved", error=type(error).__name__, degraded=advice)  # noqa: TRY400 - its trace says no more

    async def discard_dead_sockets(self) -> None:
        """Forget sockets that are closed for good: TwitchIO still counts their subscriptions as living."""
        for sockets in self._websockets.values():
            for key, socket in list(sockets.items()):
                if not socket.connected:
                    for task in list(socket._connection_tasks):  # noqa: SLF001 - no public way to end a stuck reconnect
                        task.cancel()
                    await socket.close()
                    sockets.pop(key, None)

    async def revive_validation(self) -> None:
        """Start TwitchIO's hourly look at the token again where it has died: a broken connection is enough for that."""
        task = self._http._validate_task  # noqa: SLF001 - TwitchIO starts it once, and never looks after it
        if task is None or not task.done():
            return
        reason = "cancelled" if task.cancelled() else type(task.exception()).__name__
        log.warning("token_validation_revived", reason=reason)
        self._http._validate_task = None  # noqa: SLF001 - the same
        held = self.tokens[self.bot_token]
        await self.add_token(held["token"], held["refresh"])
        self.keep_tokens()

    def session_ids(self) -> set[str | None]:
        """Return the ids of the sockets that are open."""
        return {socket.session_id for sockets in self._websockets.values() for socket in sockets.values() if socket.connected}

    async def event_error(self, payload: twitchio.EventErrorPayload) -> None:
        log.error("event_failed", error=type(payload.error).__name__, listener=payload.listener.__name__)

    async def event_token_refreshed(self, _: twitchio.TokenRefreshedPayload) -> None:
        self.keep_tokens()

    async def event_message(self, payload: twitchio.ChatMessage) -> None:
        self.take(message_of(payload, payload.timestamp or self._now()))

    async def event_chat_notification(self, payload: twitchio.ChatNotification) -> None:
        if not payload.notice_type.startswith("shared_chat_"):
            self.take(notice_of(payload, payload.timestamp or self._now()))

    async def event_message_delete(self, payload: twitchio.ChatMessageDelete) -> None:
        at = payload.timestamp or self._now()
        self.take(Deletion(at=at, scope="message", message_id=payload.message_id, user_id=payload.user.id))

    async def event_chat_clear_user(self, payload: twitchio.ChannelChatClearUserMessages) -> None:
        self.take(Deletion(at=payload.timestamp or self._now(), scope="user", user_id=payload.user.id))

    async def event_chat_clear(self, payload: twitchio.ChannelChatClear) -> None:
        self.take(Deletion(at=payload.timestamp or self._now(), scope="chat"))

    async def event_channel_update(self, payload: twitchio.ChannelUpdate) -> None:
        self.title, self.category = payload.title or None, payload.category_name or None
        self.take(update_of(payload, payload.timestamp or self._now()))

    async def event_stream_online(self, payload: twitchio.StreamOnline) -> None:
        if payload.type == "live":
            self.on_air.began(payload.id)
            begun = StreamEvent(at=payload.started_at, event="online", stream_id=payload.id)
            self.take(replace(begun, title=self.title, category=self.category))

    async def event_stream_offline(self, payload: twitchio.StreamOffline) -> None:
        self.on_air.over()
        self.take(StreamEvent(at=payload.timestamp or self._now(), event="offline", stream_id=payload.id))
