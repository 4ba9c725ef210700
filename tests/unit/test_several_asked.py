"""Several people ask at the same time: one line answers them all, once."""

import pytest
from builders_live import BOT, Bench, at, message, online, run
from builders_llm import MARTA, ZENO, addressing, batch_of, item, recall_of
from builders_llm import message as line_of
from fakes.responder import FakeResponder

from bot.addressing import Addressing
from bot.manners import Manners, MannersSettings
from bot.persona import RICORDO
from bot.prompt import PromptLimits, Question, build_prompt
from bot.remembering import REPLY_CHARACTERS, MemoryResponder
from memory import Batch, Deletion, Item, Message, Plan, Recall

CAT = line_of("ricordo, come si chiama il mio gatto?", MARTA, "m1")
DOG = line_of("ricordo what is my dog called?", ZENO, "m2")
PETS = (item("il mio gatto si chiama Baffo"), item("my dog is called Rex", subject=ZENO, author=ZENO))


def chosen(*lines: Message, closed: float = 1, **rules: object) -> list[str]:
    manners = Manners(MannersSettings(**rules), Addressing(BOT))  # type: ignore[arg-type] # any setting
    decision = manners.choose(Batch(stream_id="s1", lines=lines, closed_at=at(closed)), now=at(closed))
    return [one.id for one in (*decision.also, decision.to) if one is not None]


async def told(*asked: Message, items: tuple[Item, ...] = PETS, recall: Recall | None = None) -> str:
    *also, to = asked
    answer = await MemoryResponder(addressing()).reply(batch_of(*asked), recall or recall_of(*items), to, also)
    assert 0 < len(answer.text) <= REPLY_CHARACTERS
    return answer.text


def test_each_who_asked_is_answered_once_with_their_newest_message_in_order() -> None:
    lines = [
        message("ricordino ciao", message_id="a1"),
        message("ricordino?", by="bob", message_id="b1"),
        message("che pioggia", by="carl", message_id="c1"),
        message("ricordino ci sei?", message_id="a2", seconds=0.5),
    ]
    assert chosen(*lines) == ["b1", "a2"]


def test_of_more_people_than_one_line_answers_those_who_asked_last_are() -> None:
    lines = [message("ricordino?", by=name, message_id=name) for name in ("alice", "bob", "carl", "dora")]
    assert chosen(*lines) == ["bob", "carl", "dora"]
    assert chosen(*lines, people_per_reply=1) == ["dora"]


def test_everybody_who_is_answered_waits_before_they_are_again() -> None:
    manners = Manners(MannersSettings(channel_cooldown_seconds=0), Addressing(BOT))
    lines = tuple(message("ricordino?", by=name, message_id=name) for name in ("alice", "bob"))
    for closed, expected in ((1.0, "mention"), (5.0, "viewer_cooldown"), (11.0, "mention")):
        batch = Batch(stream_id="s1", lines=lines, closed_at=at(closed))
        decision = manners.choose(batch, now=at(closed))
        assert (decision.to is None) == (expected == "viewer_cooldown")


def test_nobody_to_answer_at_all_is_refused_as_a_setting() -> None:
    with pytest.raises(ValueError, match="people_per_reply must be at least 1"):
        MannersSettings(people_per_reply=0)


async def test_two_who_ask_in_one_breath_get_one_line_that_names_both_messages() -> None:
    bench = Bench()
    asked = [message("ricordino?", seconds=1, message_id="a1"), message("ricordino!", by="bob", seconds=1.2, message_id="b1")]
    await run(bench, online(), *asked)
    assert len(bench.heard) == 1
    [said] = [outcome.turn.said for outcome in bench.outcomes if outcome.turn.said.text]
    assert said.in_reply_to == ("a1", "b1")
    assert [one.id for one in bench.responder.asked] == ["a1", "b1"]


async def test_a_line_to_two_is_not_said_when_either_message_goes_while_it_is_made() -> None:
    responder = FakeResponder()
    bench = Bench(responder=responder)

    async def moderated() -> None:
        await bench.loop.delete(Deletion(at=at(2), scope="message", message_id="a1"))

    responder.before = moderated
    asked = [message("ricordino?", seconds=1, message_id="a1"), message("ricordino!", by="bob", seconds=1.2, message_id="b1")]
    await run(bench, online(), *asked)
    assert bench.heard == []
    assert ("withheld", "deleted") in bench.said


async def test_without_a_model_each_is_told_their_own_in_their_language() -> None:
    text = await told(CAT, DOG)
    mine, theirs = text.split("@Zeno ")
    assert mine.startswith("@Marta ")
    assert "«il mio gatto si chiama Baffo»" in mine
    assert "“my dog is called Rex”" in theirs
    assert "Rex" not in mine
    assert "Baffo" not in theirs


async def test_who_is_named_by_their_part_is_not_named_twice() -> None:
    text = await told(line_of("ciao ricordo", MARTA, "m1"), line_of("hello ricordo", ZENO, "m2"))
    assert (text.count("Marta"), text.count("Zeno")) == (1, 1)


async def test_who_asks_about_another_who_asks_too_hears_of_them() -> None:
    rex = item("il mio cane si chiama Rex", subject=ZENO, author=ZENO)
    asked = (line_of("ricordo come si chiama il cane di Zeno?", MARTA, "m1"), line_of("ciao ricordo", ZENO, "m2"))
    assert "Rex" in await told(*asked, items=(PETS[0], rex))


async def test_asking_for_everything_tells_nobody_what_is_known_of_the_other() -> None:
    every = recall_of(*PETS, plan=Plan(explicit_recall=True, language="it"))
    text = await told(line_of("ricordo cosa ricordi di me?", MARTA, "m1"), line_of("ciao ricordo", ZENO, "m2"), recall=every)
    assert "Rex" not in text


async def test_long_memories_of_three_share_one_line() -> None:
    people = [MARTA, ZENO, type(MARTA)(id="3", login="x" * 25, name="X" * 25)]
    asked = [line_of("ricordo la torre?", one, f"m{number}") for number, one in enumerate(people)]
    long = [item(f"{one.name} e la torre " + "alta " * 90, subject=one, author=one) for one in people]
    text = await told(*asked, items=tuple(long))
    assert all(one.name in text for one in people)


def test_a_model_is_given_every_question_and_whom_to_name() -> None:
    question = Question(batch=batch_of(CAT, DOG), to=DOG, also=(CAT,), recall=recall_of(), language="en")
    user = build_prompt(question, RICORDO, PromptLimits())[1].content
    assert "Answer Marta, who writes: «ricordo, come si chiama il mio gatto?»\nAnswer Zeno, who writes: «ricordo what" in user
    assert user.endswith("begin each answer with whom it is for (@Marta, @Zeno).")
