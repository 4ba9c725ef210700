"""What a line of a stream weighs by the chat around it."""

from datetime import timedelta

import pytest
from builders_recall import NOON, a_line, a_viewer, a_whole_turn
from fakes.memory_reader import InMemoryReader

from memory.channels.scene import Scene
from memory.scene import SceneLine, weight


def line(place: int, text: str, *, kind: str = "message", who: str = "1", after: float = 0, hosts: bool = False) -> SceneLine:
    at = NOON + timedelta(seconds=after)
    return SceneLine(place=place, kind=kind, viewer_id=who, at=at, text=text, hosts=hosts)


QUIET = [line(0, "il ponte levatoio è rimasto su"), line(1, "io intanto ceno con i miei davanti alla tele")]


def test_what_a_host_tells_weighs_more() -> None:
    told = [line(0, "il ponte levatoio è rimasto su", hosts=True), *QUIET[1:]]
    assert weight(told) > weight(QUIET) == 0


@pytest.mark.parametrize(
    "reaction",
    [
        line(1, "NON CI CREDO NEMMENO SE LO VEDO"),
        line(1, "noooo"),
        line(1, "ma che bella figura abbiamo fatto ragazzi!"),
        line(1, "Il ponte ha deciso di restare in cielo stasera.", kind="reply"),
    ],
    ids=["shouted", "short", "exclaimed", "the bot"],
)
def test_what_the_chat_takes_up_weighs_more(reaction: SceneLine) -> None:
    assert weight([QUIET[0], reaction]) > weight(QUIET)


def test_what_comes_much_later_takes_nothing_up() -> None:
    assert weight([QUIET[0], line(1, "noooo", after=300)]) == 0


def test_somebody_asked_about_counts_as_the_author_and_half_when_beside() -> None:
    beside = [line(0, "chi perde paga da bere", who="1"), line(1, "ci sto volentieri anche io stavolta", who="7")]
    author = [line(0, "chi perde paga da bere", who="7"), *QUIET[1:]]
    assert weight(author, {"7"}) == 2 * weight(beside, {"7"}) > 0
    assert weight(author, {"8"}) == 0


def test_a_line_that_was_erased_weighs_nothing() -> None:
    assert weight([line(1, "noooo")]) == 0


async def test_the_lines_of_a_stream_are_weighed_and_a_document_of_several_is_not() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [
        a_line("m1", "sono partiti i fuochi sopra il porto", user=a_viewer("9", "Mod")),
        a_line("m2", "uuuh", after=2),
        a_line("m3", "stamattina ho comprato due chili di mele rosse", after=4),
    ]
    reader.hosted = {"m1"}
    documents = [a_whole_turn(f"d{n}", "x", provenance=(f"m{n}",)) for n in (1, 2, 3)]
    torn = a_whole_turn("d4", "x\ny", provenance=("m1", "m2"))
    hits = await Scene(reader).weigh([*documents, torn])
    assert [id_ for id_, _ in hits][:1] == ["d1"]
    assert "d4" not in dict(hits)
    assert await Scene(reader).weigh([torn]) == []
