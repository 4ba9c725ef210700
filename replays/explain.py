"""The whole trace of one probe, as a person would read it: what was wanted, where it was looked for, and what became of it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memory import counted
from replays.metrics import METRICS
from replays.results import Answer, Folder

Json = dict[str, Any]
REASONS = {
    "repeat": "it repeats another item",
    "in_history": "the recent history shows it already",
    "below_gate": "its score was too low",
    "section_full": "its section was full",
    "block_full": "the block was full",
    "superseded": "something newer superseded it",
}


class NoSuchProbe(Exception):
    """The evaluation holds no probe of that id; the text names near ones."""


def find_answer(folder: Folder, probe_id: str, recipe: str | None = None) -> Answer:
    """Return what a recipe gave one probe.

    Raises:
        NoSuchProbe: there is none of that id.
        LogUnreadable: the folder cannot be read, or holds no such recipe.
    """
    ids = []
    for answer in folder.answers(recipe):
        if answer.id == probe_id:
            return answer
        ids.append(answer.id)
    raise NoSuchProbe(f"{folder.path} holds no probe {probe_id!r}; there are {len(ids)}, such as {', '.join(ids[:3])}")


def fate(gold_id: str, answer: Answer) -> str:
    """Return what became of a piece of evidence: where it stands in the prompt, or at which step it was lost."""
    for item in answer.result["items"]:
        if gold_id in item["provenance"]:
            return "found in the recent history" if item["section"] == "history" else f"found by {item['source']}"
    for left in answer.trace["left_out"]:
        if gold_id in left["provenance"]:
            return f"left out by {left['source']}: {REASONS.get(left['reason'], left['reason'])} ({left['score']:.3f})"
    if answer.result["timed_out"] or answer.trace["failed"]:
        return "missed: a source was late or failed"
    if not answer.trace["requests"] and len(answer.result["plan"]) == 1:
        return "missed: nothing was searched"
    return "missed: no source that was asked came back with it"


def missed(answer: Answer) -> list[Json]:
    """Return the gold statements that no item rests on."""
    found = {id_ for item in answer.result["items"] for id_ in item["provenance"]}
    return [gold for gold in answer.case["gold"] if gold["id"] not in found]


def explained(answer: Answer) -> list[str]:
    """Return the trace of one probe, a line each."""
    parts = (_asked, _wanted, _planned, _items, _left_out, _block, _verdict)
    return [line for part in parts for line in part(answer)]


def _asked(answer: Answer) -> Iterator[str]:
    case = answer.case
    yield f"{case['id']} · {case['category']} · {case['log']}, {_when(case['at'])}"
    for line in case["batch"]:
        yield f"  {line['who']}: {_one_line(line['text'])}"
    if case["as_of"]:
        yield f"  asked as of {_when(case['as_of'])}"
    if not case["settle"]:
        yield "  asked before the background jobs ran"


def _wanted(answer: Answer) -> Iterator[str]:
    case = answer.case
    yield from ("", "WANTED")
    for gold in case["gold"]:
        yield f"  {_said(gold)}"
        yield f"      {fate(gold['id'], answer)}"
    if not case["gold"]:
        yield "  no evidence: " + ("the memory must say that it does not know" if case["abstain"] else "nothing to be found")
    if case["answers"]:
        inferred = " (to be worked out, not literally there)" if case["answer_inferred"] else ""
        yield f"  one of: {' | '.join(case['answers'])}{inferred}"
    if case["answers_all"]:
        yield f"  all of: {' + '.join(case['answers_all'])}"
    for bad in case["forbidden"]:
        yield f"  not as a fact: {_said(bad)}"
    if case["forbidden_text"]:
        yield f"  not as current: {' | '.join(case['forbidden_text'])}"


def _planned(answer: Answer) -> Iterator[str]:
    trace = answer.trace
    marks = [name for name in ("explicit_recall", "asks_memory", "covered") if trace[name]]
    yield from ("", f"PLAN  (language {trace['language']}{''.join(', ' + mark.replace('_', ' ') for mark in marks)})")
    for target in trace["targets"]:
        yield f"  viewer {target['viewer']} {target['score']:.2f}: {', '.join(target['reasons'])}"
    for request in trace["requests"]:
        yield f"  ask {request['source']}: {request['why']}"
        if request["query"]:
            yield f"      for: {_one_line(request['query'])}"
    for reason in trace["reasons"]:
        yield f"  · {reason}"
    for step in trace["steps"]:
        if step["state"] not in {"ok", "switched_off"}:
            yield f"  ! {step['step']} {step['state']}{': ' + step['error'] if step['error'] else ''}"


def _items(answer: Answer) -> Iterator[str]:
    gold = {one["id"] for one in answer.case["gold"]}
    forbidden = {one["id"] for one in answer.case["forbidden"]}
    history = len(answer.result["items"]) - len(answer.retrieved)
    yield from (
        "",
        counted(
            "ITEMS  ({lines:line|lines} of recent history, {found:,} from memory)", lines=history, found=len(answer.retrieved)
        ),
    )
    for item in answer.retrieved:
        sources = set(item["provenance"])
        mark = "+" if sources & gold else "!" if sources & forbidden else " "
        stale = "" if item["current"] else " (not current)"
        yield f"  {mark} {item['score']:.3f} {item['section']}{stale} {_one_line(item['text'])}"
        yield f"          from {item['source']}: {', '.join(item['provenance'])}"


def _left_out(answer: Answer) -> Iterator[str]:
    gold = {one["id"] for one in answer.case["gold"]}
    if not answer.trace["left_out"]:
        return
    yield from ("", "LEFT OUT")
    for left in answer.trace["left_out"]:
        mark = "+" if gold & set(left["provenance"]) else " "
        why = REASONS.get(left["reason"], left["reason"])
        yield f"  {mark} {left['score']:.3f} {left['source']}: {why}: {', '.join(left['provenance'])}"


def _block(answer: Answer) -> Iterator[str]:
    yield from ("", f"IN THE PROMPT  ({answer.result['block_tokens']} tokens of memory)")
    yield from (f"  │ {line}" for line in answer.result["block"].splitlines())
    if answer.result["abstained"]:
        yield "  the block tells the model to admit that it does not know"
    if answer.result["reply"] is not None:
        yield f"  reply: {_one_line(answer.result['reply'])}"


def _verdict(answer: Answer) -> Iterator[str]:
    yield from ("", "VERDICT")
    for name in METRICS:
        fraction = answer.trace["verdict"][name]
        if fraction is not None:
            above, below = fraction
            yield f"  {name.replace('_', ' ')}: {above:g}" + ("" if below == 1 else f" of {below:g}")


def _said(statement: Json) -> str:
    when = f", {_when(statement['at'])}" if statement["at"] else ""
    return f"{statement['id']}  {statement['who']}{when}: “{_one_line(statement['text'])}”"


def _when(at: str) -> str:
    return f"{datetime.fromisoformat(at):%d %b %Y %H:%M}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
