"""What a program takes: memory and processor time, those of its worker processes included."""

import threading
from contextlib import suppress
from typing import Self

import psutil

_LOOK_SECONDS = 0.2
_MB = 2**20


class Footprint:
    """Watches this process and its children from a thread, five times a second, until it is left."""

    def __init__(self) -> None:
        """Begin to count at `__enter__`."""
        self._own, self._over = psutil.Process(), threading.Event()
        self._spent: dict[int, float] = {}  # by process; children that ended keep what they were last seen with
        self._began = 0.0
        self.peak_mb = 0.0  # resident memory of all together; what two share is counted twice
        self.own_peak_mb = 0.0  # of this process alone
        self._thread = threading.Thread(target=self._watch, name="footprint", daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._began = self._cpu()
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look a last time, and watch no longer."""
        self._look()
        self._over.set()
        self._thread.join()

    @property
    def cpu_seconds(self) -> float:
        """Processor time since the beginning, of all together; a child's last fifth of a second may be missing."""
        return self._cpu() - self._began

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        resident = []
        for process in self._all():
            with suppress(psutil.Error):  # it has just ended
                resident.append(process.memory_info().rss / _MB)
        self.own_peak_mb = max(self.own_peak_mb, resident[0])
        self.peak_mb = max(self.peak_mb, sum(resident))
        self._cpu()

    def _cpu(self) -> float:
        for process in self._all():
            with suppress(psutil.Error):
                times = process.cpu_times()
                self._spent[process.pid] = times.user + times.system
        return sum(self._spent.values())

    def _all(self) -> list[psutil.Process]:
        return [self._own, *self._own.children(recursive=True)]
