"""Which lines of the recent chat a reply says again: by its long words, its numbers and its names."""

import pytest

from memory.store.repeats import repeated

CHAT = (
    ("m1", "il mio gatto si chiama Rex"),
    ("m2", "abito in via dei Tigli 12"),
    ("m3", "la torta era buonissima"),
    ("m4", "ciao a tutti"),
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Il suo è Rex, credo", ("m1",)),
        ("Rex!", ("m1",)),
        ("Vive dalle parti di via Tigli", ("m2",)),
        ("al 12", ("m2",)),
        ("Che TORTA!", ("m3",)),
        ("Buonissime, le torte: parola di Rex", ("m1", "m3")),
        ("Ciao, come va?", ()),
        ("", ()),
    ],
)
def test_a_line_is_repeated_by_what_tells_something(reply: str, expected: tuple[str, ...]) -> None:
    assert repeated(reply, CHAT, known=()) == expected


def test_what_was_asked_and_what_everybody_says_tells_nothing() -> None:
    assert repeated("La torta era buona", CHAT, known=("torta",)) == ()
    everybody = [(f"x{number}", "che torta stasera") for number in range(9)]
    assert repeated("Una torta", [*everybody, *CHAT], known=()) == ()
    assert repeated("Un gelato stasera", everybody[:4], known=()) == ("x0", "x1", "x2", "x3")
