"""What `ricordo doctor` looks at, a function a thing: each says how it is, and what to do where it is not well."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from bot.app import embedder_of
from bot.cli.findings import Finding as Finding
from bot.cli.jobs import lag_told, outage_told
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
    room = Finding(what="disk space", state="ok", text=f"{size(free)} free")
    if free < LITTLE_ROOM:
        room = Finding(what="disk space", state="wrong", text=f"only {size(free)} free", advice="free some space")
    if not existing.is_dir() or not _writable(existing):
        advice = "mend its owner and mode, or set storage.data_dir to another folder"
        return [Finding(what="data directory", state="wrong", text=f"{existing} cannot be written", advice=advice), room]
    made = "can be written" if existing == folder.absolute() else "will be made at the first start"
    return [Finding(what="data directory", state="ok", text=f"{folder} {made}"), room]


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


async def check_memory(place: Place, model: str | None) -> list[Finding]:
    """Look at the database, the index and the jobs of one channel's memory; `model` is the embedder's, None: unknown."""
    name = f"memory of {place.title}"
    try:
        async with inspect_memory(place.folder, WallClock()) as memory:
            faults = await memory.faults()
            figures = await memory.figures()
            outages = await memory.outages()
            compared = await memory.jobs(kind="drift", state="done", limit=MANY_JOBS)
    except BotMemoryError as error:
        return [Finding(what=name, state="wrong", text=str(error))]
    if faults:
        advice = "restore the newest backup, or move the file away to begin anew"
        return [Finding(what=name, state="wrong", text=f"the database is damaged: {faults[0]}", advice=advice)]
    sound = f"sound; {figures.messages:,} messages, {figures.viewers:,} viewers, {size(figures.file_bytes)}"
    index = _index(figures, model, place.folder / "chroma")
    return [
        Finding(what=name, state="ok", text=sound),
        index,
        _drift(figures, compared),
        _jobs(figures),
        *map(_outage, outages),
    ]


def _index(figures: Figures, model: str | None, vectors: Path) -> Finding:
    if figures.embedder and model and figures.embedder != model:
        text = f"built by {figures.embedder}, the configuration names {model}"
        return Finding(what="index", state="wrong", text=text, advice="stop the bot and run `ricordo reindex`")
    if figures.documents > figures.unindexed and not vectors.is_dir():
        text = f"{vectors} is gone: nothing is found by its meaning"
        return Finding(what="index", state="wrong", text=text, advice="stop the bot and run `ricordo reindex`")
    if figures.unindexed:
        text = f"{figures.unindexed:,} of {figures.documents:,} documents have no vector yet: found by words alone"
        advice = "the running bot catches up by itself; where it does not run: `ricordo reindex`"
        return Finding(what="index", state="note", text=text, advice=advice)
    return Finding(what="index", state="ok", text=f"all {figures.documents:,} documents have their vector")


def _drift(figures: Figures, compared: Sequence[JobRow]) -> Finding:
    """Tell when the index was last compared with the database; what had drifted apart was mended by that."""
    if compared:
        last = max(job.created_at for job in compared)
        return Finding(what="drift", state="ok", text=f"the index was compared with the database, and mended, on {day(last)}")
    if not figures.documents:
        return Finding(what="drift", state="ok", text="nothing to compare yet")
    text = "the index was not compared with the database these days"
    return Finding(what="drift", state="note", text=text, advice="the running bot does so once a day")


def _jobs(figures: Figures) -> Finding:
    states = ", ".join(f"{count:,} {state}" for state, count in figures.jobs.items() if count) or "none"
    counted = f"{states}; lag: {lag_told(figures.lag_jobs, figures.lag_seconds)}"
    if figures.jobs.get("dead"):
        advice = "`ricordo jobs --state dead` shows why; then `ricordo jobs retry ID` or `ricordo jobs bury ID`"
        return Finding(what="jobs", state="wrong", text=f"some gave up: {counted}", advice=advice)
    if figures.lag_seconds > LONG_LAG_SECONDS:
        text = f"the work is behind: {counted}"
        advice = "start the bot; where it runs, look into its log for job_failed"
        return Finding(what="jobs", state="note", text=text, advice=advice)
    return Finding(what="jobs", state="ok", text=counted)


def _outage(outage: Outage) -> Finding:
    advice = "the running bot tries again by itself, every five minutes at the latest"
    return Finding(what="jobs", state="note", text=outage_told(outage), advice=advice)


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
        return Finding(what="embedder", state="wrong", text=str(error), advice="see [embedding] in the configuration"), None
    return Finding(what="embedder", state="ok", text=f"{model} works"), model


async def check_llm(settings: Settings) -> Finding:
    """Ask the language model's endpoint whether it is there; no text is sent to it."""
    chosen = settings.llm
    if not (chosen.base_url and chosen.model):
        text = "none configured: replies are made from the memory alone"
        advice = "set llm.base_url and llm.model for a better voice"
        return Finding(what="language model", state="note", text=text, advice=advice)
    key = chosen.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS), headers=headers) as session,
            session.get(f"{chosen.base_url.rstrip('/')}/models", allow_redirects=False) as answer,
        ):
            status, listed = answer.status, await _models(answer)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        text = f"{chosen.base_url} does not answer ({type(error).__name__})"
        return Finding(what="language model", state="wrong", text=text, advice="start the server, or mend llm.base_url")
    if status in _REFUSED:
        text = f"{chosen.base_url} refuses the key (HTTP {status})"
        return Finding(what="language model", state="wrong", text=text, advice="set RICORDO_LLM__API_KEY")
    if status >= _SERVER_FAULT:
        text = f"{chosen.base_url} answers with a fault of its own (HTTP {status})"
        return Finding(what="language model", state="wrong", text=text, advice="look into the server's log")
    if listed and chosen.model not in listed and f"{chosen.model}:latest" not in listed:
        text = f"{chosen.base_url} answers, but does not list the model {chosen.model}"
        advice = f"set llm.model to one that it has, such as {listed[0]}, or fetch the model there"
        return Finding(what="language model", state="wrong", text=text, advice=advice)
    return Finding(what="language model", state="ok", text=f"{chosen.base_url} answers")


async def _models(answer: aiohttp.ClientResponse) -> list[str]:
    """Return the names of the models that an endpoint lists; none where it lists them in another way, or not at all."""
    try:
        body = await answer.json(content_type=None)
        return [str(model["id"]) for model in body["data"]]
    except (ValueError, LookupError, TypeError):
        return []
