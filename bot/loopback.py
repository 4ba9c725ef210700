"""Where a browser is sent after an authorisation: a page on this machine, for one login, that believes only its own state."""

import asyncio
import hmac
import secrets
from typing import Self

import structlog
from aiohttp import web

from bot.live_errors import LoginFailed

log = structlog.get_logger(__name__)
_DONE = "Ricordo: fatto, puoi chiudere questa pagina. / Done, you can close this page."
_DENIED = "Ricordo: richiesta negata. / The request was denied."
_STRANGE = "Ricordo: questa risposta non appartiene a un accesso in corso. / This answer belongs to no login in progress."


class Loopback:
    """`async with Loopback(port)`: `redirect` and `state` go into the request, `code` waits for what comes back.

    It listens on 127.0.0.1 alone; port 0 takes a free one. Answers with another state are refused, and waiting goes on.
    """

    def __init__(self, port: int) -> None:
        """Choose a state that nobody can guess."""
        self.state = secrets.token_urlsafe(32)
        self._port = port
        self._answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            LoginFailed: another program has the port.
        """
        app = web.Application()
        app.router.add_get("/", self._answered)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except OSError:
            await self._runner.cleanup()
            msg = (
                f"port {self._port} of this machine is in use; set twitch.redirect_port to another one, "
                "and register that address for the application at https://dev.twitch.tv/console/apps"
            )
            told = (
                f"la porta {self._port} di questa macchina è occupata; imposta twitch.redirect_port su un'altra, e registra "
                "quell'indirizzo per l'applicazione su https://dev.twitch.tv/console/apps"
            )
            raise LoginFailed(msg, it=told) from None
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def redirect(self) -> str:
        """The address that must be registered for the application, to the letter."""
        return f"http://localhost:{self._port}"

    async def code(self, seconds: float) -> str:
        """Return the authorisation code that the browser brings.

        Raises:
            LoginFailed: the person said no, or nobody came within `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                code = await self._answer
        except TimeoutError:
            raise LoginFailed(
                f"nobody answered within {seconds:.0f} seconds; run the login again",
                it=f"nessuno ha risposto entro {seconds:.0f} secondi; esegui di nuovo il login",
            ) from None
        if code is None:
            msg = "the request was denied on the Twitch page; run the login again to be asked anew"
            raise LoginFailed(msg, it="la richiesta è stata negata sulla pagina di Twitch; esegui di nuovo il login")
        return code

    async def _answered(self, request: web.Request) -> web.Response:
        ours = request.host in {f"localhost:{self._port}", f"127.0.0.1:{self._port}"}
        if not ours or not hmac.compare_digest(request.query.get("state", "").encode(), self.state.encode()):
            log.warning("login_answer_refused", reason="another state" if ours else "another host")
            return _page(_STRANGE, 400)
        code = request.query.get("code")
        if not code and "error" not in request.query:
            return _page(_STRANGE, 400)
        if not self._answer.done():
            self._answer.set_result(code or None)
        return _page(_DONE if code else _DENIED, 200)


def _page(text: str, status: int) -> web.Response:
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'"}
    return web.Response(text=text, status=status, headers=headers)
