import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import Commands, CommandSettings, ParsedCommand, parse_command


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


@pytest.mark.parametrize(("language", "words"), [("it", "un bot con memoria"), ("en", "a bot with a memory")])
def test_memory_says_what_the_bot_is_in_the_channels_language(language: str, words: str) -> None:
    commands = Commands(CommandSettings(language=language))
    parsed = commands.parse("!memoria")
    assert parsed is not None
    answer = commands.answer(parsed, bot_name="Ricordo")
    assert answer is not None
    assert words in answer
    assert len(answer) <= 450


def test_a_command_of_others_has_no_answer() -> None:
    commands = Commands(CommandSettings())
    parsed = commands.parse("!discord")
    assert parsed is not None
    assert commands.meaning(parsed) is None
    assert commands.answer(parsed, bot_name="Ricordo") is None
