"""Of two things said, the newer that says something changed."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders_plan import NOW, a_document, a_request, an_evidence, texts

from memory.latest import newest_wins
from memory.model import Evidence, Plan
from memory.rules import load_rules

RULES = load_rules(("it", "en"))
PLAN = Plan()


def said(text: str, days_ago: float, *, query: str = "dove lavoro?", score: float = 0.4, viewer_id: str = "2") -> Evidence:
    document = replace(a_document(text, text), at=NOW - timedelta(days=days_ago))
    return an_evidence(document, a_request(viewer_id=viewer_id, query=query), score=score, dense=0.4)


def test_a_newer_line_that_says_it_changed_replaces_the_older() -> None:
    assert texts(newest_wins([said("lavoro in banca", 9), said("ho cambiato, ora lavoro in un bar", 1)], PLAN, RULES)) == [
        "ho cambiato, ora lavoro in un bar"
    ]


@pytest.mark.parametrize(
    "newer",
    [
        said("lavoro anche il sabato", 1),  # no change
        said("adesso ho un cane", 1, score=0.1),  # answers much less
        said("ora lavoro in un bar", 8.9),  # in one sitting
        said("ora lavoro in un bar", 1, viewer_id="3"),  # somebody else
        said("ora lavoro in un bar", 30),  # older
    ],
)
def test_anything_else_leaves_the_older_line(newer: Evidence) -> None:
    assert len(newest_wins([said("lavoro in banca", 9), newer], PLAN, RULES)) == 2


@pytest.mark.parametrize(
    "query",
    [
        "dove lavoravo prima di trasferirmi?",
        "where did i work before i moved?",
        "quando comincio il lavoro?",
        "cosa mi spaventa?",  # after nothing that is known as a kind
    ],
)
def test_a_question_after_no_kind_about_the_past_or_a_moment_keeps_both(query: str) -> None:
    both = [said("lavoro in banca", 9, query=query), said("ora lavoro in un bar", 1, query=query)]
    assert len(newest_wins(both, PLAN, RULES)) == 2


def test_a_question_as_of_a_moment_keeps_both() -> None:
    both = [said("lavoro in banca", 9), said("ora lavoro in un bar", 1)]
    assert len(newest_wins(both, Plan(as_of=NOW - timedelta(days=5)), RULES)) == 2


def test_facts_are_not_touched() -> None:
    fact = said("lavora in banca", 9)
    fact = replace(fact, document=replace(fact.document, kind="fact"))
    assert len(newest_wins([fact, said("ora lavoro in un bar", 1)], PLAN, RULES)) == 2
