"""Evaluation: annotated logs through the real memory, every probe asked at its moment, of every recipe."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from bot.addressing import Addressing
from bot.app import Hooks, embedder_of, llm_of, llm_responder, recipe_of
from bot.language import language_of
from bot.llm import LanguageModel
from bot.persona import Persona, load_persona
from bot.prompt import SMALLEST_PROMPT, PromptLimits, Question, shown_memory
from bot.responder import Responder, ResponderFailed
from bot.turn import TurnOutcome
from config.settings import Settings
from lore.entry import LoreEntry
from lore.loader import load_canon
from memory import (
    Batch,
    BotMemoryError,
    Deadlines,
    Embedder,
    Message,
    Probe,
    Recall,
    Recipe,
    StreamEvent,
    history_items,
    named_recipes,
)
from replays.baselines import Baseline, ChatSoFar, FullContext, SingleArchive
from replays.cases import AnnotatedLog, Case, CaseError, read_annotated
from replays.log import canon_folder, read_log
from replays.metrics import Result, Scored
from replays.player import Player, Settling
from replays.results import Asked, ResultFiles, case_to_json, trace_of
from replays.runner import Home, open_home
from replays.turns import latencies_to_json, plan_names

log = structlog.get_logger(__name__)
BASELINES = ("single_archive", "full_context")
WINDOW_ONLY = "history_only"
NO_LIMIT = 1 << 30
PATIENT = Deadlines(source_seconds=20, retrieve_seconds=25, recall_seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """A probe that could not be asked, and why."""

    id: str
    log: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that was asked, by recipe, in the order of the logs."""

    asked: Mapping[str, tuple[Scored, ...]]
    unasked: tuple[Unasked, ...]
    replies_failed: int
    embedder: str
    settled: Mapping[str, int] = field(default_factory=dict)  # conflicts between statements, by what settled them

    @property
    def complete(self) -> bool:
        """True where every probe was asked."""
        return not self.unasked


def known_recipes(settings: Settings) -> dict[str, Recipe | None]:
    """Return every recipe by name, `full` first, as configured; None stands for a baseline, which is none of the memory's."""
    return {**named_recipes(patient(recipe_of(settings))), **dict.fromkeys(BASELINES)}


def patient(recipe: Recipe) -> Recipe:
    """Return the recipe with deadlines that only a hung source meets.

    What is found must not depend on how busy the machine is; how many probes took longer than the configured deadline is
    counted beside the latencies.
    """
    return replace(recipe, deadlines=PATIENT)


def read_logs(paths: Sequence[Path], settings: Settings) -> list[AnnotatedLog]:
    """Read and check every log before anything is asked.

    Raises:
        CaseError: names file, line and field of the first probe that cannot be used, or a log that is given twice.
        LogError: a log cannot be read.
    """
    logs: list[AnnotatedLog] = []
    for path in paths:
        if any(path.resolve() == other.path.resolve() for other in logs):
            raise CaseError(f"{path} is given twice")
        stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
        taken = sum(other.name.split("#")[0] == stem for other in logs)
        name = f"{stem}#{taken + 1}" if taken else stem
        logs.append(read_annotated(path, canon_of(path, settings), name=name))
    return logs


def canon_of(path: Path, settings: Settings) -> list[LoreEntry]:
    """Return the canon that a log is played with: its own, else the configured one, else the bundled one."""
    bundled = Path(str(files("lore").joinpath("canon")))
    return load_canon(canon_folder(path) or settings.persona.canon or bundled)


@dataclass(slots=True)
class Evaluation:
    """One run: some logs, some recipes, one configuration."""

    settings: Settings
    logs: Sequence[AnnotatedLog]
    recipes: Sequence[str]  # names; the first is what the summary is about
    llm: bool = False  # let the configured model answer the first recipe's probes
    on_asked: Callable[[Asked], None] | None = None
    on_probe: Callable[[Case], None] | None = None
    _asked: dict[str, list[Scored]] = field(default_factory=dict)
    _unasked: list[Unasked] = field(default_factory=list)
    _replies_failed: int = 0
    _settled: Counter[str] = field(default_factory=Counter)
    _model: LanguageModel | None = None

    async def run(self, output: ResultFiles | None = None) -> Outcome:
        """Ask every probe; those that could not be asked are named in the outcome.

        Raises:
            LogError: a log cannot be read.
            BotMemoryError: a memory cannot be opened, or is lost on the way.
        """
        self._asked = {name: [] for name in self.recipes}
        self._settled = Counter()
        async with AsyncExitStack() as held:
            scratch = Path(held.enter_context(TemporaryDirectory(prefix="ricordo-eval-")))
            embedder = embedder_of(self.settings, _made(scratch / "archive"))
            held.push_async_callback(embedder.close)
            self._model = await held.enter_async_context(llm_of(self.settings)) if self.llm else None
            for number, annotated in enumerate(self.logs):
                await self._ask_log(annotated, scratch / str(number), embedder, output)
        return Outcome(
            asked={name: tuple(scored) for name, scored in self._asked.items()},
            unasked=tuple(self._unasked),
            replies_failed=self._replies_failed,
            embedder=embedder.name,
            settled=dict(self._settled),
        )

    async def _ask_log(self, annotated: AnnotatedLog, directory: Path, embedder: Embedder, output: ResultFiles | None) -> None:
        cases = {case.id: case for case in annotated.cases}
        async with open_home(self.settings, annotated.path, directory) as home:
            settling, place = Settling(home.memory), _Place()
            loop = home.loop(
                self.settings, Hooks(before=settling.before, searched=settling.searched, on_turn=place.turn_over, replies="log")
            )
            await loop.start()
            player = Player(loop, home.clock, settling)
            examiner = self.examiner(annotated, home, embedder)
            for logged in read_log(annotated.path):
                event = logged.event
                examiner.chat.see(event)
                await player.feed(event)
                if isinstance(event, StreamEvent):
                    place.stream_began(event)
                if isinstance(event, Probe):
                    await player.catch_up(settle=event.settle)
                    await self._ask(cases[event.id], examiner, place.stream_id, output)
            await player.finish()
            self._settled.update(await home.memory.settled())

    def examiner(self, annotated: AnnotatedLog, home: Home, embedder: Embedder) -> "Examiner":
        """Return who asks the probes of one log of an open memory; `embedder` serves the baselines."""
        known = known_recipes(self.settings)
        baselines: dict[str, Baseline] = {"single_archive": SingleArchive(embedder), "full_context": FullContext()}
        addressing = Addressing(home.bot)
        return Examiner(
            annotated=annotated,
            home=home,
            recipes={name: known[name] or baselines[name] for name in self.recipes},
            window_recipe=known[WINDOW_ONLY] or Recipe(),
            addressing=addressing,
            persona=load_persona(self.settings.persona.file),
            limits=PromptLimits(prompt_tokens=max(SMALLEST_PROMPT, self.settings.llm.prompt_tokens)),
            responder=llm_responder(self.settings, self._model, addressing) if self._model else None,
            ambiguous=_shared_ids(self.logs),
        )

    async def _ask(self, case: Case, examiner: "Examiner", stream_id: str | None, output: ResultFiles | None) -> None:
        probe_id, annotated = examiner.id_of(case), examiner.annotated
        if output:
            output.write_case(case_to_json(case, annotated.known, probe_id=probe_id, log=annotated.name))
        try:
            answers = await examiner.ask(case, stream_id)
        except (BotMemoryError, CaseError) as error:
            log.warning("probe_not_asked", probe=probe_id, reason=str(error))
            self._unasked.append(Unasked(id=probe_id, log=annotated.name, reason=str(error)))
            answers = []
        for asked in answers:
            self._asked[asked.recipe].append(asked.scored)
            if output:
                output.write(asked)
            if self.on_asked:
                self.on_asked(asked)
        self._replies_failed += bool(self.llm and answers and answers[0].result.reply is None)
        if self.on_probe:
            self.on_probe(case)


@dataclass(slots=True)
class _Place:
    """Which stream a probe is asked in: the one that began last."""

    stream_id: str | None = None

    def stream_began(self, event: StreamEvent) -> None:
        if event.event == "online":
            self.stream_id = event.stream_id

    def turn_over(self, outcome: TurnOutcome) -> None:
        """A log without streams plays in stand-ins that only its turns name."""
        self.stream_id = outcome.turn.batch.stream_id


@dataclass(slots=True, kw_only=True)
class Examiner:
    """Asks the probes of one log, each of every recipe, and scores what comes."""

    annotated: AnnotatedLog
    home: Home
    recipes: Mapping[str, Recipe | Baseline]
    window_recipe: Recipe
    addressing: Addressing
    persona: Persona
    limits: PromptLimits
    responder: Responder | None
    ambiguous: frozenset[str]
    chat: ChatSoFar = field(default_factory=ChatSoFar)

    def id_of(self, case: Case) -> str:
        """Return the probe's id, with its log's name before it where two logs of the run use the same."""
        return f"{self.annotated.name}:{case.id}" if case.id in self.ambiguous else case.id

    async def ask(self, case: Case, stream_id: str | None) -> list[Asked]:
        """Ask every recipe, in their order. Nothing is stored.

        Raises:
            CaseError: no stream has begun.
            BotMemoryError: the memory cannot be asked.
        """
        if stream_id is None:
            raise CaseError(f"{case.id}: no stream has begun before it; put it below a `stream` event")
        batch = Batch(stream_id=stream_id, lines=case.batch, closed_at=case.at, flush_reason="probe")
        answers: list[Asked] = []
        for name, recipe in self.recipes.items():
            began = self.home.clock.elapsed()
            recall, plan = await self._recalled(batch, case, recipe)
            seconds = self.home.clock.elapsed() - began
            reply = await self._reply(batch, recall) if self.responder and not answers else None
            limits = self.limits if isinstance(recipe, Recipe) else PromptLimits(prompt_tokens=NO_LIMIT)
            result = Result(
                id=self.id_of(case),
                category=case.category,
                plan=plan,
                items=(*history_items(recall.window), *recall.block.items),
                block=self._shown(batch, recall, limits),
                block_tokens=recall.block.tokens,
                abstained=recall.block.abstained,
                degraded=recall.degraded,
                timed_out=recall.timed_out,
                latency_ms={**latencies_to_json(recall), "total": round(seconds * 1000, 3)},
                reply=reply,
            )
            scored = Scored(case=case, result=result, authors=self.annotated.known.authors)
            found = recall.candidates
            answers.append(Asked(log=self.annotated.name, recipe=name, scored=scored, trace=trace_of(recall), candidates=found))
        return answers

    async def _recalled(self, batch: Batch, case: Case, recipe: Recipe | Baseline) -> tuple[Recall, tuple[str, ...]]:
        memory = self.home.memory
        if isinstance(recipe, Recipe):
            recall = await memory.recall(batch, recipe, as_of=case.as_of)
            return recall, tuple(plan_names(recall))
        window = (await memory.recall(batch, self.window_recipe)).window
        return await recipe.recall(batch, window, self.chat), ("history", *recipe.sources)

    def _shown(self, batch: Batch, recall: Recall, limits: PromptLimits) -> str:
        *also, to = self._answered(batch)
        language = language_of(self.addressing.question(to), recall.plan.language)
        question = Question(batch=batch, to=to, also=tuple(also), recall=recall, language=language)
        return shown_memory(question, self.persona, limits)

    async def _reply(self, batch: Batch, recall: Recall) -> str | None:
        if self.responder is None:
            return None
        try:
            *also, to = self._answered(batch)
            return (await self.responder.reply(batch, recall, to, also)).text
        except ResponderFailed:
            return None

    def _answered(self, batch: Batch) -> list[Message]:
        """Return the newest message of each who speaks to the bot, oldest first; where nobody does, the last of all."""
        addressed = [line for line in batch.messages if self.addressing.how(line) is not None]
        newest = {line.user.id: line for line in addressed or batch.messages[-1:]}
        return [line for line in addressed if newest[line.user.id] is line] or list(newest.values())


def _shared_ids(logs: Sequence[AnnotatedLog]) -> frozenset[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for annotated in logs:
        ids = {case.id for case in annotated.cases}
        twice |= seen & ids
        seen |= ids
    return frozenset(twice)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
