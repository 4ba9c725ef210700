"""LoCoMo through the memory: an outsider asks the bot about two people whose dialogue was the chat of many streams."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory import Item, Memory, Recipe, VirtualClock, count_tokens
from replays.benchmarks.asking import Question, ask, by_score, sources_of, unhurried, wide, within
from replays.benchmarks.feeding import ARCHIVE, ASKER, WHOLE_SESSION, Opener, Session, as_archive, begin_questions, feed
from replays.benchmarks.locomo_file import ADVERSARIAL, Asked, Conversation, after
from replays.benchmarks.ranking import recall_at, reciprocal_rank
from replays.benchmarks.spread import Rows
from replays.metrics import folded

BUDGETS = {"1k": 1000, "2k": 2000, "4k": 4000}
MEMORY, BOTH, ARCHIVED, LEXICAL, DENSE, FULL_CONTEXT = (
    "memory",
    "memory, both speakers",
    "single archive",
    "BM25 alone",
    "dense alone",
    "full context",
)
BLOCK = "memory, the bot's block"
_LOGGED = 20  # ids of each ranking that the raw log keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoRun:
    """What a run needs. `opener` opens a memory in a folder; `journal` takes every answered question at once."""

    opener: Opener
    recipe: Recipe
    journal: Rows


async def run_locomo(conversations: Sequence[Conversation], run: LocomoRun) -> None:
    """Ask every question that the journal does not hold yet. Conversations that are done are not fed again."""
    for conversation in conversations:
        missing = run.journal.missing([asked.id for asked in conversation.questions])
        if missing:
            await _converse(conversation, [asked for asked in conversation.questions if asked.id in missing], run)


async def _converse(conversation: Conversation, questions: Sequence[Asked], run: LocomoRun) -> None:
    with TemporaryDirectory(prefix="locomo-") as folder:
        archived = await _archived(conversation, questions, run, Path(folder) / "archive")
        start = conversation.sessions[0].at
        clock = VirtualClock(start)
        async with run.opener(Path(folder) / "memory", clock) as memory:
            await feed(memory, clock, conversation.sessions)
            stream = await begin_questions(memory, clock, clock.now() + after(conversation))
            for asked in questions:
                question = Question(id=asked.id, text=asked.text, at=clock.now(), stream_id=stream, by=ASKER)
                row = await _answered(memory, question, asked, conversation, recipe=run.recipe)
                row["systems"] |= archived[asked.id]["systems"]
                row["rankings"] |= archived[asked.id]["rankings"]
                run.journal.add(row)


async def _archived(
    conversation: Conversation, questions: Sequence[Asked], run: LocomoRun, folder: Path
) -> dict[str, dict[str, Any]]:
    """Return the baselines of each question: the same words in one collection, searched by both channels and by each alone."""
    clock = VirtualClock(conversation.sessions[0].at)
    channels = {ARCHIVED: run.recipe.channels, LEXICAL: {"lexical"}, DENSE: {"dense"}}
    rows: dict[str, dict[str, Any]] = {}
    async with run.opener(folder, clock) as memory:
        await feed(memory, clock, as_archive(conversation.sessions), turn_lines=WHOLE_SESSION)
        stream = await begin_questions(memory, clock, clock.now() + after(conversation))
        for asked in questions:
            row: dict[str, Any] = {"systems": {FULL_CONTEXT: _full_context(asked, conversation.sessions)}, "rankings": {}}
            question = Question(id=asked.id, text=asked.text, at=clock.now(), stream_id=stream, by=ASKER, about=(ARCHIVE,))
            for name, kinds in channels.items():
                items = by_score(await ask(memory, question, wide(run.recipe, channels=kinds, sources=("recall",))))
                row["systems"][name] = ranked_metrics(items, asked)
                row["rankings"][name] = sources_of(items)[:_LOGGED]
            rows[asked.id] = row
    return rows


async def _answered(
    memory: Memory, question: Question, asked: Asked, conversation: Conversation, *, recipe: Recipe
) -> dict[str, Any]:
    planned = await ask(memory, question, wide(recipe))
    both = await ask(memory, replace(question, about=conversation.speakers), wide(recipe))
    block = await ask(memory, question, unhurried(recipe))
    systems = {MEMORY: ranked_metrics(by_score(planned), asked), BOTH: ranked_metrics(by_score(both), asked)}
    items = block.block.items
    systems[BLOCK] = block_metrics(items, asked, conversation.authors, text=block.block.text, tokens=block.block.tokens)
    systems[BLOCK]["abstained"] = float(block.block.abstained)
    systems[BLOCK]["searched"] = float(bool(block.plan.requests))
    systems[BLOCK]["late"] = float(planned.degraded or both.degraded or block.degraded)
    return {
        "id": asked.id,
        "category": asked.category,
        "question": asked.text,
        "answer": asked.answer,
        "gold": list(asked.gold),
        "plan": list(block.plan.reasons),
        "block": block.block.text,
        "systems": systems,
        "rankings": {MEMORY: sources_of(by_score(planned))[:_LOGGED], BOTH: sources_of(by_score(both))[:_LOGGED]},
    }


def ranked_metrics(items: Sequence[Item], asked: Asked) -> dict[str, float | None]:
    """Return recall@5, recall@10 and MRR by turn, and within each budget of tokens the evidence recall and the answer."""
    ranking, gold = sources_of(items), asked.gold
    metrics: dict[str, float | None] = {
        "recall@5": recall_at(ranking, gold, 5) if gold else None,
        "recall@10": recall_at(ranking, gold, 10) if gold else None,
        "mrr": reciprocal_rank(ranking, gold) if gold else None,
    }
    for name, tokens in BUDGETS.items():
        taken = within(items, tokens)
        metrics[f"recall {name}"] = recall_at(sources_of(taken), gold, len(ranking)) if gold else None
        metrics[f"answer {name}"] = holds("\n".join(item.text for item in taken), asked)
    return metrics


def holds(text: str, asked: Asked) -> float | None:
    """Return 1 where the answer stands in the text, case and accents aside; None for questions that have none."""
    if asked.category == ADVERSARIAL or not asked.answer.strip():
        return None
    return float(folded(asked.answer) in folded(text))


def block_metrics(
    items: Sequence[Item], asked: Asked, authors: dict[str, str], *, text: str, tokens: int
) -> dict[str, float | None]:
    """Return the figures of the block that the bot's model would read, gate and budget in force.

    Of an adversarial question, which gives one speaker's doings to the other: `trap shown`, the block holds the other's turn
    (under its true name, which is no fault); `trap answer`, the wrong answer stands in a personal line of somebody who did not
    write it. `misattributed` is the share of personal lines with a turn that their subject did not write.
    """
    gold, shown = asked.gold, sources_of(items)
    personal = [item for item in items if item.section in {"profile", "recall"}]
    foreign = [item for item in personal if any(authors.get(source) not in {None, item.subject} for source in item.provenance)]
    relevant = sum(1 for item in items if set(gold).intersection(item.provenance))
    metrics: dict[str, float | None] = {
        "recall": recall_at(shown, gold, len(shown)) if gold else None,
        "answer": holds(text, asked),
        "precision": relevant / len(items) if items and gold else None,
        "misattributed": len(foreign) / len(personal) if personal else None,
        "tokens": float(tokens),
    }
    if asked.category == ADVERSARIAL:
        metrics["trap shown"] = float(bool(set(gold).intersection(shown))) if gold else None
        trap = folded(asked.trap)
        metrics["trap answer"] = float(bool(trap) and any(trap in folded(item.text) for item in foreign))
    return metrics


def _full_context(asked: Asked, sessions: Sequence[Session]) -> dict[str, float | None]:
    """Return what a prompt with the whole dialogue holds, or with as many of the newest turns as fit."""
    lines = [line for session in sessions for line in session.lines]
    spoken = [f"{line.speaker.name}: {line.text}" for line in lines]
    costs = [count_tokens(text) for text in spoken]
    metrics: dict[str, float | None] = {"tokens": float(sum(costs))}
    for name, tokens in {**BUDGETS, "whole": sum(costs)}.items():
        used, first = 0, len(lines)
        while first > 0 and used + costs[first - 1] <= tokens:
            first -= 1
            used += costs[first]
        ids = [line.id for line in lines[first:]]
        metrics[f"recall {name}"] = recall_at(ids, asked.gold, len(ids)) if asked.gold else None
        metrics[f"answer {name}"] = holds("\n".join(spoken[first:]), asked)
    return metrics
