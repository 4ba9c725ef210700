"""What is said twice is shown once: across the sections of the block, and against the recent history. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.model import SECTIONS, Batch, Document, Evidence, LeftOut, Window
from memory.normalise import same_key, words
from memory.recipes import Recipe

SAME_WORDS = 0.6  # share of a message's words from which a fact drawn from it says the same


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """The lines that stand in the prompt anyway."""

    ids: frozenset[str]
    said: frozenset[str]  # author and text, normalised


@dataclass(slots=True)
class _Shown:
    """What the prompt holds already."""

    keys: set[str] = field(default_factory=set)  # subject and text, normalised
    ids: set[str] = field(default_factory=set)  # lines shown word for word
    facts: dict[str, list[frozenset[str]]] = field(default_factory=dict)  # message id -> words of statements drawn from it


def drop_repeats(
    evidence: Sequence[Evidence], window: Window, batch: Batch, recipe: Recipe
) -> tuple[tuple[Evidence, ...], tuple[LeftOut, ...]]:
    """Return the evidence without what stands in the history or the batch (`in_history`) or was taken before (`repeat`).

    Sections are filled in the order profile, recall, episode, lore, state, so that a consolidated fact comes before the
    message behind it; the message stays beside its fact only where it says clearly more. Texts are compared without case,
    accents, punctuation, spaces and invisible characters. Messages that share their provenance are one. A turn loses the
    lines that are shown elsewhere, and goes where none is left. The order of what stays is that of `evidence`.
    """
    if not evidence or not recipe.dedup:
        return tuple(evidence), ()
    history = _in_prompt(window, batch)
    shown = _Shown()
    kept: dict[int, Evidence] = {}
    left: list[LeftOut] = []
    for place, item in sorted(enumerate(evidence), key=lambda pair: (SECTIONS.index(pair[1].section), pair[0])):
        trimmed, reason = _trimmed(item, history, shown)
        if reason:
            left.append(
                LeftOut(
                    source=item.request.name,
                    document_id=item.document.id,
                    reason=reason,
                    score=item.score,
                    provenance=item.document.provenance,
                )
            )
        else:
            kept[place] = trimmed
            _remember(trimmed.document, shown)
    return tuple(kept[place] for place in sorted(kept)), tuple(left)


def _in_prompt(window: Window, batch: Batch) -> _History:
    lines = [(line.id, line.author, line.text) for line in window.lines]
    lines += [(line.id, line.user, line.text or "") for line in batch.lines]
    return _History(
        ids=frozenset(line_id for line_id, _, _ in lines),
        said=frozenset(_said(author.id, text) for _, author, text in lines if author and same_key(text)),
    )


def _said(who: str | None, text: str) -> str:
    return f"{who}\x1f{same_key(text)}"


def _trimmed(item: Evidence, history: _History, shown: _Shown) -> tuple[Evidence, str]:
    document = item.document
    if document.kind in {"line", "turn"}:
        return _trimmed_turn(item, history, shown)
    if document.kind != "lore" and _in_history(document, history):
        return item, "in_history"
    return item, "repeat" if _is_repeat(document, shown) else ""


def _in_history(document: Document, history: _History) -> bool:
    sources = frozenset(document.provenance)
    return (bool(sources) and sources <= history.ids) or _said(document.author, document.text) in history.said


def told_by_facts(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the messages whose words stand, for the greater part, in facts that were drawn from them and are there too."""
    found = tuple(documents)
    facts: dict[str, list[frozenset[str]]] = {}
    for document in found:
        if document.kind == "fact":
            for source in document.provenance:
                facts.setdefault(source, []).append(frozenset(words(document.text)))
    return tuple(one for one in found if one.kind == "message" and _is_stated(one, facts))


def _is_stated(document: Document, facts: Mapping[str, Sequence[frozenset[str]]]) -> bool:
    said = frozenset(words(document.text))
    stated = [fact for source in document.provenance for fact in facts.get(source, ())]
    return any(len(said & fact) >= SAME_WORDS * len(said) for fact in stated)


def _is_repeat(document: Document, shown: _Shown) -> bool:
    if _said(document.subject, document.text) in shown.keys:
        return True
    if document.kind not in {"message", "reply"}:
        return False
    if shown.ids.intersection(document.provenance):
        return True
    return _is_stated(document, shown.facts)


def _trimmed_turn(item: Evidence, history: _History, shown: _Shown) -> tuple[Evidence, str]:
    lines = item.document.text.split("\n")
    if len(lines) != len(item.document.provenance):  # not one line a message: nothing can be taken out
        gone = set(item.document.provenance) <= history.ids
        return item, "in_history" if gone else ""
    pairs = list(zip(item.document.provenance, lines, strict=True))
    fresh = [(source, line) for source, line in pairs if source not in history.ids and source not in shown.ids]
    if not fresh:
        return item, "in_history" if any(source in history.ids for source, _ in pairs) else "repeat"
    if len(fresh) == len(pairs):
        return item, ""
    document = replace(
        item.document, provenance=tuple(source for source, _ in fresh), text="\n".join(line for _, line in fresh)
    )
    return replace(item, document=document), ""


def _remember(document: Document, shown: _Shown) -> None:
    if document.kind in {"fact", "claim"}:
        for source in document.provenance:
            shown.facts.setdefault(source, []).append(frozenset(words(document.text)))
    else:
        shown.ids.update(document.provenance)
    shown.keys.add(_said(document.subject, document.text))
