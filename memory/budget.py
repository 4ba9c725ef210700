"""The memory block within its token budget: which lines get in, in which section, and what is left out and why. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory.block import CLOSING, OPENING, Setting, evidence_item, excerpt, state_item
from memory.model import Block, Evidence, Item, LeftOut, Plan, Section, StateRecord, Stream, Window
from memory.normalise import words
from memory.recipes import Limits, Recipe
from memory.tokens import count_tokens
from memory.wording import Wording, wording

ORDER: tuple[Section, ...] = ("state", "lore", "profile", "recall", "episode")  # by authority


@dataclass(slots=True)
class _Page:
    """The block as it fills."""

    limits: Limits
    words: Wording
    used: int
    items: list[Item] = field(default_factory=list)
    spent: dict[Section, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, item: Item, document_id: str) -> None:
        """Put the item in, or note why not."""
        heading = 0 if item.section in self.spent else count_tokens(f"\n## {self.words.headings[item.section]}")
        cost = heading + item.tokens + 1  # and its line break
        spent = self.spent.get(item.section, 0)
        share = self.limits.section_shares.get(item.section, 1.0) * self.limits.block_tokens
        if self.used + cost > self.limits.block_tokens or spent + cost > share:
            reason = "block_full" if self.used + cost > self.limits.block_tokens else "section_full"
            self.left_out.append(
                LeftOut(
                    source=item.source, document_id=document_id, reason=reason, score=item.score, provenance=item.provenance
                )
            )
            return
        self.items.append(item)
        self.spent[item.section] = spent + cost
        self.used += cost


def fit(  # noqa: PLR0913 - what a block is made from, each of its own kind and named
    evidence: Sequence[Evidence],
    plan: Plan,
    window: Window,
    *,
    stream: Stream,
    viewers: Mapping[str, str],
    state: Sequence[StateRecord],
    language: str,
    recipe: Recipe,
    now: datetime,
    unsure: bool = False,
) -> Block:
    """Return the block: at most `block_tokens` tokens by `count_tokens`, sections by authority, every line quoted data.

    Within a section the sources take turns, best first, so that no viewer crowds out another. Facts that were superseded by
    the moment asked about (now, or `plan.as_of`) stay out. Where memory was asked and holds nothing, the block says that
    and `abstained` is true; so it does, above its lines, where these may not answer; where there is nothing to say it is empty.

    Args:
        evidence: best first within each source.
        plan: tells whether memory was asked.
        window: the recent history; state records whose only trace stands there are shown all the same.
        stream: the present stream; the bot's own name is taken from it.
        viewers: display names by viewer id, for all ids in the evidence and the state.
        state: live records, shown first; at most `state_hits`.
        language: of headings and fixed words.
        recipe: limits and shares.
        now: the moment of the turn.
        unsure: what was found probably does not answer.
    """
    fixed = wording(language)
    setting = Setting(words=fixed, viewers={**viewers, stream.bot.id: stream.bot.name}, now=now)
    page = _Page(limits=recipe.limits, words=fixed, used=count_tokens(_frame(fixed, fixed.unsure if unsure else "")))
    current, page.left_out = _current(evidence, plan, now)
    for record in state[: recipe.limits.state_hits]:
        page.add(state_item(record, setting), record.id)
    for section in ORDER:
        for found in _in_turns([one for one in current if one.section == section]):
            cut = replace(found, document=excerpt(found.document, words(found.request.query)))
            page.add(evidence_item(cut, setting), found.document.id)
    return _bound(page, plan, covered=plan.covered and bool(window.lines), unsure=unsure)


def _bound(page: _Page, plan: Plan, *, covered: bool, unsure: bool) -> Block:
    left = tuple(page.left_out)
    if page.items:
        head = [page.words.unsure] if unsure else []
        text = _frame(page.words, "\n".join([*head, *_lines(page)]))
        return Block(text=text, items=tuple(page.items), tokens=count_tokens(text), left_out=left, abstained=unsure)
    if (plan.explicit_recall or plan.asks_memory) and not covered:
        text = f"{OPENING}\n{page.words.nothing}\n{CLOSING}"
        return Block(text=text, tokens=count_tokens(text), left_out=left, abstained=True)
    return Block(left_out=left)


def _frame(fixed: Wording, body: str) -> str:
    return "\n".join(part for part in (OPENING, fixed.preface, body, CLOSING) if part)


def _lines(page: _Page) -> Iterable[str]:
    for section in ORDER:
        inside = [item.text for item in page.items if item.section == section]
        if inside:
            yield f"## {page.words.headings[section]}"
            yield from inside


def _current(evidence: Sequence[Evidence], plan: Plan, now: datetime) -> tuple[list[Evidence], list[LeftOut]]:
    moment = plan.as_of or now
    current, left = [], []
    for item in evidence:
        ended = item.document.invalid_at
        if ended is not None and ended <= moment:
            left.append(
                LeftOut(
                    source=item.request.name,
                    document_id=item.document.id,
                    reason="superseded",
                    score=item.score,
                    provenance=item.document.provenance,
                )
            )
        else:
            current.append(item)
    return current, left


def _in_turns(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence with the sources taking turns, each in its own order."""
    places: dict[str, int] = {}
    numbered = []
    for order, item in enumerate(evidence):
        place = places.get(item.request.name, 0)
        places[item.request.name] = place + 1
        numbered.append((place, order, item))
    return [item for _, _, item in sorted(numbered, key=lambda entry: entry[:2])]
