"""Where a running bot is looked at: a socket in its memory's folder, for its owner; and a port for monitoring, if set."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from bot.exposition import CONTENT_TYPE
from bot.watch import Watch
from memory import BotMemoryError

log = structlog.get_logger(__name__)
SOCKET = "watch.sock"
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_HEALTH_SECONDS = 5.0
_BACKLOG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Who may look. Port 0: nobody over the network; `outside`: other machines too."""

    socket_path: Path
    host: str = "127.0.0.1"
    port: int = 0
    outside: bool = False


@asynccontextmanager
async def watched(watch: Watch, settings: WatchSettings) -> AsyncIterator[int]:
    """Serve until left, and give the port, 0 where none is open. What cannot be served is said in the log: the bot goes on."""
    runner = web.AppRunner(_inner(watch), access_log=None, handle_signals=False, shutdown_timeout=0.2)
    open_to_all = web.AppRunner(_outer(watch, settings), access_log=None, handle_signals=False, shutdown_timeout=0.2)
    await runner.setup()
    await open_to_all.setup()
    try:
        await _open_socket(runner, settings.socket_path)
        yield await _open_port(open_to_all, settings)
    finally:
        await open_to_all.cleanup()
        await runner.cleanup()
        with contextlib.suppress(OSError):
            settings.socket_path.unlink(missing_ok=True)


async def _open_socket(runner: web.AppRunner, path: Path) -> None:
    try:
        await web.SockSite(runner, _bound(path), backlog=_BACKLOG).start()
    except OSError as error:
        log.warning("socket_not_opened", path=str(path), reason=str(error), degraded="`ricordo top` shows no latencies")


def _bound(path: Path) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        msg = "this system has no such sockets"
        raise OSError(msg)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)  # of a bot that was killed: the folder's lock says that none runs
        bound.bind(str(path))
        path.chmod(0o600)  # before it listens: nobody else ever gets in
    except OSError:
        bound.close()
        raise
    return bound


async def _open_port(runner: web.AppRunner, settings: WatchSettings) -> int:
    if not settings.port:
        return 0
    try:
        await web.TCPSite(runner, settings.host, settings.port, backlog=_BACKLOG).start()
    except OSError as error:
        log.warning("metrics_not_served", host=settings.host, port=settings.port, reason=str(error), hint="set watch.port")
        return 0
    log.info("metrics_served", host=settings.host, port=settings.port)
    return int(runner.addresses[0][1])


def _inner(watch: Watch) -> web.Application:
    async def glimpse(_: web.Request) -> web.Response:
        return web.json_response(watch.glimpse(), headers=_HEADERS)

    app = web.Application()
    app.router.add_get("/watch", glimpse)
    return app


def _outer(watch: Watch, settings: WatchSettings) -> web.Application:
    app = web.Application(middlewares=[] if settings.outside else [_from_here])
    app.router.add_get("/metrics", _guarded(lambda: _metrics(watch)))
    app.router.add_get("/healthz", _guarded(lambda: _healthz(watch)))
    return app


@web.middleware
async def _from_here(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse a web page that had its name point to this machine: its requests carry that name."""
    if not _is_this_machine(request.host):
        return web.Response(status=403, text="ask this machine by 127.0.0.1 or localhost\n", headers=_HEADERS)
    return await handler(request)


def _is_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _guarded(answer: Callable[[], Awaitable[web.Response]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                return await answer()
        except TimeoutError:
            reason = "the memory did not answer in time"
        except BotMemoryError as error:
            reason = type(error).__name__
        return web.json_response({"status": "failing", "reason": reason}, status=503, headers=_HEADERS)

    return handle


async def _metrics(watch: Watch) -> web.Response:
    return web.Response(body=(await watch.metrics()).encode(), headers={**_HEADERS, "Content-Type": CONTENT_TYPE})


async def _healthz(watch: Watch) -> web.Response:
    return web.json_response({"status": "ok", **await watch.healthy()}, headers=_HEADERS)
