"""LongMemEval through the memory: the user is a viewer, the assistant another bot, each session a stream; the user asks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory import Item, Memory, Recall, Recipe, VirtualClock, count_tokens
from replays.benchmarks.asking import Question, ask, by_score, sources_of, unhurried, wide, within
from replays.benchmarks.feeding import ARCHIVE, ASKER, WHOLE_SESSION, Opener, as_archive, begin_questions, feed
from replays.benchmarks.longmemeval_file import USER, Instance, Listed, read_instance, session_of, turn_of
from replays.benchmarks.ranking import ndcg, recall_all, recall_any, recall_at
from replays.benchmarks.spread import Rows
from replays.metrics import folded

BUDGETS = {"2k": 2000, "4.4k": 4400, "9.6k": 9600}
CUTS = (5, 10)
_LOGGED = 50
Metrics = dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LongMemEvalRun:
    """What a run needs. `opener` opens a memory in a folder; `journal` takes every answered question at once."""

    opener: Opener
    recipe: Recipe
    journal: Rows


async def run_longmemeval(listed: Sequence[Listed], run: LongMemEvalRun) -> None:
    """Answer every question that the journal does not hold yet, each in a memory of its own."""
    missing = run.journal.missing([entry.id for entry in listed])
    for entry in listed:
        if entry.id in missing:
            run.journal.add(await _answered(read_instance(entry), run))


async def _answered(instance: Instance, run: LongMemEvalRun) -> dict[str, Any]:
    with TemporaryDirectory(prefix="longmemeval-") as folder:
        row = await _remembered(instance, run, Path(folder) / "memory")
        archive = await _archived(instance, run, Path(folder) / "archive")
    row["systems"]["single archive"] = ranked_metrics(archive, instance)
    row["systems"]["full history"] = full_history(instance)
    row["rankings"]["single archive"] = sources_of(archive)[:_LOGGED]
    return row


async def _remembered(instance: Instance, run: LongMemEvalRun, folder: Path) -> dict[str, Any]:
    clock = VirtualClock(min((session.at for session in instance.sessions), default=instance.at))
    async with run.opener(folder, clock) as memory:
        await feed(memory, clock, instance.sessions)  # everything is consolidated before the question is known
        stream = await begin_questions(memory, clock, instance.at)
        question = Question(id=instance.id, text=instance.text, at=clock.now(), stream_id=stream, by=USER)
        found = await _rankings(memory, question, run.recipe)
        block = await ask(memory, question, unhurried(run.recipe))
    systems = {name: ranked_metrics(items, instance) for name, items in found.items()}
    systems["memory, the bot's block"] = block_metrics(block, instance)
    return {
        "id": instance.id,
        "category": "abstention" if instance.abstention else instance.type,
        "question": instance.text,
        "answer": instance.answer,
        "audit_answer": instance.audit_answer,
        "sessions": len(instance.sessions),
        "sessions_after_the_question": instance.later,
        "flags": instance.gold_turns is not None,
        "plan": list(block.plan.reasons),
        "block": block.block.text,
        "systems": systems,
        "rankings": {name: sources_of(items)[:_LOGGED] for name, items in found.items()},
    }


async def _rankings(memory: Memory, question: Question, recipe: Recipe) -> dict[str, list[Item]]:
    """Return the user's own question as the planner routes it; and the user's turns searched whatever the planner thinks."""
    outside = replace(question, by=ASKER, about=(USER,), text=f"{question.text.rstrip('?')}?")
    forced = {"user turns": recipe.channels, "BM25 alone": {"lexical"}, "dense alone": {"dense"}}
    found = {"memory": by_score(await ask(memory, question, wide(recipe)))}
    for name, channels in forced.items():
        found[name] = by_score(await ask(memory, outside, wide(recipe, channels=channels, sources=("recall",))))
    return found


async def _archived(instance: Instance, run: LongMemEvalRun, folder: Path) -> list[Item]:
    """Return the ranking of all turns, the assistant's among them, in one collection."""
    sessions = as_archive(instance.sessions)
    clock = VirtualClock(min((session.at for session in sessions), default=instance.at))
    async with run.opener(folder, clock) as memory:
        await feed(memory, clock, sessions, turn_lines=WHOLE_SESSION)
        stream = await begin_questions(memory, clock, instance.at)
        question = Question(
            id=instance.id,
            text=f"{instance.text.rstrip('?')}?",
            at=clock.now(),
            stream_id=stream,
            by=ASKER,
            about=(ARCHIVE,),
        )
        return by_score(await ask(memory, question, wide(run.recipe, sources=("recall",))))


def ranked_metrics(items: Sequence[Item], instance: Instance) -> Metrics:
    """Return recall_any, recall_all and NDCG by session and by turn, and within each budget what the block would hold.

    Questions that cannot be answered have no figures but those of the answer; turns have none where the file has no flags.
    """
    turns = list(dict.fromkeys(turn_of(source) for source in sources_of(items)))
    sessions = list(dict.fromkeys(session_of(turn) for turn in turns))
    right = frozenset() if instance.abstention else instance.gold_sessions
    turn_gold = None if instance.abstention else instance.gold_turns
    metrics: Metrics = {**_retrieval("session", sessions, right), **_retrieval("turn", turns, turn_gold)}
    for name, tokens in BUDGETS.items():
        taken = within(items, tokens)
        shown = [session_of(turn_of(source)) for source in sources_of(taken)]
        text = "\n".join(item.text for item in taken)
        metrics[f"sessions {name}"] = recall_at(shown, right, len(shown)) if right else None
        metrics[f"answer {name}"] = holds(text, instance, instance.answer)
        metrics[f"audited answer {name}"] = holds(text, instance, instance.audit_answer)
    return metrics


def _retrieval(what: str, ranking: Sequence[str], gold: frozenset[str] | None) -> Metrics:
    metrics: Metrics = {}
    for k in CUTS:
        metrics[f"{what} recall_any@{k}"] = recall_any(ranking, gold, k) if gold else None
        metrics[f"{what} recall_all@{k}"] = recall_all(ranking, gold, k) if gold else None
        metrics[f"{what} ndcg@{k}"] = ndcg(ranking, gold, k, convention="standard") if gold else None
        metrics[f"{what} official ndcg@{k}"] = ndcg(ranking, gold, k, convention="official") if gold else None
    return metrics


def holds(text: str, instance: Instance, answer: str) -> float | None:
    """Return 1 where the answer stands in the text; None where there is none to find, or the gold is a rubric (preference)."""
    if instance.abstention or instance.type == "single-session-preference" or not answer.strip():
        return None
    return float(folded(answer) in folded(text))


def block_metrics(recall: Recall, instance: Instance) -> Metrics:
    """Return the figures of the block that the bot's model would read, gate and budget in force."""
    block = recall.block
    shown = [session_of(turn_of(source)) for source in sources_of(block.items)]
    right = frozenset() if instance.abstention else instance.gold_sessions
    relevant = sum(1 for item in block.items if {session_of(turn_of(source)) for source in item.provenance} & right)
    return {
        "sessions": recall_at(shown, right, len(shown)) if right else None,
        "answer": holds(block.text, instance, instance.answer),
        "audited answer": holds(block.text, instance, instance.audit_answer),
        "precision": relevant / len(block.items) if block.items and right else None,
        "tokens": float(block.tokens),
        "abstained": float(block.abstained),
        "searched": float(bool(recall.plan.requests)),
        "late": float(recall.degraded),
    }


def full_history(instance: Instance) -> Metrics:
    """Return what a prompt with the whole history holds, or with as many of the newest lines as fit."""
    spoken = [(session.id, f"{line.speaker.name}: {line.text}") for session in instance.sessions for line in session.lines]
    costs = [count_tokens(text) for _, text in spoken]
    right = frozenset() if instance.abstention else instance.gold_sessions
    metrics: Metrics = {"tokens": float(sum(costs))}
    for name, tokens in {**BUDGETS, "whole": sum(costs)}.items():
        used, first = 0, len(spoken)
        while first > 0 and used + costs[first - 1] <= tokens:
            first -= 1
            used += costs[first]
        shown = [session for session, _ in spoken[first:]]
        text = "\n".join(line for _, line in spoken[first:])
        metrics[f"sessions {name}"] = recall_at(shown, right, len(shown)) if right else None
        metrics[f"answer {name}"] = holds(text, instance, instance.answer)
        metrics[f"audited answer {name}"] = holds(text, instance, instance.audit_answer)
    return metrics
