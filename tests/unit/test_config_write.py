import tomllib
from pathlib import Path

import pytest

from config.document import as_toml
from config.errors import ConfigError
from config.settings import Settings
from config.write import new_file, with_values

FILE = Path("ricordo.toml")
CHANNEL = ("twitch", "channel")


def test_a_value_is_changed_where_it_stands_and_every_comment_stays() -> None:
    text = '# mine\n[twitch] # the account\nchannel = "old" # my channel\nnotices = false\n\n[llm]\nmodel = "m"\n'
    assert with_values(text, {CHANNEL: "new"}, path=FILE) == text.replace('"old"', '"new"')


def test_keys_and_sections_that_are_missing_are_added() -> None:
    text = '[twitch]\nnotices = false\n\n[llm]\nmodel = "m"'
    changed = with_values(text, {CHANNEL: "casa", ("llm", "base_url"): "http://x/v1", ("log", "level"): "error"}, path=FILE)
    assert changed == (
        '[twitch]\nnotices = false\nchannel = "casa"\n\n[llm]\nmodel = "m"\nbase_url = "http://x/v1"\n\n[log]\n'
        'level = "error"\n'
    )


@pytest.mark.parametrize("value", ['quo"te', "back\\slash", "hash # no comment", "[llm]", "é 🐈"])
def test_any_text_survives(value: str) -> None:
    for text in ("", '[twitch]\nchannel = "a \\" # b" # c\n', "[twitch]\n# channel = ''\n"):
        assert tomllib.loads(with_values(text, {CHANNEL: value}, path=FILE))["twitch"]["channel"] == value


def test_a_commented_default_gives_way_and_the_living_key_goes_before_it() -> None:
    assert (
        with_values('[persona]\n# file = ""\n', {("persona", "file"): "me.toml"}, path=FILE) == '[persona]\nfile = "me.toml"\n'
    )
    text = '[twitch]\n# channel = "example"\nchannel = "casa"\n'
    assert with_values(text, {CHANNEL: "b"}, path=FILE) == '[twitch]\n# channel = "example"\nchannel = "b"\n'


def test_the_file_with_every_default_can_be_changed() -> None:
    changed = with_values(as_toml(), {CHANNEL: "casa", ("llm", "model"): "m"}, path=FILE)
    assert len(changed.splitlines()) == len(as_toml().splitlines())
    assert Settings(**tomllib.loads(changed)).twitch.channel == "casa"


@pytest.mark.parametrize("text", ['twitch = {channel = "a"}\n', 'twitch.channel = "a"\n', '[twitch]\nchannel = """\na"""\n'])
def test_what_cannot_be_changed_a_line_at_a_time_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Set these by hand: twitch\.channel"):
        with_values(text, {CHANNEL: "b"}, path=FILE)


def test_a_new_file_is_short_commented_and_loads() -> None:
    text = new_file({CHANNEL: "casa", ("llm", "model"): "m", ("twitch", "bot"): "b"})
    assert Settings(**tomllib.loads(text)).twitch.bot == "b"
    assert text.count("\n[twitch]\n") == 1
    assert "# Login of the channel to join, without #.\nchannel" in text
