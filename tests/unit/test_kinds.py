"""What a question is after, and what is known to be stated: a fact of another kind is no answer."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders_plan import NOW, a_document, a_request, an_evidence, texts

from memory.kinds import known_first, of_the_kind, wanted_by
from memory.model import Evidence, Plan, SourceKind
from memory.normalise import spaced
from memory.rules import load_rules

RULES = load_rules(("it", "en"))


def fact(text: str, about: str, *, query: str = "dove abito?", score: float = 0.6) -> Evidence:
    return an_evidence(a_document(text, text, kind="fact", about=about), a_request(query=query), score=score)


def profile(text: str, about: str, *, source: str = "m1") -> Evidence:
    document = a_document(text, f"f-{text}", kind="fact", about=about, provenance=(source,))
    return an_evidence(document, a_request(SourceKind.PROFILE, query=""), score=1.0, exact=1.0)


def said(text: str, *, query: str = "dove abito?", score: float = 0.6) -> Evidence:
    return an_evidence(a_document(text, text), a_request(query=query), score=score)


def answers(*items: Evidence, plan: Plan | None = None) -> list[str]:
    return texts(known_first(items, plan or Plan(), RULES))


@pytest.mark.parametrize(
    ("question", "slot"),
    [
        ("che lavoro faccio?", "work"),
        ("where do I live now?", "home"),
        ("come si chiama il mio gatto?", "pet"),
        ("which instrument does she play?", "hobby"),
        ("quando parte?", "when"),
        ("am I allergic to anything?", "food"),
    ],
)
def test_a_question_is_after_its_slot(question: str, slot: str) -> None:
    plain = spaced(question)
    assert slot in {one.name for rule in RULES for one in rule.slot if one.ask.found(plain)}


def test_every_slot_is_asked_for_in_both_languages() -> None:
    names = [{slot.name for slot in rule.slot} for rule in RULES]
    assert names[0] == names[1]
    assert all(slot.ask.pattern is not None for rule in RULES for slot in rule.slot)


@pytest.mark.parametrize(
    ("question", "about", "kept"),
    [
        ("dove abito?", "home", True),
        ("dove abito?", "pet", False),
        ("where was I born?", "home", False),
        ("am I allergic to anything?", "diet", True),
        ("am I allergic to anything?", "vehicle", False),
        ("come si chiama mio marito?", "own", False),
        ("quando parto?", "plan", True),  # a date is of any kind
        ("cosa mi spaventa?", "pet", True),  # after nothing that is known as a kind
    ],
)
def test_a_fact_of_another_kind_gives_way_to_one_of_the_kind(question: str, about: str, kept: bool) -> None:
    known = {"home", "origin", "avoid", "partner", "plan", "fear"}
    answer = [fact(f"il resto: {one}", one, query=question) for one in sorted(known)]
    assert ("altro" in texts(of_the_kind([*answer, fact("altro", about, query=question)], RULES))) is kept


def test_without_a_fact_of_the_kind_any_may_answer() -> None:
    assert texts(of_the_kind([fact("ho un canotto", "own"), profile("ho un cane", "pet")], RULES)) != []


def test_a_profile_is_judged_by_what_is_asked_of_its_viewer() -> None:
    found = of_the_kind([profile("ho un canotto", "own"), profile("vivo a Lodi", "home"), said("nebbia qui")], RULES)
    assert texts(found) == ["vivo a Lodi", "nebbia qui"]


def test_a_line_without_known_facts_is_not_judged_by_its_kind() -> None:
    assert texts(of_the_kind([said("nebbia anche stamattina sotto casa")], RULES)) != []


def test_what_only_resembles_an_answer_gives_way_to_a_statement_of_the_kind() -> None:
    assert answers(fact("vivo a Lodi", "home"), said("che freddo in città", score=0.55)) == ["vivo a Lodi"]


def test_a_message_with_a_fact_of_the_kind_counts_as_the_statement() -> None:
    stated = replace(said("qui a Lodi, dove vivo, c'è nebbia"), document=a_document("qui a Lodi", "m1"))
    found = answers(profile("vivo a Lodi", "home"), stated, said("che freddo in città", score=0.55))
    assert found == ["vivo a Lodi", "qui a Lodi"]


def test_what_is_nearer_to_the_question_than_the_statement_stays() -> None:
    near = said("mi hanno appena dato le chiavi di via Roma", score=0.7)
    assert len(answers(fact("vivo a Lodi", "home"), near)) == 2


def test_what_was_said_on_a_later_occasion_stays_since_it_may_be_the_change() -> None:
    later = said("chiavi in mano, da oggi colazione con vista sul porto", score=0.55)
    later = replace(later, document=replace(later.document, at=NOW - timedelta(days=1)))
    assert len(answers(fact("vivo a Lodi", "home"), later)) == 2


@pytest.mark.parametrize(
    "question",
    [
        "dove vivevo prima di trasferirmi?",  # the past: what was may be what no rule read
        "dove abito e che lavoro faccio?",  # two kinds
        "quando parto?",
    ],
)
def test_a_question_of_the_past_or_after_several_things_keeps_all(question: str) -> None:
    assert len(answers(fact("vivo a Lodi", "home", query=question), said("che freddo", query=question, score=0.5))) == 2


def test_a_question_as_of_a_moment_keeps_all() -> None:
    plan = Plan(as_of=NOW - timedelta(days=3))
    assert len(answers(fact("vivo a Lodi", "home"), said("che freddo", score=0.5), plan=plan)) == 2


def test_one_viewers_statement_says_nothing_of_another() -> None:
    other = an_evidence(a_document("che freddo", "o1"), a_request(viewer_id="3"), score=0.5)
    assert len(answers(fact("vivo a Lodi", "home"), other)) == 2


def test_both_languages_name_the_same_facts_for_a_kind() -> None:
    assert wanted_by("che animali ho?", RULES[:1]) == wanted_by("what pets do I have?", RULES[1:])
