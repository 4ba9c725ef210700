"""What can go wrong with any call to a Twitch on this machine: statuses, slowness, and a clock of its own."""

import asyncio
from collections import defaultdict, deque
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware


class Faults:
    """By path, such as `/helix/users`: `statuses` are met one a call, `seconds` are waited at each."""

    def __init__(self) -> None:
        self.statuses: defaultdict[str, deque[int]] = defaultdict(deque)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.clock_off = timedelta(0)  # how far Twitch's clock is before this machine's
        self.calls: defaultdict[str, int] = defaultdict(int)

    def middleware(self) -> Middleware:
        """Return aiohttp's middleware that brings them about."""

        @web.middleware
        async def trouble(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path == "/ws":
                return await handler(request)
            self.calls[request.path] += 1
            await asyncio.sleep(self.seconds[request.path])
            answer: web.StreamResponse
            if self.statuses[request.path]:
                status = self.statuses[request.path].popleft()
                answer = web.json_response({"status": status, "message": "fault"}, status=status)
                if status == web.HTTPTooManyRequests.status_code:
                    answer.headers["Ratelimit-Reset"] = str(int(datetime.now(UTC).timestamp()) + 1)
            else:
                answer = await handler(request)
            answer.headers["Date"] = format_datetime(datetime.now(UTC) + self.clock_off, usegmt=True)
            return answer

        return trouble
