"""The loop-lag probe: how long the event loop stood still, and how much of that was our own doing."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.figures import Figure, percentiles

_LOOK_SECONDS = 0.005
STALL_SECONDS = 0.05


@dataclass
class Lag:
    """What the probe saw. A stall counts as ours where this process used the processor for over 50 ms meanwhile."""

    seconds: list[float] = field(default_factory=list)
    stalls: int = 0
    own: int = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look, while inside, whether the running loop keeps its appointments: one every 5 ms."""
        looking = asyncio.get_running_loop().create_task(self._look())
        try:
            yield
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            began, busy = time.perf_counter(), time.process_time()
            await asyncio.sleep(_LOOK_SECONDS)
            late = time.perf_counter() - began - _LOOK_SECONDS
            self.seconds.append(late)
            if late > STALL_SECONDS:
                self.stalls += 1
                self.own += time.process_time() - busy > STALL_SECONDS

    def figures(self, bench: str) -> list[Figure]:
        """Return the lag, and the stalls."""
        return [
            *percentiles(bench, "loop lag", self.seconds),
            Figure(bench=bench, name="stalls over 50 ms", value=self.stalls, unit=""),
            Figure(bench=bench, name="stalls over 50 ms, processor ours", value=self.own, unit="", goal="<= 0"),
        ]
