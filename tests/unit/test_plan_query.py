"""What is searched for, once it is known where."""

import pytest
from builders_plan import plan_for

from lore.entry import LoreEntry
from memory.model import SourceKind


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("nuvola where does Rosalba live?", "where does live?"),
        ("nuvola what is @rosalba's cat called?", "what is cat called?"),
        ("nuvola Rosalba?", "Rosalba?"),
    ],
)
def test_a_viewers_name_is_no_word_of_what_is_searched_in_their_memory(text: str, query: str) -> None:
    searched = {request.query for request in plan_for(text).requests if request.kind is SourceKind.RECALL}
    assert searched <= {query}


def test_asking_for_suggestions_is_no_question_about_the_list_of_requests() -> None:
    plan = plan_for("nuvola I'm off to the lake soon, any suggestions for what to do there?")
    assert SourceKind.RECALL in {request.kind for request in plan.requests}


def test_a_part_of_a_canon_entrys_name_is_no_viewers() -> None:
    entry = LoreEntry(id="zia-rosalba", title="Zia Rosalba", aliases=("zia Rosalba",), text="una zia", digest="1")
    plan = plan_for("nuvola chi era zia Rosalba?", lore=[entry])
    assert {request.kind for request in plan.requests} == {SourceKind.LORE}


@pytest.mark.parametrize("text", ["nuvola che orari faccio al porto?", "nuvola what is my work schedule?"])
def test_the_authors_own_hours_are_not_the_channels(text: str) -> None:
    requests = {request.kind: request for request in plan_for(text).requests}
    assert requests[SourceKind.STATE].strict
    assert SourceKind.RECALL in requests
