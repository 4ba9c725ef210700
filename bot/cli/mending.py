"""What `ricordo doctor` says of the drift between the database and what is built from it, and how `--fix` mends it."""

from collections.abc import Sequence
from uuid import uuid4

from bot.app import open_channel_memory
from bot.cli.asked import in_use, waited_for
from bot.cli.findings import Finding
from bot.cli.place import Place, whose
from config.settings import Settings
from memory import Apart, BotMemoryError, DriftReport, JobRow, Jobs, WallClock, job_desk, measure_drift

AT_A_TIME = 200  # collections a job


async def check_drift(settings: Settings, place: Place, model: str | None) -> tuple[Finding, DriftReport | None]:
    """Compare the vector index and the full text with the database; say what differs, and give the measure of it."""
    what = f"drift of {place.title}"
    try:
        report = await measure_drift(place.folder, model, settings.persona.languages)
    except BotMemoryError as error:
        return Finding(what=what, state="wrong", text=str(error)), None
    if not report:
        return Finding(what=what, state="ok", text="none: vector index and full text hold what the database says"), report
    advice = "`ricordo doctor --fix` mends it, also while the bot runs"
    return Finding(what=what, state="wrong", text="; ".join(_told(report)), advice=advice), report


def _told(report: DriftReport) -> list[str]:
    told = []
    if report.collections:
        unreadable = sum(one.unreadable for one in report.collections.values())
        more = f", {unreadable:,} of them cannot be read" if unreadable else ""
        told.append(f"vector index: {_counted(report.total())} in {len(report.collections):,} collections{more}")
    if report.strangers:
        told.append(f"{len(report.strangers):,} collections of which the database knows nothing")
    if report.text:
        told.append(f"full text: {_counted(report.text)}")
    return told


def _counted(apart: Apart) -> str:
    return f"{apart.missing:,} documents missing, {apart.extra:,} extra, {apart.stale:,} stale"


async def mend(settings: Settings, place: Place, report: DriftReport) -> None:
    """Order what mends the drift, and have it done: by the running bot, or here where none runs.

    Raises:
        CommandFailed: a job gave up, or the bot was stopped meanwhile.
        BotMemoryError: the memory cannot be opened.
    """
    clock, run = WallClock(), uuid4().hex[:12]
    prefix = f"drift:asked:{run}"
    async with job_desk(place.folder, clock) as jobs:
        await _order(jobs, prefix, report)
        if in_use(place.folder):
            await waited_for(jobs, prefix, place.folder, ended=_ended, told=_progress)
            return
    async with open_channel_memory(settings, place.folder, channel=whose(place), clock=clock) as memory:
        await memory.run_jobs()


async def _order(jobs: Jobs, prefix: str, report: DriftReport) -> None:
    names = sorted(report.collections)
    for start in range(0, len(names), AT_A_TIME):
        await jobs.order("drift", f"{prefix}:{start}", {"collections": names[start : start + AT_A_TIME]})
    if report.text or report.strangers:
        payload = {"full_text": bool(report.text), "strangers": bool(report.strangers), "collections": []}
        await jobs.order("drift", f"{prefix}:rest", payload)


def _ended(rows: Sequence[JobRow]) -> bool:
    return all(row.state == "done" for row in rows)


def _progress(rows: Sequence[JobRow]) -> str:
    return f"the running bot mends the drift: {sum(row.state == 'done' for row in rows)} of {len(rows)} jobs done"
