"""Answers from the block, and a judge of them, as LongMemEval's authors judge: one message, temperature 0, ten tokens, "yes".

What makes an answer right depends on the question's type; the sentences are ours, the meaning is theirs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bot.llm_errors import LlmError
from bot.llm_values import ChatMessage, Completion
from replays.benchmarks.journal import Journal
from replays.benchmarks.loading import BenchmarkError, Fields

UNANSWERABLE = ("abstention", "adversarial")  # the categories whose questions have no answer in the conversation
NOT_SAID = "Nothing of the kind was said of whom the question is about."
WRITTEN = "written:"  # before the id of an answer that is kept until it is judged
JUDGE_TOKENS = 10
ANSWER_TOKENS = 200
_PLAIN = (
    "It is right if it contains the correct answer, says the same in other words, or shows all the steps that lead to it. "
    "It is wrong if it holds only a part of what the correct answer holds."
)
_RULES = {
    "temporal-reasoning": f"{_PLAIN} A number of days, weeks or months that is off by one is forgiven.",
    "knowledge-update": f"{_PLAIN} An outdated value beside the up-to-date one is no mistake.",
    "single-session-preference": (
        "The correct answer is a description of what the user would like. The answer is right if it recalls the user's "
        "personal information and makes use of it; it need not meet every point."
    ),
}
_ABSTAIN = (
    "The question cannot be answered from what was said, for the reason given. The answer is right if it says that it "
    "cannot be answered or that something is missing, and wrong if it answers all the same."
)
_ANSWER = (
    "Answer the question from the notes of an earlier conversation. Be short. If they do not hold the answer, say that you "
    "do not know."
)


class Model(Protocol):
    """A language model that answers one message."""

    async def chat(self, messages: Sequence[ChatMessage], *, max_tokens: int | None = None) -> Completion:
        """Return the answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer to judge. `label` is somebody's verdict, for calibration; None where there is none."""

    id: str
    type: str
    abstention: bool
    question: str
    gold: str
    answer: str
    label: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Who answers and who judges, and where every word of it is kept."""

    writer: Model
    judge: Model
    journal: Journal
    on_question: Callable[[str], None] = field(default=lambda _: None)


def instruction(case: Judged) -> str:
    """Return the one message that the judge gets."""
    rule = _ABSTAIN if case.abstention else _RULES.get(case.type, _PLAIN)
    gold = "Why it cannot be answered" if case.abstention else "Correct answer"
    return (
        f"Decide whether an answer to a question is right. {rule}\n\nQuestion: {case.question}\n\n{gold}: {case.gold}\n\n"
        f"Answer: {case.answer}\n\nIs the answer right? Reply yes or no only."
    )


async def verdict(judge: Model, case: Judged) -> tuple[bool, Completion]:
    """Return whether "yes" stands in the judge's lower-cased reply, and the reply.

    Raises:
        BenchmarkError: the judge said neither yes nor no.
        LlmError: the model failed.
    """
    said = await judge.chat([ChatMessage(role="user", content=instruction(case))], max_tokens=JUDGE_TOKENS)
    text = said.text.casefold()
    if "yes" not in text and "no" not in text:
        raise BenchmarkError(
            f"the judge replied {said.text[:60]!r} to {case.id}, neither yes nor no: use another model as judge"
        )
    return "yes" in text, said


async def calibrate(cases: Sequence[Judged], judging: Judging) -> None:
    """Judge answers that somebody's model judged before; verdicts that the journal holds are not asked again."""
    for case in cases:
        if f"calibration:{case.id}" in judging.journal.rows or case.label is None:
            continue
        right, said = await _told(verdict(judging.judge, case))
        row = {"id": f"calibration:{case.id}", "type": _group(case), "label": case.label, "right": right, **_tokens(said)}
        judging.journal.add(row)
        judging.on_question(case.id)


async def answer(rows: Sequence[Mapping[str, Any]], judging: Judging) -> None:
    """Answer each question from the block that the raw log kept, and judge it; what the journal holds is not asked again.

    An answer is kept before it is judged: where the judge fails, the next run goes on with the judge.
    """
    for row in rows:
        if f"answer:{row['id']}" in judging.journal.rows:
            continue
        text = await _written(row, judging)
        abstention = row["category"] in UNANSWERABLE
        case = Judged(
            id=row["id"],
            type=row["category"],
            abstention=abstention,
            question=row["question"],
            gold=row["answer"] or (NOT_SAID if abstention else ""),
            answer=text,
        )
        right, said = await _told(verdict(judging.judge, case))
        judging.journal.add(
            {"id": f"answer:{row['id']}", "type": _group(case), "right": right, "answer": text, **_tokens(said)}
        )
        judging.on_question(row["id"])


async def _written(row: Mapping[str, Any], judging: Judging) -> str:
    kept = f"{WRITTEN}{row['id']}"
    if kept not in judging.journal.rows:
        prompt = f"{_ANSWER}\n\nNotes:\n{row['block'] or '(no notes)'}\n\nQuestion: {row['question']}"
        said = await _told(judging.writer.chat([ChatMessage(role="user", content=prompt)], max_tokens=ANSWER_TOKENS))
        judging.journal.add({"id": kept, "answer": said.text, **_tokens(said)})
    return str(judging.journal.rows[kept]["answer"])


async def _told(asked: Any) -> Any:  # noqa: ANN401 whatever the call gives
    try:
        return await asked
    except LlmError as error:
        raise BenchmarkError(f"{error}. What was answered so far is kept: run the command again to go on") from None


def judged_summary(journal: Journal, prices: tuple[float, float] = (0.0, 0.0)) -> dict[str, Any]:
    """Return the judge's agreement by type, the share of right answers by type, and the tokens and the cost of it all.

    `prices` are those of a million tokens read and written; without any the cost is None.
    """
    rows = list(journal.rows.values())
    cases = [row for row in rows if row["id"].startswith("calibration:")]
    answers = [row for row in rows if row["id"].startswith("answer:")]
    right = _by_type(answers, lambda row: bool(row["right"]))
    read, written = (sum(row[name] for row in rows) for name in ("prompt_tokens", "completion_tokens"))
    types = [figures["value"] for name, figures in right.items() if name not in {"all", "abstention"}]
    return {
        "judge_agreement": _by_type(cases, lambda row: row["right"] == row["label"]),
        "right": right,
        "right_mean_over_types": round(sum(types) / len(types), 4) if types else None,
        "prompt_tokens": read,
        "completion_tokens": written,
        "cost": round((read * prices[0] + written * prices[1]) / 1e6, 6) if any(prices) else None,
    }


def read_judge_cases(path: Path) -> list[Judged]:
    """Return judged answers, a JSON object a line.

    Raises:
        BenchmarkError: the file is unreadable or of another version; names line and field.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{path} is not UTF-8: {error}") from None
    entries = [_fields(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]
    return [
        Judged(
            id=entry.optional("id"),
            type=entry.need("type", str),
            abstention=entry.need("abstention", bool),
            question=entry.need("question", str),
            gold=entry.optional("gold"),
            answer=entry.need("answer", str),
            label=None if entry.all.get("label") is None else entry.need("label", bool),
        )
        for entry in entries
    ]


def _fields(line: str, path: Path, number: int) -> Fields:
    try:
        return Fields(json.loads(line), file=path, where=f"line {number}")
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"{path}, line {number}: not JSON: {error}") from None


def _group(case: Judged) -> str:
    return "abstention" if case.abstention else case.type


def _tokens(said: Completion) -> dict[str, int]:
    return {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.completion_tokens}


def _by_type(rows: Sequence[Mapping[str, Any]], right: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any]:
    groups: dict[str, list[bool]] = {}
    for row in rows:
        groups.setdefault(row["type"], []).append(right(row))
    if groups:
        groups["all"] = [value for values in list(groups.values()) for value in values]
    return {
        name: {"value": round(sum(values) / len(values), 4), "count": len(values)} for name, values in sorted(groups.items())
    }
