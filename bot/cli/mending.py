"""What `ricordo doctor` says of the drift between the database and what is built from it, and how `--fix` mends it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from bot.app import embedder_of, open_channel_memory
from bot.cli.asked import in_use, waited_for
from bot.cli.findings import Finding, found
from bot.cli.login_texts import Language
from bot.cli.place import Place, whose
from config.settings import Settings
from memory import (
    Apart,
    BotMemoryError,
    DriftReport,
    JobRow,
    Jobs,
    Sample,
    WallClock,
    compare_sample,
    counted,
    job_desk,
    measure_drift,
)

AT_A_TIME = 200  # collections a job


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftWords:
    """How the drift is told."""

    vectors: str
    unreadable: str
    strangers: str
    altered: str
    right: str
    text: str
    counted: str


WORDS: dict[Language, DriftWords] = {
    "en": DriftWords(
        vectors="vector index: {documents} in {collections:collection|collections}",
        unreadable=", {count:,} of them cannot be read",
        strangers="{count:collection|collections} of which the database knows nothing",
        altered="vectors that are not those of their words: {wrong:,} of {all:,} sampled, "
        "in {collections:collection|collections}",
        right="; {count:sampled vector is that of its words|sampled vectors are those of their words}",
        text="full text: {documents}",
        counted="{missing:document|documents} missing, {extra:,} extra, {stale:,} stale",
    ),
    "it": DriftWords(
        vectors="indice dei vettori: {documents} in {collections:raccolta|raccolte}",
        unreadable=", {count:di queste non si legge|di queste non si leggono}",
        strangers="{count:raccolta|raccolte} di cui la base di dati non sa nulla",
        altered="vettori che non sono quelli delle loro parole: {wrong:,} su {all:,} del campione, "
        "in {collections:raccolta|raccolte}",
        right="; {count:vettore del campione è quello delle sue parole|vettori del campione sono quelli delle loro parole}",
        text="testo pieno: {documents}",
        counted="{missing:documento manca|documenti mancano}, {extra:è|sono} di troppo, {stale:è vecchio|sono vecchi}",
    ),
}


async def check_drift(
    settings: Settings, place: Place, model: str | None, *, sample: int
) -> tuple[Finding, DriftReport | None]:
    """Compare the vector index and the full text with the database; say what differs, and give the measure of it.

    Up to `sample` documents are embedded anew, the same ones all day and others tomorrow; none where no `model` is known.
    """
    title = place.title
    try:
        report = await measure_drift(place.folder, model, settings.persona.languages)
        if sample and model:
            report = replace(report, sample=await _sampled(settings, place, sample))
    except BotMemoryError as error:
        return found("drift.unread", "wrong", title=title, reason=str(error)), None
    if not report:
        return found("drift.none", title=title, told=lambda language: _compared(report.sample, language)), report
    return found("drift.some", "wrong", title=title, told=lambda language: "; ".join(_told(report, language))), report


async def _sampled(settings: Settings, place: Place, most: int) -> Sample:
    with TemporaryDirectory() as folder:  # a cache of the embedder has no say in this
        embedder = embedder_of(settings, Path(folder))
        try:
            seed, languages = WallClock().now().toordinal(), settings.persona.languages
            return await compare_sample(place.folder, embedder, languages=languages, most=most, seed=seed)
        finally:
            await embedder.close()


def _compared(sample: Sample, language: Language) -> str:
    words = WORDS[language].right
    return counted(words, language, count=sample.compared) if sample.compared else ""


def _told(report: DriftReport, language: Language) -> list[str]:
    words, told = WORDS[language], list[str]()
    if report.collections:
        unreadable = sum(one.unreadable for one in report.collections.values())
        values = {"documents": _counted(report.total(), language), "collections": len(report.collections)}
        told.append(
            counted(words.vectors, language, **values)
            + (counted(words.unreadable, language, count=unreadable) if unreadable else "")
        )
    if report.strangers:
        told.append(counted(words.strangers, language, count=len(report.strangers)))
    if report.sample.altered:
        sample = report.sample
        values = {"wrong": sum(sample.altered.values()), "all": sample.compared, "collections": len(sample.altered)}
        told.append(counted(words.altered, language, **values))
    if report.text:
        told.append(counted(words.text, language, documents=_counted(report.text, language)))
    return told


def _counted(apart: Apart, language: Language) -> str:
    return counted(WORDS[language].counted, language, missing=apart.missing, extra=apart.extra, stale=apart.stale)


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
    wrong = sorted(report.sample.altered)
    if wrong:  # before the others: what is missing or extra in them goes with it
        await jobs.order("drift", f"{prefix}:rebuild", {"collections": wrong, "rebuild": True})
    names = sorted(report.collections)
    for start in range(0, len(names), AT_A_TIME):
        await jobs.order("drift", f"{prefix}:{start}", {"collections": names[start : start + AT_A_TIME]})
    if report.text or report.strangers:
        payload = {"full_text": bool(report.text), "strangers": bool(report.strangers), "collections": []}
        await jobs.order("drift", f"{prefix}:rest", payload)


def _ended(rows: Sequence[JobRow]) -> bool:
    return all(row.state == "done" for row in rows)


def _progress(rows: Sequence[JobRow]) -> str:
    return counted(
        "the running bot mends the drift: {done:,} of {all:job|jobs} done",
        done=sum(row.state == "done" for row in rows),
        all=len(rows),
    )
