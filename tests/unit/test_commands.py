import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import DEFAULT_WORDS, Commands, CommandSettings, Order, ParsedCommand, meanings, order_of, parse_command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!memory", ParsedCommand(name="memory")),
        ("  !MeMoRy  ", ParsedCommand(name="memory")),
        ("! memory", ParsedCommand(name="memory")),
        ("@Ricordo_Bot !memory", ParsedCommand(name="memory")),
        ("!memory \U000e0000", ParsedCommand(name="memory")),
        ("!mem\u034fory", ParsedCommand(name="memory")),
        ('!forget @bob "due parole" it\'s', ParsedCommand(
            name="forget", arguments=("@bob", "due parole", "it's"), rest='@bob "due parole" it\'s')),
        ('!forget "aperto', ParsedCommand(name="forget", arguments=('"aperto',), rest='"aperto')),
        ("!perché no", ParsedCommand(name="perché", arguments=("no",), rest="no")),
    ],
)  # fmt: skip
def test_a_command_is_read_as_it_was_meant(text: str, expected: ParsedCommand) -> None:
    assert parse_command(text, known={"memory"}) == expected


@pytest.mark.parametrize(
    "text",
    ["", "!", "!!!", "! bello questo", "!?", "ciao !memory", "!1", "\ud800!", "!" + "a" * 60, "ma!memory", "@a @b !memory"],
)
def test_plain_chat_is_no_command(text: str) -> None:
    assert parse_command(text, known={"memory"}) is None


def test_the_prefix_can_be_another_and_an_empty_one_switches_commands_off() -> None:
    assert parse_command("?memory", "?") == ParsedCommand(name="memory")
    assert parse_command("memory", "") is None


@given(st.text(max_size=80))
def test_no_text_breaks_the_parser(text: str) -> None:
    parsed = parse_command("!" + text, known={"memory"})
    assert parsed is None or parsed.name == parsed.name.casefold()


def test_a_command_of_others_has_no_meaning() -> None:
    commands = Commands(CommandSettings())
    parsed = commands.parse("!discord")
    assert parsed is not None
    assert commands.meaning(parsed) is None


def ordered(text: str) -> Order | None:
    commands = Commands(CommandSettings())
    parsed = commands.parse(text)
    assert parsed is not None
    return order_of(commands.meaning(parsed) or "", parsed)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("!forget @alice", Order(verb="forget", name="alice")),
        ("!dimentica Alice, via dei Tigli", Order(verb="forget", name="Alice", words="via dei Tigli")),
        ('!forget @alice "via dei Tigli"', Order(verb="forget", name="alice", words="via dei Tigli")),
        ('!forget "nome con spazi" x', Order(verb="forget", name="nome con spazi", words="x")),
        ("!forget #abc-1", Order(verb="forget", id="abc-1")),
        ("!forget last", Order(verb="forget", last=True)),
        ("!forget ULTIMO", Order(verb="forget", last=True)),
        ("!forget last words", Order(verb="forget", name="last", words="words")),
        ("!forgetme", Order(verb="forgetme")),
        ("!forgetme YES", Order(verb="forgetme", yes=True)),
        ("!dimenticami sì", Order(verb="forgetme", yes=True)),
        ("!correct @a old words -> new words", Order(verb="correct", name="a", words="old words", new="new words")),
        ("!correggi @a x→y -> z", Order(verb="correct", name="a", words="x", new="y -> z")),
        ("!correct #12 vivo a Torino", Order(verb="correct", id="12", new="vivo a Torino")),
        ("!memories @bob", Order(verb="memories", name="bob")),
        ("!memories", Order(verb="memories")),
        ("!bot off", Order(verb="bot")),
        ("!bot ON", Order(verb="bot", on=True)),
        ("!whatdoyouknow", Order(verb="whatdoyouknow")),
        ("!optout please", Order(verb="optout")),
    ],
)
def test_an_order_is_read_as_it_was_meant(text: str, order: Order) -> None:
    assert ordered(text) == order


@pytest.mark.parametrize(
    "text",
    ["!forget", "!forget #", "!forget #1 2", "!forget @", "!correct", "!correct @a b", "!correct @a -> b", "!correct @a b ->",
     "!correct #1", "!correct # x", "!bot", "!bot maybe", '!forget ""'],
)  # fmt: skip
def test_an_order_that_cannot_be_told_is_none(text: str) -> None:
    assert ordered(text) is None


@given(st.sampled_from(list(DEFAULT_WORDS)), st.text(max_size=80))
def test_no_text_breaks_an_order(verb: str, text: str) -> None:
    parsed = parse_command(f"!{verb} {text}")
    if parsed is not None:
        order_of(verb, parsed)


def test_a_word_that_two_commands_claim_means_the_first() -> None:
    assert meanings({"forget": ("Via",), "optout": ("via", "fuori")}) == {"via": "forget", "fuori": "optout"}


def test_a_command_is_shown_as_it_is_typed() -> None:
    commands = Commands(CommandSettings(prefix="?", names={"scorda": "forget"}))
    assert (commands.shown("forget"), commands.shown("bot")) == ("?scorda", "?bot")


@pytest.mark.parametrize(
    ("language", "typed", "shown"),
    [
        ("it", ("forgetme", "dimenticami"), "!dimenticami"),
        ("en", ("dimenticami", "forgetme"), "!forgetme"),
        ("it", ("scordami", "dimenticami"), "!scordami"),
        ("it", ("forgetme", "Scordami"), "!scordami"),
        ("it", ("forgetme",), "!forgetme"),
        ("fr", ("dimenticami", "oubliemoi"), "!oubliemoi"),
    ],
)
def test_an_answer_names_a_command_in_its_own_language_where_it_has_such_a_word(
    language: str, typed: tuple[str, ...], shown: str
) -> None:
    commands = Commands(CommandSettings(language=language, names=meanings({"forgetme": typed, "bot": ("bot",)})))
    assert (commands.shown("forgetme"), commands.shown("bot")) == (shown, "!bot")
