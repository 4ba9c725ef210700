"""What a streamer meets first in the bot without a model: small talk, doubt, the recent chat, whom a question is about."""

import pytest
from builders_llm import MARTA, ZENO, addressing, batch_of, item, message, past_line, recall_of

from bot.remembering import REPLY_CHARACTERS, MemoryResponder
from bot.remembering_texts import TEXTS
from memory import Plan, Recall


async def say(text: str, recall: Recall | None = None) -> str:
    asked = message(text, MARTA)
    answer = await MemoryResponder(addressing()).reply(batch_of(asked), recall or recall_of(), asked)
    assert 0 < len(answer.text) <= REPLY_CHARACTERS
    return answer.text


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [
        ("ricordo ciao! ci sei anche tu stasera?", "heard", "it"),
        ("ciao ricordo, come stai?", "fine", "it"),
        ("ricordo tutto bene oggi?", "fine", "it"),
        ("hey ricordo are you there?", "heard", "en"),
        ("ricordo, how are you today?", "fine", "en"),
        ("e allora zucche. ricordo, grazie anche a te", "welcome", "it"),
        ("that was fun! ricordo, thanks to you too", "welcome", "en"),
        ("grazie ricordo, buonanotte a tutti", "farewell", "it"),
    ],
)
async def test_small_talk_is_answered_as_such(text: str, kind: str, language: str) -> None:
    allowed = [template.format(name="Marta") for template in getattr(TEXTS[language], kind)]
    assert await say(text, recall_of(item("stasera porto i biscotti"))) in allowed


async def test_a_longer_question_that_begins_like_small_talk_is_a_question() -> None:
    assert "Baffo" in await say(
        "ricordo ci sei quando ti dico che il mio gatto fa le fusa?", recall_of(item("il gatto è Baffo"))
    )


async def test_what_was_said_in_the_recent_chat_answers_what_memory_does_not() -> None:
    history = [past_line("il mio cane è nero", id_="h1"), past_line("che cane?", MARTA, "h2"), past_line("bello qui", id_="h3")]
    said = await say("ricordo come diceva Zeno che è il suo cane?", recall_of(history=history))
    assert "«il mio cane è nero»" in said
    assert "Zeno" in said


async def test_one_word_in_common_with_anybody_is_no_answer() -> None:
    said = await say(
        "ricordo di che colore era il cane?", recall_of(history=[past_line("che freddo cane")], plan=Plan(language="it"))
    )
    assert "freddo" not in said


async def test_a_question_about_somebody_is_answered_with_what_is_known_of_them() -> None:
    items = (item("il mio gatto si chiama Baffo"), item("il mio cane Rex", subject=ZENO, author=ZENO))
    said = await say("ricordo come si chiama il cane di Zeno?", recall_of(*items))
    assert "Rex" in said
    assert "Baffo" not in said


async def test_a_memory_without_a_time_is_told_with_doubt_where_the_time_was_asked() -> None:
    when = "ricordo quando suono in piazza?"
    assert (await say(when, recall_of(item("suono la tromba in una banda")))).startswith(TEXTS["it"].perhaps)
    assert not (await say(when, recall_of(item("suono in piazza il 3 ottobre")))).startswith(TEXTS["it"].perhaps)


async def test_doubt_is_said_once() -> None:
    said = await say("ricordo che mestiere faccio?", recall_of(item("riparo pianoforti")))
    assert said.startswith(TEXTS["it"].perhaps)
    assert "Se ricordo bene" not in said
