"""Chroma as it is on a bad day: the real one, whose collections raise, hang or answer nonsense while they are told to."""

import threading
from typing import Any, Literal

import numpy as np
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection

Mode = Literal["well", "raises", "hangs", "garbage"]


class Weather:
    """What happens to every call from now on. `go` lets calls that hang fail."""

    def __init__(self) -> None:
        self.mode: Mode = "well"
        self.go = threading.Event()
        self.struck = 0  # calls that went wrong


class FaultyCollection:
    """One collection in that weather."""

    def __init__(self, real: Collection, weather: Weather) -> None:
        self._real, self._weather = real, weather

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever Chroma has
        real = getattr(self._real, name)
        return real if name not in {"get", "query", "upsert", "count", "delete"} else self._struck(name, real)

    def _struck(self, name: str, real: Any) -> Any:  # noqa: ANN401 - a method of Chroma's
        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - its signature
            mode = self._weather.mode
            if mode == "well":
                return real(*args, **named)
            self._weather.struck += 1
            if mode == "hangs":
                self._weather.go.wait(30)
            if mode == "garbage" and name == "get":
                return {"ids": ["nobody", "nothing"], "embeddings": np.full((2, 3), 7.0, dtype=np.float32)}
            if mode == "garbage" and name == "query":
                return {"ids": [["nobody"]], "distances": [[float("nan")]]}
            if mode == "garbage" and name == "count":
                return 2
            message = "Error executing plan: internal error of the storm"
            raise RuntimeError(message)

        return call


class FaultyClient:
    """`chromadb.PersistentClient` in that weather: put it in its place."""

    weather = Weather()

    def __init__(self, real: Client) -> None:
        self._real = real

    def get_collection(self, *args: Any, **named: Any) -> FaultyCollection:  # noqa: ANN401 - Chroma's signature
        return FaultyCollection(self._real.get_collection(*args, **named), self.weather)

    def create_collection(self, *args: Any, **named: Any) -> FaultyCollection:  # noqa: ANN401 - the same
        return FaultyCollection(self._real.create_collection(*args, **named), self.weather)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever Chroma has
        return getattr(self._real, name)
