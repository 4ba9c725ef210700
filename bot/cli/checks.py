"""What `ricordo doctor` looks at, a function a thing: each says how it is, and what to do where it is not well."""

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import aiohttp

from bot.app import embedder_of
from bot.cli.findings import Finding, Spoken, found
from bot.cli.jobs import jobs_told, lag_told, outage_told
from bot.cli.memory import size
from bot.cli.place import Place
from bot.cli.terminal import day
from config.settings import Settings
from memory import BotMemoryError, Figures, JobRow, Outage, WallClock, inspect_memory

LITTLE_ROOM = 500 << 20  # bytes: a night of a busy chat takes a tenth of it
LONG_LAG_SECONDS = 600.0
ANSWER_SECONDS = 5.0
MANY_JOBS = 10_000  # a week of comparisons, a few hundred collections each
_REFUSED = (401, 403)
_SERVER_FAULT = 500


def check_folder(folder: Path) -> list[Finding]:
    """Look whether the data directory can be written, and has room."""
    existing = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    little, told = free < LITTLE_ROOM, partial(size, free)
    room = found("disk.full", "wrong", free=told) if little else found("disk.room", free=told)
    if not existing.is_dir() or not _writable(existing):
        return [found("folder.closed", "wrong", folder=existing), room]
    return [found("folder.fine" if existing == folder.absolute() else "folder.new", folder=folder), room]


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


async def check_memory(place: Place, model: str | None) -> list[Finding]:
    """Look at the database, the index and the jobs of one channel's memory; `model` is the embedder's, None: unknown."""
    title = place.title
    try:
        async with inspect_memory(place.folder, WallClock()) as memory:
            faults = await memory.faults()
            figures = await memory.figures()
            outages = await memory.outages()
            compared = await memory.jobs(kind="drift", state="done", limit=MANY_JOBS)
    except BotMemoryError as error:
        return [found("memory.unread", "wrong", title=title, reason=str(error))]
    if faults:
        return [found("memory.damaged", "wrong", title=title, reason=faults[0])]
    held = {"messages": figures.messages, "viewers": figures.viewers, "size": partial(size, figures.file_bytes)}
    index = _index(figures, model, place.folder / "chroma")
    return [
        Finding(name="memory.sound", state="ok", values={"title": title, **held}),
        index,
        _drift(figures, compared),
        _jobs(figures),
        *map(_outage, outages),
    ]


def _index(figures: Figures, model: str | None, vectors: Path) -> Finding:
    if figures.embedder and model and figures.embedder != model:
        return found("index.other", "wrong", built=figures.embedder, model=model)
    if figures.documents > figures.unindexed and not vectors.is_dir():
        return found("index.gone", "wrong", folder=vectors)
    if figures.unindexed:
        return found("index.behind", "note", missing=figures.unindexed, all=figures.documents)
    return found("index.whole", all=figures.documents)


def _drift(figures: Figures, compared: Sequence[JobRow]) -> Finding:
    """Tell when the index was last compared with the database; what had drifted apart was mended by that."""
    if compared:
        last = max(job.created_at for job in compared)
        return found("compared.lately", day=lambda language: day(last, language=language))
    return found("compared.never", "note") if figures.documents else found("compared.nothing")


def _jobs(figures: Figures) -> Finding:
    told: dict[str, Spoken] = {
        "counted": lambda language: jobs_told(figures.jobs, language),
        "lag": lambda language: lag_told(figures.lag_jobs, figures.lag_seconds, language),
    }
    if figures.jobs.get("dead"):
        return Finding(name="jobs.dead", state="wrong", values=told)
    if figures.lag_seconds > LONG_LAG_SECONDS:
        return Finding(name="jobs.behind", state="note", values=told)
    return Finding(name="jobs.fine", state="ok", values=told)


def _outage(outage: Outage) -> Finding:
    return found("jobs.outage", "note", told=lambda language: outage_told(outage, language))


async def check_embedder(settings: Settings) -> tuple[Finding, str | None]:
    """Load the embedding model and embed one text; return its name too, as the index notes it, None where it fails."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            embedder = embedder_of(settings, Path(folder))
            try:
                await embedder.embed(["ciao"])
                model = f"{embedder.name} ({embedder.dimension})"
            finally:
                await embedder.close()
    except (BotMemoryError, OSError) as error:
        return found("embedder.broken", "wrong", reason=str(error)), None
    return found("embedder.fine", model=model), model


async def check_llm(settings: Settings) -> Finding:
    """Ask the language model's endpoint whether it is there; no text is sent to it."""
    chosen = settings.llm
    if not (chosen.base_url and chosen.model):
        return found("llm.none", "note")
    url, key = chosen.base_url, chosen.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS), headers=headers) as session,
            session.get(f"{url.rstrip('/')}/models", allow_redirects=False) as answer,
        ):
            status, listed = answer.status, await _models(answer)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return found("llm.away", "wrong", url=url, reason=type(error).__name__)
    if status in _REFUSED:
        return found("llm.refused", "wrong", url=url, status=status)
    if status >= _SERVER_FAULT:
        return found("llm.fault", "wrong", url=url, status=status)
    if listed and chosen.model not in listed and f"{chosen.model}:latest" not in listed:
        return found("llm.unlisted", "wrong", url=url, model=chosen.model, other=listed[0])
    return found("llm.fine", url=url)


async def _models(answer: aiohttp.ClientResponse) -> list[str]:
    """Return the names of the models that an endpoint lists; none where it lists them in another way, or not at all."""
    try:
        body = await answer.json(content_type=None)
        return [str(model["id"]) for model in body["data"]]
    except (ValueError, LookupError, TypeError):
        return []
