import pytest
from builders_live import BOT, message

from bot.addressing import OWN_LINES, Addressing
from memory import BotIdentity, Viewer


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("@Ricordo_Bot ciao", "mention"),
        ("ciao @ricordo_bot!", "mention"),
        ("ehi RICORDINO, come va?", "name"),
        ("ricordo_bot", "name"),
        ("@\u034fricordo\u200b_bot ciao", "mention"),
        ("ｒｉｃｏｒｄｉｎｏ ci sei", "name"),
        ("ricordinoni tutti", None),
        ("mi ricordo di te", None),
        ("@ricordo_bot2 ciao", None),
        ("scrivi a x@ricordo_bot", None),
        ("", None),
        ("\ud800\x00\u202e", None),
        ("a" * 1_000_000 + " ricordino", None),
    ],
)
def test_a_text_addresses_the_bot_by_whole_names_only(text: str, how: str | None) -> None:
    assert Addressing(BOT).how(message(text)) == how


def test_a_mention_that_the_platform_marked_counts_whatever_the_text_says() -> None:
    renamed = Viewer(id=BOT.id, login="vecchio_nome", name="Vecchio")
    assert Addressing(BOT).how(message("@vecchio_nome ciao", mentions=(renamed,))) == "mention"


def test_an_answer_to_a_line_of_the_bot_is_for_the_bot() -> None:
    addressing = Addressing(BOT)
    addressing.own("r1")
    addressing.own(None)
    assert addressing.how(message("davvero?", reply_to="r1")) == "reply"
    assert addressing.how(message("davvero?", reply_to="m7")) is None


def test_old_lines_of_the_bot_are_forgotten_in_the_end() -> None:
    addressing = Addressing(BOT)
    for number in range(OWN_LINES + 1):
        addressing.own(f"r{number}")
    assert addressing.how(message("?", reply_to="r0")) is None
    assert addressing.how(message("?", reply_to=f"r{OWN_LINES}")) == "reply"


def test_another_identity_answers_to_its_own_names() -> None:
    addressing = Addressing(BOT)
    addressing.meet(BotIdentity(id="1", login="giulia_bot", name="Giulia", aliases=("giulia",)))
    assert addressing.how(message("giulia segna")) == "name"
    assert addressing.how(message("ricordino segna")) is None


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("@Ricordo_Bot, che ore sono?", "che ore sono?"),
        ("Ricordino: ci sei?", "ci sei?"),
        ("che ore sono @ricordo_bot?", "che ore sono?"),
        ("che ore sono @ricordo_bot", "che ore sono"),
        ("ma ricordino lo sa?", "ma ricordino lo sa?"),
        ("ciao a tutti", "ciao a tutti"),
    ],
)
def test_the_address_is_taken_off_where_it_is_only_an_address(text: str, question: str) -> None:
    assert Addressing(BOT).question(message(text)) == question


def test_a_bot_without_names_is_addressed_by_nobody() -> None:
    addressing = Addressing(BotIdentity(id="1", login="", name="\u200b"))
    assert addressing.how(message("ciao a tutti")) is None
    assert addressing.question(message("ciao a tutti")) == "ciao a tutti"
