"""A Twitch on this machine: OAuth, the Helix calls the bot makes, and EventSub over a real websocket. Scripted by its tests."""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Self

from aiohttp import WSMsgType, web
from fakes import twitch_payloads as payloads
from fakes.issued import issue
from fakes.twitch_faults import Faults
from fakes.twitch_oauth import FakeOAuth, Grant, bearer, refused
from fakes.twitch_payloads import Json

from memory import Viewer

WORDS_LIMIT = 500
WAIT_SECONDS = 10.0


class _Socket:
    """One EventSub session."""

    def __init__(self, number: int, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.id = f"session-{number}"
        self.socket = socket
        self.transport = transport


class FakeTwitch:
    """`async with FakeTwitch() as fake`: `fake.url` serves, `fake.chat(…)` speaks, `fake.posts` holds what was posted."""

    def __init__(self) -> None:
        self.bot = Viewer(id="900", login="ricordo_bot", name="Ricordo_Bot")
        self.channel = Viewer(id="100", login="casa", name="Casa")
        self.people: dict[str, Viewer] = {}
        self.stream: Json | None = None
        self.title, self.category = "", ""  # of the channel
        self.posts: list[Json] = []
        self.delivered: list[str] = []  # ids of the messages that somebody was there to hear
        self.post_ids: list[str] = []  # of those that were taken
        self.subscriptions: dict[str, Json] = {}
        self.forbidden: dict[str, int] = {}  # subscription type -> HTTP status
        self.cut_subscriptions = False  # the connection breaks while a subscription is asked for
        self.welcomes = True  # whether a new websocket is greeted
        self.faults: deque[Json | int] = deque()  # what the next posts meet: a status, or the body's fields
        self.silent_post = asyncio.Event()  # while set, a post is taken and never answered
        self.oauth = FakeOAuth(self.bot)
        self.trouble = Faults()
        self.moderated: set[str] = set()  # ids of the channels whose moderator the bot is
        self._sockets: list[_Socket] = []
        self._number = 0
        self.sessions_begun = 0
        self.keepalive = 5.0  # seconds between two words that say a session lives; twice as often as it promises
        self.kept_alive = 0
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.patience = WAIT_SECONDS  # of `until`; a process needs more than a part of one

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self.trouble.middleware()])
        app.add_routes(
            [
                *self.oauth.routes(),
                web.get("/helix/users", self._users),
                web.get("/helix/streams", self._streams),
                web.get("/helix/channels", self._channels),
                web.get("/helix/moderation/channels", self._moderated),
                web.get("/helix/eventsub/subscriptions", self._listed),
                web.post("/helix/eventsub/subscriptions", self._subscribe),
                web.post("/helix/chat/messages", self._post),
                web.get("/ws", self._websocket),
            ]
        )
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for socket in self._sockets:
            await socket.socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def person(self, login: str) -> Viewer:
        """The same person for the same login."""
        return self.people.setdefault(login, Viewer(id=str(1000 + len(self.people)), login=login, name=login.capitalize()))

    async def chat(
        self,
        login: str,
        text: str,
        *,
        badges: tuple[str, ...] = (),
        message_id: str = "",
        without: tuple[str, ...] = (),
        **more: Any,  # noqa: ANN401 - any key of the payload
    ) -> str:
        """Somebody writes; returns the message's id. `without` names keys that the payload lacks."""
        message_id = message_id or self._id("message")
        event = payloads.chat_message(
            self.channel, self.person(login), text, message_id=message_id, badges=badges,
            fragments=more.pop("fragments", ()), more=more,
        )  # fmt: skip
        heard = await self.notify("channel.chat.message", {key: value for key, value in event.items() if key not in without})
        if heard and not without:
            self.delivered.append(message_id)
        return message_id

    async def notice(self, login: str, kind: str, *, text: str = "", details: Json | None = None) -> None:
        event = payloads.chat_notification(
            self.channel, self.person(login), kind, message_id=self._id("notice"), text=text, details=details
        )
        await self.notify("channel.chat.notification", event)

    async def delete(self, login: str, message_id: str) -> None:
        event = {
            **payloads.user(self.channel, "broadcaster"),
            **payloads.user(self.person(login), "target"),
            "message_id": message_id,
        }
        await self.notify("channel.chat.message_delete", event)

    async def time_out(self, login: str) -> None:
        event = {**payloads.user(self.channel, "broadcaster"), **payloads.user(self.person(login), "target")}
        await self.notify("channel.chat.clear_user_messages", event)

    async def clear(self) -> None:
        await self.notify("channel.chat.clear", payloads.user(self.channel, "broadcaster"))

    async def retitle(self, title: str, category: str) -> None:
        """The streamer changes what the channel is about."""
        self.title, self.category = title, category
        event = {
            **payloads.user(self.channel, "broadcaster"), "title": title, "language": "it", "category_id": "1",
            "category_name": category, "content_classification_labels": [],
        }  # fmt: skip
        await self.notify("channel.update", event)

    async def go_online(self, stream_id: str) -> None:
        started = payloads.timestamp(datetime.now(UTC))
        event = {**payloads.user(self.channel, "broadcaster"), "id": stream_id, "type": "live", "started_at": started}
        await self.notify("stream.online", event)

    async def go_offline(self, stream_id: str) -> None:
        await self.notify("stream.offline", {**payloads.user(self.channel, "broadcaster"), "id": stream_id})

    async def notify(self, kind: str, event: Json) -> bool:
        """Send an event to every session that subscribed to it; return whether there was one: nothing is sent later."""
        heard = False
        for subscription in list(self.subscriptions.values()):
            if subscription["type"] == kind:
                metadata = self._metadata("notification") | {"subscription_type": kind, "subscription_version": "1"}
                told = {"metadata": metadata, "payload": {"subscription": subscription, "event": event}}
                heard |= await self._send(subscription["transport"]["session_id"], told)
        return heard

    async def revoke(self, kind: str) -> None:
        """Take a subscription away, as Twitch does when an authorisation ends."""
        for key, subscription in list(self.subscriptions.items()):
            if subscription["type"] == kind:
                del self.subscriptions[key]
                revoked = {**subscription, "status": "authorization_revoked"}
                await self._send(
                    subscription["transport"]["session_id"],
                    {"metadata": self._metadata("revocation"), "payload": {"subscription": revoked}},
                )

    async def hang_up(self, code: int) -> None:
        """Close every session with this code: 4003 is the one after which TwitchIO stays deaf."""
        for socket in list(self._sockets):
            await socket.socket.close(code=code)

    def break_off(self) -> None:
        """Cut every session without a word."""
        for socket in self._sockets:
            if socket.transport is not None:
                socket.transport.abort()

    async def move(self) -> None:
        """Ask every session to reconnect: its subscriptions go along, and nothing may be lost."""
        for socket in list(self._sockets):
            session = self._session(
                socket, status="reconnecting", reconnect_url=f"ws://127.0.0.1:{self.port}/ws?moved={socket.id}"
            )
            await self._send(socket.id, {"metadata": self._metadata("session_reconnect"), "payload": {"session": session}})

    async def posted(self, count: int) -> list[str]:
        """Wait until so many lines were posted; return their texts."""
        await self.until(lambda: len(self.posts) >= count)
        return [post["message"] for post in self.posts]

    async def until(self, holds: Any) -> None:  # noqa: ANN401 - any predicate
        """Wait until a change of this fake makes `holds()` true."""
        async with asyncio.timeout(self.patience), self._changed:
            await self._changed.wait_for(holds)

    async def reached(self, holds: Callable[[], bool], *, seconds: float = 60) -> None:
        """Wait until `holds()` is true, also where no change of this fake tells of it."""
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - what is waited for lies in many objects
                await asyncio.sleep(0.01)

    def heard_types(self) -> set[str]:
        return {subscription["type"] for subscription in self.subscriptions.values()}

    async def _note_change(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _metadata(self, kind: str) -> Json:
        return {
            "message_id": self._id("delivery"),
            "message_type": kind,
            "message_timestamp": payloads.timestamp(datetime.now(UTC)),
        }

    async def _send(self, session_id: str, message: Json) -> bool:
        for socket in self._sockets:
            if socket.id == session_id and not socket.socket.closed:
                await socket.socket.send_str(json.dumps(message))
                return True
        return False

    @property
    def access(self) -> str:
        """The bot's access token; setting it is the death of the former one."""
        return self.oauth.first.access

    @access.setter
    def access(self, token: str) -> None:
        self.oauth.first.access = issue(token)

    def also_valid(self, token: str) -> None:
        """Let the bot's account have a second pair of tokens."""
        self.oauth.grants.append(Grant(user=self.bot, access=issue(token), refresh=issue(f"refresh of {token}")))

    def _user(self, request: web.Request) -> Grant | None:
        if request.headers.get("Client-Id") != self.oauth.client_id:
            return None
        return self.oauth.grant_of(bearer(request))

    async def _users(self, request: web.Request) -> web.Response:
        grant = self._user(request)
        if grant is None:
            return refused(401, "Invalid OAuth token")
        asked = {*request.query.getall("id", []), *request.query.getall("login", [])} or {grant.user.id}
        found = [
            {
                "id": known.id,
                "login": known.login,
                "display_name": known.name,
                "type": "",
                "broadcaster_type": "",
                "description": "",
                "profile_image_url": "",
                "offline_image_url": "",
                "view_count": 0,
                "created_at": "2020-01-01T00:00:00Z",
            }
            for known in (self.bot, self.channel, *self.people.values())
            if known.id in asked or known.login in asked
        ]
        return web.json_response({"data": found})

    async def _streams(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [self.stream] if self.stream else [], "pagination": {}})

    async def _channels(self, request: web.Request) -> web.Response:
        if self._user(request) is None:
            return refused(401, "Invalid OAuth token")
        told = {
            "broadcaster_id": self.channel.id, "broadcaster_login": self.channel.login, "broadcaster_name": self.channel.name,
            "broadcaster_language": "it", "game_id": "1", "game_name": self.category, "title": self.title, "delay": 0,
            "tags": [], "content_classification_labels": [], "is_branded_content": False,
        }  # fmt: skip
        return web.json_response({"data": [told]})

    async def _moderated(self, request: web.Request) -> web.Response:
        grant = self._user(request)
        if grant is None or "user:read:moderated_channels" not in grant.scopes:
            return refused(401, "Missing scope: user:read:moderated_channels")
        known = [{"broadcaster_id": id_, "broadcaster_login": id_, "broadcaster_name": id_} for id_ in sorted(self.moderated)]
        return web.json_response({"data": known, "pagination": {}})

    async def _listed(self, request: web.Request) -> web.Response:
        if self._user(request) is None:
            return refused(401, "Invalid OAuth token")
        known = list(self.subscriptions.values())
        body = {"data": known, "total": len(known), "total_cost": 0, "max_total_cost": 10, "pagination": {}}
        return web.json_response(body)

    def lose(self, kind: str) -> None:
        """Drop a subscription without a word: nothing is delivered any more, and only a list of them shows it."""
        self.subscriptions = {key: held for key, held in self.subscriptions.items() if held["type"] != kind}

    async def _subscribe(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.cut_subscriptions and request.transport is not None:
            request.transport.abort()
        status = self.forbidden.get(body["type"])
        if self._user(request) is None:
            return refused(401, "Invalid OAuth token")
        if status is not None:
            return refused(status, "subscription missing proper authorization")
        if not any(socket.id == body["transport"]["session_id"] for socket in self._sockets if not socket.socket.closed):
            return refused(400, "websocket transport session does not exist")
        subscription = {
            **body,
            "id": self._id("subscription"),
            "status": "enabled",
            "cost": 0,
            "created_at": "2026-01-01T00:00:00Z",
        }
        self.subscriptions[subscription["id"]] = subscription
        await self._note_change()
        return web.json_response({"data": [subscription], "total": 1, "total_cost": 0, "max_total_cost": 10}, status=202)

    async def _post(self, request: web.Request) -> web.Response:
        body = await request.json()
        as_app = bearer(request) == "app"
        if as_app and not self.oauth.lets_app_write(self.channel):
            return refused(403, "The application may not write there")
        if not as_app and self._user(request) is None:
            return refused(401, "Invalid OAuth token")
        if not as_app and "for_source_only" in body:
            return refused(400, "for_source_only takes an app token")
        if len(body["message"]) > WORDS_LIMIT:
            return refused(422, "The message is too long")
        fault = self.faults.popleft() if self.faults else {}
        if isinstance(fault, int):
            self.posts.append({**body, "fault": fault})
            await self._note_change()
            return refused(fault, "fault")
        self.posts.append(body)
        await self._note_change()
        if self.silent_post.is_set():
            await asyncio.sleep(WAIT_SECONDS)
        answer = {"message_id": self._id("post"), "is_sent": True, "drop_reason": None, **fault}
        self.post_ids.append(answer["message_id"])
        return web.json_response({"data": [answer]})

    @staticmethod
    def _session(session: _Socket, *, status: str = "connected", reconnect_url: str | None = None) -> Json:
        return {
            "id": session.id,
            "status": status,
            "keepalive_timeout_seconds": 10,
            "reconnect_url": reconnect_url,
            "connected_at": payloads.timestamp(datetime.now(UTC)),
        }

    async def _keep_alive(self, session: _Socket) -> None:
        while self.welcomes:
            await asyncio.sleep(self.keepalive)
            with contextlib.suppress(ConnectionError):  # whoever reads the socket notices
                await self._send(session.id, {"metadata": self._metadata("session_keepalive"), "payload": {}})
            self.kept_alive += 1
            await self._note_change()

    async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._number += 1
        session = _Socket(self._number, socket, request.transport)
        self._sockets.append(session)
        self.sessions_begun += 1
        for held in self.subscriptions.values():
            if held["transport"]["session_id"] == request.query.get("moved"):
                held["transport"]["session_id"] = session.id
        if self.welcomes:
            welcome = {"session": self._session(session)}
            await socket.send_str(json.dumps({"metadata": self._metadata("session_welcome"), "payload": welcome}))
        keeping = asyncio.create_task(self._keep_alive(session), name="keepalive")
        async for message in socket:
            if message.type == WSMsgType.TEXT:  # Twitch allows no words from clients
                await socket.close(code=4001)
        keeping.cancel()
        self._sockets.remove(session)
        self.subscriptions = {
            key: held for key, held in self.subscriptions.items() if held["transport"]["session_id"] != session.id
        }
        await self._note_change()
        return socket
