"""What an evaluation leaves on disk: results, traces and cases as JSON Lines, written probe by probe and read again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from memory import Evidence, Item, Recall, StepTrace
from replays.cases import Case, KnownIds
from replays.errors import LogUnreadable
from replays.metrics import METRICS, Result, Scored
from replays.turns import ITEM_DIGITS, item_to_json, recall_to_json

RESULTS, TRACES, CASES, SUMMARY = "results.jsonl", "traces.jsonl", "cases.jsonl", "summary.json"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One probe put to one recipe: what came, why, and how it is scored."""

    log: str
    recipe: str
    scored: Scored
    trace: Mapping[str, Any]
    candidates: tuple[Evidence, ...] = ()  # what was found, before the gate

    @property
    def result(self) -> Result:
        """What the memory gave."""
        return self.scored.result

    @property
    def case(self) -> Case:
        """The probe."""
        return self.scored.case


def result_to_json(result: Result) -> Json:
    """Return a result with exactly the keys of the evaluation contract."""
    return {
        "id": result.id,
        "category": result.category,
        "plan": list(result.plan),
        "items": [_item(item) for item in result.items],
        "block": result.block,
        "block_tokens": result.block_tokens,
        "abstained": result.abstained,
        "degraded": result.degraded,
        "timed_out": list(result.timed_out),
        "latency_ms": dict(result.latency_ms),
        "reply": result.reply,
    }


def trace_of(recall: Recall) -> Json:
    """Return why a recall gave what it gave: the plan with its reasons, what was left out, how the steps went."""
    told, plan = recall_to_json(recall), recall.plan
    return {
        "reasons": told["reasons"],
        "requests": told["requests"],
        "targets": [
            {"viewer": target.viewer_id, "score": round(target.score, ITEM_DIGITS), "reasons": list(target.reasons)}
            for target in plan.targets
        ],
        "language": plan.language,
        "explicit_recall": plan.explicit_recall,
        "asks_memory": plan.asks_memory,
        "covered": plan.covered,
        "as_of": plan.as_of.isoformat() if plan.as_of else None,
        "left_out": told["left_out"],
        "failed": told["failed"],
        "steps": [
            {"step": step.step, "state": step.state, "in": step.items_in, "out": step.items_out, "error": step.error}
            for step in _in_order(recall)
            if "/" not in step.step or step.state != "ok"
        ],
    }


def _in_order(recall: Recall) -> list[StepTrace]:
    """Return the steps, sources and their channels in the order of the plan: they run side by side, and end as they like."""
    places = {request.name: place for place, request in enumerate(recall.plan.requests)}
    asked = sorted(
        (step for step in recall.steps if step.step.split("/")[0] in places),
        key=lambda step: (places[step.step.split("/")[0]], step.step),
    )
    beside = iter(asked)
    return [next(beside) if step.step.split("/")[0] in places else step for step in recall.steps]


def verdict_of(scored: Scored) -> dict[str, list[float] | None]:
    """Return (numerator, denominator) of every metric for one probe, None where it does not apply."""
    fractions = {name: metric(scored) for name, metric in METRICS.items()}
    return {name: list(fraction) if fraction else None for name, fraction in fractions.items()}


def case_to_json(case: Case, known: KnownIds, *, probe_id: str, log: str) -> Json:
    """Return a case with the words behind every id it names, for whoever reads the results."""
    return {
        "id": probe_id,
        "log": log,
        "at": _time(case.at),
        "category": case.category,
        "batch": [{"id": line.id, "viewer": line.user.id, "who": line.user.name, "text": line.text} for line in case.batch],
        "gold": [_statement(known, id_) for id_ in sorted(case.gold)],
        "forbidden": [_statement(known, id_) for id_ in sorted(case.forbidden)],
        "answers": list(case.answers),
        "answers_all": list(case.answers_all),
        "answer_inferred": case.answer_inferred,
        "forbidden_text": list(case.forbidden_text),
        "abstain": case.abstain,
        "settle": case.settle,
        "as_of": _time(case.as_of),
    }


class ResultFiles:
    """Writes an evaluation's files as it goes, so that what was asked before a failure is kept."""

    def __init__(self, folder: Path, recipes: Sequence[str]) -> None:
        """Open nothing yet; the first of `recipes` is the one that the summary is about."""
        self._folder = folder
        self._recipes = recipes
        self._files: dict[str, TextIO] = {}
        self._open = ExitStack()

    def write_case(self, line: Json) -> None:
        """Append one probe as it is asked."""
        _write(self._files[CASES], line)

    def write(self, asked: Asked) -> None:
        """Append one answer."""
        line = result_to_json(asked.result)
        _write(self._files[f"{asked.recipe}/{RESULTS}"], line)
        if asked.recipe == self._recipes[0]:
            _write(self._files[RESULTS], line)
        verdict = verdict_of(asked.scored)
        _write(self._files[f"{asked.recipe}/{TRACES}"], {"id": asked.result.id, **asked.trace, "verdict": verdict})

    def __enter__(self) -> Self:
        """Open every file, emptied.

        Raises:
            LogUnreadable: one cannot be written.
        """
        names = {RESULTS: self._folder / RESULTS, CASES: self._folder / CASES}
        for recipe in self._recipes:
            for name in (RESULTS, TRACES):
                names[f"{recipe}/{name}"] = self._folder / "recipes" / recipe / name
        try:
            for name, path in names.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                file = path.open("w", encoding="utf-8", errors="replace", newline="\n")
                self._files[name] = self._open.enter_context(file)
        except OSError as error:
            self._open.close()
            raise LogUnreadable(f"{self._folder} cannot be written ({error.strerror}); choose another with --out") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close every file."""
        self._open.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One probe as an evaluation left it: what was asked, what came, and why."""

    case: Json
    result: Json
    trace: Json

    @property
    def id(self) -> str:
        """The probe's id."""
        return str(self.case["id"])

    @property
    def retrieved(self) -> list[Json]:
        """The items that are not recent history."""
        return [item for item in self.result["items"] if item["section"] != "history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The folder of one evaluation, read."""

    path: Path
    summary: Json

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the summary of an evaluation.

        Raises:
            LogUnreadable: the folder holds no evaluation.
        """
        file = path / SUMMARY
        try:
            summary = json.loads(file.read_text(encoding="utf-8"))
        except OSError:
            raise LogUnreadable(f"{path} holds no evaluation; `ricordo eval LOG --out {path}` makes one") from None
        except ValueError:
            raise LogUnreadable(f"{file} is not JSON any more; run `ricordo eval` again") from None
        if not isinstance(summary, dict) or "recipes" not in summary:
            raise LogUnreadable(f"{file} is no summary of an evaluation; a replay's folder cannot be explained")
        return cls(path=path, summary=summary)

    def answers(self, recipe: str | None = None) -> Iterator[Answer]:
        """Yield every probe of a recipe, by default the judged one, in the order of the logs.

        Raises:
            LogUnreadable: there is no such recipe here, or a file is damaged.
        """
        name = recipe or str(self.summary["recipe"])
        if name not in self.summary["recipes"]:
            raise LogUnreadable(f"{self.path} holds no recipe {name!r}, but {', '.join(self.summary['recipes'])}")
        folder = self.path / "recipes" / name
        cases = {case["id"]: case for case in read_lines(self.path / CASES)}
        for result, trace in zip(read_lines(folder / RESULTS), read_lines(folder / TRACES), strict=True):
            yield Answer(case=cases[result["id"]], result=result, trace=trace)


def read_lines(path: Path) -> Iterator[Json]:
    """Yield the objects of a file of ours.

    Raises:
        LogUnreadable: it is missing, or no longer what was written; says file and line.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield json.loads(line)
                except ValueError:
                    raise LogUnreadable(f"{path}, line {number}: not JSON. Run `ricordo eval` again") from None
    except OSError as error:
        raise LogUnreadable(f"{path} cannot be read ({error.strerror}). `ricordo eval … --out DIR` writes it") from None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON document for people and scripts."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, encoding="utf-8", errors="replace")


def _write(file: TextIO, line: Json) -> None:
    file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    file.flush()


def _item(item: Item) -> Json:
    told = item_to_json(item)
    return {key: value for key, value in told.items() if key not in {"author", "at"}}


def _statement(known: KnownIds, id_: str) -> Json:
    told = asdict(known.statements[id_])
    return {"id": id_, **told, "at": _time(told["at"])}


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
