"""Questions about what happened in a stream, and what of them is searched there."""

import pytest
from builders_plan import about, plan_for

from memory.model import Plan, SourceKind


def streams(plan: Plan) -> list[str | None]:
    return [request.stream_id for request in plan.requests if request.kind is SourceKind.EPISODE]


def searched(plan: Plan) -> set[str]:
    return {request.query for request in plan.requests if request.kind is SourceKind.EPISODE}


@pytest.mark.parametrize(
    "text",
    [
        "nuvola mi si era piantato il pc, cos'era quel boato?",
        "nuvola stavo cenando: chi ha rotto il bicchiere?",
        "nuvola my pc froze, what was that bang?",
        "nuvola i was cooking, who broke the glass?",
    ],
)
def test_an_excuse_is_no_subject_and_says_that_it_was_in_this_stream(text: str) -> None:
    plan = plan_for(text)
    assert about(plan) == set()
    assert streams(plan) == ["s3"]


@pytest.mark.parametrize(
    "text",
    [
        "nuvola i moved last month, what was my old street called?",
        "nuvola ho preso un cane nuovo, cosa avevo prima?",
        "nuvola i forgot my own story about the knee, what was it?",
        "nuvola i went to a lantern festival. where was that festival held?",
        "nuvola sono stata a una gara di aquiloni, chi ha vinto quella gara?",
    ],
)
def test_a_question_about_oneself_stays_one_after_a_first_clause(text: str) -> None:
    assert about(plan_for(text)) == {"2"}


@pytest.mark.parametrize(
    "text",
    [
        "nuvola il robot come si chiama?",
        "nuvola quanto pesava la zucca?",
        "nuvola dov'era nascosta la chiave?",
        "nuvola chi portava le sedie alla grigliata?",
        "nuvola che premio c'era in palio?",
        "nuvola chi si è preso la colpa del vaso?",
        "nuvola what's the robot called?",
        "nuvola whose idea was the glue?",
        "nuvola who washed the bus?",
        "nuvola what's the score of the bet?",
    ],
)
def test_a_question_about_an_event_that_names_no_time_is_looked_for_in_the_streams(text: str) -> None:
    assert streams(plan_for(text)) == ["s3", "s2", "s1"]


@pytest.mark.parametrize("text", ["nuvola che gioco era quello dell'altra sera?", "nuvola l'altro giorno che premio c'era?"])
def test_the_other_evening_is_the_last_stream(text: str) -> None:
    assert streams(plan_for(text)) == ["s2"]


def test_half_an_hour_ago_is_in_this_stream() -> None:
    assert streams(plan_for("nuvola che rumore era quello di mezz'ora fa?")) == ["s3"]


@pytest.mark.parametrize(
    "text", ["nuvola come stai?", "nuvola whats faster, a red kite or a blue kite?", "nuvola do you like soup?"]
)
def test_a_question_about_nothing_that_happened_searches_no_stream(text: str) -> None:
    assert streams(plan_for(text)) == []


def test_words_that_only_say_when_are_not_searched_for() -> None:
    assert searched(plan_for("nuvola l'altra sera chi ha vinto la gara di torte?")) == {"chi ha vinto la gara di torte"}
    assert searched(plan_for("nuvola what fell off the shelf earlier?")) == {"what fell off the shelf"}
    assert searched(plan_for("nuvola who won the Pie Contest?")) == {"who won the Pie Contest?"}
