"""Twitch's accounts: codes, tokens, whose they are, and their end. Secrets travel in request bodies and in no message."""

from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp

from bot.account import TwitchSettings
from bot.live_errors import LoginFailed, TwitchRefused, TwitchUnreachable

TWITCH = ("https://api.twitch.tv/helix/", "https://id.twitch.tv/")
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_OK, _TOO_MANY, _SERVER = 200, 429, 500
_PENDING = {"authorization_pending", "slow_down"}
_DENIED = {"access_denied"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """What a person types on another page, and the code that we ask with meanwhile."""

    code: str = field(repr=False)
    user_code: str
    address: str
    interval_seconds: float
    lives_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What an account granted. Neither token shows when it is printed."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whose an access token is, what it may do, for how long, and what time it is at Twitch."""

    id: str
    login: str
    scopes: tuple[str, ...]
    expires_seconds: float
    client_id: str
    at: datetime | None


class TwitchAccounts:
    """The calls of a login, a logout and a check: `async with TwitchAccounts(settings)`.

    Each raises TwitchUnreachable where there is no answer, or one that promises to be another later.
    """

    def __init__(self, settings: TwitchSettings) -> None:
        """Take the client and where Twitch is; nothing is sent yet."""
        self._settings = settings
        self._helix, self._id = (settings.endpoints or TWITCH)[:2]
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the connection."""
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._settings.request_seconds))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def device_code(self, scopes: tuple[str, ...]) -> DeviceCode:
        """Begin a device code flow.

        Raises:
            TwitchRefused: the client id is none, or its application does not offer this flow.
        """
        status, body = await self._post("oauth2/device", {"scopes": " ".join(scopes)}, secret=False)
        _must_be_ok(status, "give a code")
        return DeviceCode(
            code=body["device_code"],
            user_code=body["user_code"],
            address=body["verification_uri"],
            interval_seconds=float(body.get("interval", 5)),
            lives_seconds=float(body.get("expires_in", 1800)),
        )

    async def poll(self, device: DeviceCode, scopes: tuple[str, ...]) -> Grant | None:
        """Return what was granted, None while nobody has answered.

        Raises:
            LoginFailed: the person said no, or the code has ended.
        """
        form = {"scopes": " ".join(scopes), "device_code": device.code, "grant_type": _DEVICE_GRANT}
        status, body = await self._post("oauth2/token", form, secret=False)
        if status == _OK:
            return _grant(body)
        said = str(body.get("message", "")).casefold()
        if said in _PENDING:
            return None
        if said in _DENIED:
            msg = "the request was denied on the Twitch page; run the login again to be asked anew"
            raise LoginFailed(msg, it="la richiesta è stata negata sulla pagina di Twitch; esegui di nuovo il login")
        msg = "the code has ended or was used already; run the login again for a new one"
        raise LoginFailed(msg, it="il codice è scaduto o è già stato usato; esegui di nuovo il login per averne uno nuovo")

    def page(self, redirect: str, scopes: tuple[str, ...], state: str) -> str:
        """Return the address of the page where an account says yes or no, and is then sent to `redirect`."""
        asked = {
            "client_id": self._settings.client_id,
            "redirect_uri": redirect,
            "response_type": "code",
            "scope": " ".join(scopes),
            "state": state,
            "force_verify": "true",
        }
        return f"{self._id}oauth2/authorize?{urlencode(asked)}"

    async def exchange(self, code: str, redirect: str) -> Grant:
        """Return what was granted with an authorisation code.

        Raises:
            TwitchRefused: the code, the secret or the redirect address is no good.
        """
        form = {"code": code, "grant_type": "authorization_code", "redirect_uri": redirect}
        status, body = await self._post("oauth2/token", form)
        _must_be_ok(status, "exchange the code")
        return _grant(body)

    async def refresh(self, token: str) -> Grant | None:
        """Return a new pair for a refresh token, which is used up by that; None where it has ended."""
        status, body = await self._post("oauth2/token", {"grant_type": "refresh_token", "refresh_token": token})
        return _grant(body) if status == _OK else None

    async def holder(self, access: str) -> Holder | None:
        """Return whose a token is, None where it has ended."""
        status, body, at = await self._get(f"{self._id}oauth2/validate", {}, f"OAuth {access}")
        if status != _OK:
            return None
        return Holder(
            id=str(body.get("user_id", "")),
            login=str(body.get("login", "")),
            scopes=tuple(body.get("scopes") or ()),
            expires_seconds=float(body.get("expires_in", 0)),
            client_id=str(body.get("client_id", "")),
            at=at,
        )

    async def revoke(self, access: str) -> bool:
        """End a token; False where it had ended before."""
        status, _ = await self._post("oauth2/revoke", {"token": access}, secret=False)
        return status == _OK

    async def helix(self, path: str, query: dict[str, str], access: str) -> list[dict[str, Any]]:
        """Return the records of one Helix call.

        Raises:
            TwitchRefused: the token may not ask this.
        """
        status, body, _ = await self._get(self._helix + path, query, f"Bearer {access}")
        _must_be_ok(status, f"tell {path}")
        return list(body.get("data") or ())

    async def _post(self, path: str, form: dict[str, str], *, secret: bool = True) -> tuple[int, dict[str, Any]]:
        form = {"client_id": self._settings.client_id, **form}
        if secret and self._settings.client_secret:
            form["client_secret"] = self._settings.client_secret
        status, body, _ = await self._call("POST", self._id + path, data=form)
        return status, body

    async def _get(self, url: str, query: dict[str, str], bearer: str) -> tuple[int, dict[str, Any], datetime | None]:
        headers = {"Authorization": bearer, "Client-Id": self._settings.client_id}
        return await self._call("GET", url, params=query, headers=headers)

    async def _call(self, method: str, url: str, **how: Any) -> tuple[int, dict[str, Any], datetime | None]:  # noqa: ANN401 - aiohttp's own
        if self._session is None:
            msg = "not connected: use `async with`"
            raise RuntimeError(msg)
        try:
            async with self._session.request(method, url, allow_redirects=False, **how) as answer:
                body = await answer.json(content_type=None) if answer.content_length != 0 else {}
                status, at = answer.status, _date(answer.headers.get("Date"))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            msg = f"Twitch did not answer ({type(error).__name__}); check the network and try again"
            told = f"Twitch non ha risposto ({type(error).__name__}); controlla la rete e riprova"
            raise TwitchUnreachable(msg, it=told) from None
        if status >= _SERVER or status == _TOO_MANY:
            msg = f"Twitch cannot answer now (HTTP {status}); try again later"
            raise TwitchUnreachable(msg, it=f"ora Twitch non può rispondere (HTTP {status}); riprova più tardi")
        return status, body if isinstance(body, dict) else {}, at


def _must_be_ok(status: int, doing: str) -> None:
    if status != _OK:
        raise TwitchRefused(
            f"Twitch refused to {doing} (HTTP {status}); check twitch.client_id, the client secret where one is configured, "
            "and the application's redirect addresses and client type at https://dev.twitch.tv/console/apps",
            it=f"Twitch ha rifiutato (HTTP {status}); controlla twitch.client_id, il segreto client se ce n'è uno, e gli "
            "indirizzi di reindirizzamento e il tipo di client dell'applicazione su https://dev.twitch.tv/console/apps",
        )


def _grant(body: dict[str, Any]) -> Grant:
    return Grant(access=str(body["access_token"]), refresh=str(body.get("refresh_token", "")))


def _date(text: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
