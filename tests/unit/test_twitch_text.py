import pytest

from bot.twitch_text import badges_of, emotes_of, without_action, without_parent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x01ACTION saluta\x01", ("saluta", True)),
        ("\x01ACTION saluta", ("saluta", True)),
        ("\x01ACTION\x01", ("", True)),
        ("ACTION saluta", ("ACTION saluta", False)),
        ("", ("", False)),
    ],
)
def test_an_action_is_its_words(text: str, expected: tuple[str, bool]) -> None:
    assert without_action(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@Bob ciao", "ciao"),
        ("@BOB  ciao", "ciao"),
        ("@日本 ciao", "ciao"),
        ("@Carla ciao", "@Carla ciao"),
        ("@Bob", "@Bob"),
        ("ciao @Bob", "ciao @Bob"),
    ],
)
def test_only_the_parent_of_a_reply_is_taken_off_its_beginning(text: str, expected: str) -> None:
    assert without_parent(text, ("bob", "日本", None)) == expected


def test_roles_are_read_from_badges_and_ornaments_are_left_out() -> None:
    assert badges_of(["lead_moderator", "founder", "subscriber", "bits", "vip"]) == ("moderator", "subscriber", "vip")


def test_emote_offsets_count_code_points_of_the_shown_text() -> None:
    fragments = [("@Bob", False), (" 😀 ", False), ("Kappa", True), (" ", False), ("LUL", True)]
    whole = emotes_of(fragments, "@Bob 😀 Kappa LUL")
    assert [(emote.name, emote.start, emote.end) for emote in whole] == [("Kappa", 7, 11), ("LUL", 13, 15)]
    shortened = emotes_of(fragments, "😀 Kappa LUL")
    assert [(emote.start, emote.end) for emote in shortened] == [(2, 6), (8, 10)]
    assert [emote.name for emote in emotes_of([("Kappa", True), (" ciao", False)], "ciao")] == []
