"""The accounts' side of a Twitch on this machine: device codes, authorisation codes, refresh, validate, revoke."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from fakes.issued import issue

from memory import Viewer

Parameters = dict[str, str]
BOT_SCOPES = ("user:read:chat", "user:write:chat", "user:bot")
LIFE = 14_000
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(slots=True, kw_only=True)
class Grant:
    """One authorisation of one account, and the pair of tokens that is its own right now."""

    user: Viewer
    access: str
    refresh: str
    scopes: tuple[str, ...] = BOT_SCOPES
    expires_in: int = LIFE


@dataclass(slots=True, kw_only=True)
class Device:
    """A device code: `user` is who approved it."""

    user_code: str
    scopes: tuple[str, ...]
    user: Viewer | None = None
    denied: bool = False
    polls: int = 0


@dataclass(slots=True, kw_only=True)
class Code:
    """An authorisation code, good for one exchange."""

    user: Viewer
    redirect: str
    scopes: tuple[str, ...]


@dataclass
class FakeOAuth:
    """What was granted to whom. Refresh tokens are good for one use, and every token is told to the register of secrets."""

    bot: Viewer
    client_id: str = "client"
    client_secret: str = "client-secret"
    redirects: set[str] = field(default_factory=set)  # registered addresses; empty: any
    browser: Viewer | None = None  # who is signed in where an authorisation is asked for; None: who asks is denied
    grants: list[Grant] = field(default_factory=list)
    devices: dict[str, Device] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    asked: list[Parameters] = field(default_factory=list)  # what reached the authorisation page
    interval: float = 1
    device_life: float = 1800
    refreshes: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        issue(self.client_secret)
        self.grants.append(Grant(user=self.bot, access=issue("access-1"), refresh=issue("refresh-1")))

    def lets_app_write(self, channel: Viewer) -> bool:
        """Return whether the bot and the broadcaster both granted what the application's own token takes."""
        held = {(grant.user.id, scope) for grant in self.grants for scope in grant.scopes}
        return {(self.bot.id, "user:bot"), (channel.id, "channel:bot")} <= held

    @property
    def first(self) -> Grant:
        """The bot's grant that stands from the beginning."""
        return next(grant for grant in self.grants if grant.user == self.bot)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/oauth2/validate", self._validate),
            web.get("/oauth2/authorize", self._authorize),
            web.post("/oauth2/token", self._token),
            web.post("/oauth2/device", self._device),
            web.post("/oauth2/revoke", self._revoke),
        ]

    def approve(self, user: Viewer, *, scopes: tuple[str, ...] | None = None) -> None:
        """Somebody enters the newest code and says yes, to these scopes only where some are given."""
        device = list(self.devices.values())[-1]
        device.user, device.scopes = user, device.scopes if scopes is None else scopes

    def deny(self) -> None:
        """Somebody enters the newest code and says no."""
        list(self.devices.values())[-1].denied = True

    def grant_of(self, access: str) -> Grant | None:
        return next((grant for grant in self.grants if grant.access == access), None)

    def grant(self, user: Viewer, scopes: tuple[str, ...]) -> Grant:
        self.number += 1
        made = Grant(
            user=user, access=issue(f"access-g{self.number}"), refresh=issue(f"refresh-g{self.number}"), scopes=scopes
        )  # fmt: skip
        self.grants.append(made)
        return made

    async def _validate(self, request: web.Request) -> web.Response:
        token = bearer(request)
        if token == "app":
            return web.json_response({"client_id": self.client_id, "scopes": [], "expires_in": 5_000_000})
        grant = self.grant_of(token)
        if grant is None:
            return refused(401, "invalid access token")
        return web.json_response(
            {
                "client_id": self.client_id,
                "login": grant.user.login,
                "user_id": grant.user.id,
                "scopes": list(grant.scopes),
                "expires_in": grant.expires_in,
            }
        )

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.asked.append(asked)
        redirect = asked.get("redirect_uri", "")
        if asked.get("client_id") != self.client_id or (self.redirects and redirect not in self.redirects):
            return refused(400, "Parameter redirect_uri does not match registered URI")
        answer = {"state": asked.get("state", "")}
        if self.browser is None:
            answer |= {"error": "access_denied", "error_description": "The user denied you access"}
        else:
            self.number += 1
            code = issue(f"authorisation-code-{self.number}")
            self.codes[code] = Code(user=self.browser, redirect=redirect, scopes=tuple(asked.get("scope", "").split()))
            answer |= {"code": code, "scope": asked.get("scope", "")}
        return web.Response(status=302, headers={"Location": f"{redirect}?{urlencode(answer)}"})

    async def _device(self, request: web.Request) -> web.Response:
        asked = await parameters(request)
        if asked.get("client_id") != self.client_id:
            return refused(400, "invalid client")
        self.number += 1
        code, user_code = issue(f"device-code-{self.number}"), f"ABCD{self.number:04}"
        self.devices[code] = Device(user_code=user_code, scopes=tuple(asked.get("scopes", "").split()))
        return web.json_response(
            {
                "device_code": code,
                "expires_in": self.device_life,
                "interval": self.interval,
                "user_code": user_code,
                "verification_uri": f"https://www.twitch.tv/activate?public=true&device-code={user_code}",
            }
        )

    async def _token(self, request: web.Request) -> web.Response:
        asked = await parameters(request)
        if asked.get("client_id", self.client_id) != self.client_id:
            return refused(400, "invalid client")
        if asked.get("client_secret", self.client_secret) != self.client_secret:
            return refused(403, "invalid client secret")
        kinds = {"refresh_token": self._refreshed, "authorization_code": self._exchanged, _DEVICE_GRANT: self._polled}
        if asked.get("grant_type") == "client_credentials":
            return web.json_response({"access_token": "app", "expires_in": 5_000_000, "token_type": "bearer"})
        answer = kinds.get(asked.get("grant_type", ""))
        return answer(asked) if answer else refused(400, "invalid grant type")

    def _refreshed(self, asked: Parameters) -> web.Response:
        grant = next((grant for grant in self.grants if grant.refresh == asked.get("refresh_token")), None)
        if grant is None:
            return refused(400, "Invalid refresh token")
        self.refreshes += 1
        grant.access, grant.refresh = issue(f"access-r{self.refreshes}"), issue(f"refresh-r{self.refreshes}")
        grant.expires_in = LIFE
        return _tokens(grant)

    def _exchanged(self, asked: Parameters) -> web.Response:
        if "client_secret" not in asked:
            return refused(400, "missing client secret")
        code = self.codes.pop(asked.get("code", ""), None)
        if code is None or code.redirect != asked.get("redirect_uri"):
            return refused(400, "Invalid authorization code")
        return _tokens(self.grant(code.user, code.scopes))

    def _polled(self, asked: Parameters) -> web.Response:
        code = asked.get("device_code", "")
        device = self.devices.get(code)
        if device is None:
            return refused(400, "invalid device code")
        device.polls += 1
        if device.denied:
            return refused(400, "access_denied")
        if device.user is None:
            return refused(400, "authorization_pending")
        del self.devices[code]
        return _tokens(self.grant(device.user, device.scopes))

    async def _revoke(self, request: web.Request) -> web.Response:
        token = (await parameters(request)).get("token", "")
        grant = self.grant_of(token)
        if grant is None:
            return refused(400, "Invalid token")
        self.revoked.append(token)
        self.grants.remove(grant)
        return web.Response()


async def parameters(request: web.Request) -> Parameters:
    """Return a call's parameters, from the query (TwitchIO) or from the form (we)."""
    form: Any = await request.post()
    return {**request.query, **{key: str(value) for key, value in form.items()}}


def bearer(request: web.Request) -> str:
    """Return the token of a call."""
    return request.headers.get("Authorization", "").split(" ")[-1]


def refused(status: int, message: str) -> web.Response:
    return web.json_response({"status": status, "message": message}, status=status)


def _tokens(grant: Grant) -> web.Response:
    return web.json_response(
        {
            "access_token": grant.access,
            "refresh_token": grant.refresh,
            "expires_in": grant.expires_in,
            "scope": list(grant.scopes),
            "token_type": "bearer",
        }
    )
