"""A benchmark's question, put to the memory in the chat, and what came back as a ranking and as a block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory import Batch, Deadlines, Gate, Item, Memory, Message, Recall, Recipe, Viewer
from replays.benchmarks.feeding import BOT_VIEWER

DEPTH = 50  # hits asked of each source where a ranking is wanted
_EVERYTHING = 10_000_000
_NO_HURRY = Deadlines(source_seconds=20.0, retrieve_seconds=25.0, recall_seconds=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, who asks it when, and whom it is about, where the message marks them as mentioned."""

    id: str
    text: str
    at: datetime
    stream_id: str
    by: Viewer
    about: tuple[Viewer, ...] = ()


async def ask(memory: Memory, question: Question, recipe: Recipe) -> Recall:
    """Return what the memory recalls for a question that speaks to the bot. It is not observed and leaves no trace."""
    message = Message(
        id=f"question:{question.id}",
        at=question.at,
        user=question.by,
        text=f"@{BOT_VIEWER.login} {question.text}",
        mentions=(BOT_VIEWER, *question.about),
    )
    batch = Batch(stream_id=question.stream_id, lines=(message,), closed_at=question.at, flush_reason="probe")
    return await memory.recall(batch, recipe)


def unhurried(recipe: Recipe) -> Recipe:
    """Return the recipe with deadlines that a busy machine meets: what is found is measured here, not when."""
    return replace(recipe, deadlines=_NO_HURRY)


def wide(recipe: Recipe, *, channels: Iterable[str] | None = None, sources: Iterable[str] = ("recall", "episode")) -> Recipe:
    """Return the recipe that shows a ranking: no gate, no budget, `DEPTH` hits a source; channels and sources as given.

    The profile is no search and has no ranking: it is left out.
    """
    limits = replace(
        recipe.limits,
        viewer_hits=DEPTH,
        episode_hits=DEPTH,
        block_tokens=_EVERYTHING,
        section_shares=dict.fromkeys(recipe.limits.section_shares, 1.0),
    )
    return replace(
        unhurried(recipe),
        sources=frozenset(sources),
        channels=recipe.channels if channels is None else frozenset(channels),
        dedup=False,
        coverage_check=False,
        limits=limits,
        gate=Gate(off=True),
    )


def by_score(recall: Recall) -> list[Item]:
    """Return the items of a recall, best fused score first; scores of several sources are compared as they are."""
    return sorted(recall.block.items, key=lambda item: -item.score)


def sources_of(items: Iterable[Item]) -> list[str]:
    """Return what stands behind the items, each id once, in their order."""
    return list(dict.fromkeys(source for item in items for source in item.provenance))


def within(items: Sequence[Item], tokens: int) -> list[Item]:
    """Return the items, in their order, until the next one would exceed `tokens`."""
    taken, used = [], 0
    for item in items:
        used += item.tokens
        if used > tokens:
            break
        taken.append(item)
    return taken
