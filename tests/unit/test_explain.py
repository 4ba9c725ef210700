"""What became of the evidence, and what changed between two evaluations: on answers written by hand."""

from typing import Any

import pytest

from replays.compare import changes, told
from replays.explain import explained, fate
from replays.metrics import METRICS
from replays.report_probes import probe_card
from replays.results import Answer

GOLD = {"id": "m1", "who": "Anna", "at": "2026-03-01T20:01:00+00:00", "text": "abito a Vicenza"}
TRAP = {"id": "m2", "who": "Bruno", "at": "2026-03-01T20:02:00+00:00", "text": "Anna abita a Padova"}


def item(provenance: str = "m1", text: str = "abito a Vicenza", section: str = "recall", score: float = 0.5) -> dict[str, Any]:
    return {
        "section": section,
        "source": "history" if section == "history" else "viewer:1:recall",
        "text": text,
        "provenance": [provenance],
        "score": score,
        "current": True,
    }


def left(reason: str = "below_gate", provenance: str = "m1") -> dict[str, Any]:
    return {"source": "viewer:1:recall", "document_id": "d", "reason": reason, "score": 0.1, "provenance": [provenance]}


def answer(*items: dict[str, Any], plan: tuple[str, ...] = ("history", "viewer:1:recall"), **changed: Any) -> Answer:  # noqa: ANN401 keys of the files
    case = {
        "id": "p1",
        "log": "casa",
        "at": "2026-03-01T20:50:00+00:00",
        "category": "recall",
        "batch": [{"id": "q", "viewer": "1", "who": "Anna", "text": "dove\nabito?"}],
        "gold": [GOLD],
        "forbidden": [TRAP],
        "answers": ["Vicenza"],
        "answers_all": ["Veneto"],
        "answer_inferred": True,
        "forbidden_text": ["Padova"],
        "abstain": False,
        "settle": True,
        "as_of": None,
    }
    result = {
        "id": "p1",
        "plan": list(plan),
        "items": list(items),
        "block": "\n".join(one["text"] for one in items),
        "block_tokens": 7,
        "abstained": False,
        "timed_out": [],
        "reply": None,
    }
    trace = {
        "reasons": ["a question about oneself"],
        "requests": [{"source": name, "why": "named", "query": "dove abito"} for name in plan if name != "history"],
        "targets": [{"viewer": "1", "score": 2.0, "reasons": ["asked"]}],
        "language": "it",
        "explicit_recall": False,
        "asks_memory": True,
        "covered": False,
        "left_out": [],
        "failed": [],
        "steps": [],
        "verdict": dict.fromkeys(METRICS) | {"evidence_recall": [float(any(one["provenance"] == ["m1"] for one in items)), 1]},
    }
    for part in (case, result, trace):
        part |= {key: value for key, value in changed.items() if key in part}
    return Answer(case=case, result=result, trace=trace)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (answer(item()), "found by viewer:1:recall"),
        (answer(item(section="history")), "found in the recent history"),
        (answer(left_out=[left()]), "left out by viewer:1:recall: its score was too low (0.100)"),
        (answer(left_out=[left("new_reason")]), "left out by viewer:1:recall: new_reason (0.100)"),
        (answer(left_out=[left(provenance="m9")]), "missed: no source that was asked came back with it"),
        (answer(timed_out=["viewer:1:recall"]), "missed: a source was late or failed"),
        (answer(failed=["lore"]), "missed: a source was late or failed"),
        (answer(plan=("history",)), "missed: nothing was searched"),
    ],
)
def test_the_fate_of_evidence_names_the_step_that_lost_it(given: Answer, what: str) -> None:
    assert fate("m1", given) == what


def test_a_trace_reads_from_the_question_to_the_verdict() -> None:
    step = {"step": "lore", "state": "failed", "in": 0, "out": 0, "error": "StoreUnavailable: full"}
    text = "\n".join(
        explained(answer(item("m2", "Anna abita a Padova"), left_out=[left()], steps=[step], reply="A Padova!", abstained=True))
    )
    for part in (
        "  Anna: dove abito?",
        "m1  Anna, 01 Mar 2026 20:01: “abito a Vicenza”",
        "one of: Vicenza (to be worked out, not literally there)",
        "all of: Veneto",
        "not as a fact: m2  Bruno",
        "not as current: Padova",
        "PLAN  (language it, asks memory)",
        "viewer 1 2.00: asked",
        "ask viewer:1:recall: named",
        "      for: dove abito",
        "! lore failed: StoreUnavailable: full",
        "  ! 0.500 recall Anna abita a Padova",
        "  + 0.100 viewer:1:recall: its score was too low: m1",
        "  reply: A Padova!",
        "the block tells the model to admit",
        "evidence recall: 0",
    ):
        assert part in text
    parts = [text.index(word) for word in ("WANTED", "PLAN", "ITEMS", "LEFT OUT", "IN THE PROMPT", "VERDICT")]
    assert parts == sorted(parts)


def test_answers_that_are_the_same_are_no_change() -> None:
    assert changes([answer(item())], [answer(item())]) == []
    assert changes([answer(item())], []) == []


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (answer(left_out=[left()]), "its score was too low (0.100)"),
        (answer(timed_out=["viewer:1:recall"]), "viewer:1:recall was late"),
        (answer(plan=("history",)), "viewer:1:recall was not asked"),
        (answer(), "not among the hits of viewer:1:recall"),
    ],
)
def test_a_lost_item_says_why_it_is_gone(second: Answer, why: str) -> None:
    [change] = changes([answer(item())], [second])
    assert [(moved.why, moved.gold) for moved in change.lost] == [(why, True)]
    assert (change.better, change.verdicts["evidence_recall"]) == (-1, (1.0, 0.0))
    assert f"      not in the second: {why}" in list(told(change))


def test_a_gained_item_and_a_new_reason_are_told() -> None:
    [change] = changes([answer(item("m7", section="history"))], [answer(item(), reasons=["something else"])])
    text = "\n".join(told(change))
    assert "p1 · recall · better: dove abito?" in text
    assert "  + (gold) 0.500 abito a Vicenza\n      not in the first: not among the hits" in text
    assert "the recent history is another one" in text
    assert "  + plan: something else\n  - plan: a question about oneself" in text


def test_a_verdict_that_begins_to_apply_is_no_better_and_no_worse() -> None:
    verdict = dict.fromkeys(METRICS) | {"block_tokens": [9, 1], "stale_rate": [0, 1], "misattribution_rate": [1, 0]}
    [change] = changes([answer(item())], [answer(item(), verdict=verdict)])
    assert change.better == 0
    assert "    stale rate: does not apply → 0" in list(told(change))


def test_a_card_shows_what_was_left_out_and_the_reply() -> None:
    card = probe_card(answer(left_out=[left()], reply="<b>boh</b>"))
    assert "left out: 1" in card
    assert "&lt;b&gt;boh&lt;/b&gt;" in card
    assert 'data-verdict="missed"' in card
    assert "abstention wrong" in probe_card(answer(item(), abstained=True))
    assert "to admit that the memory does not know" in probe_card(answer(abstain=True, gold=[]))
    assert "nothing from memory" in probe_card(answer(gold=[], answers=[], answers_all=[]))
