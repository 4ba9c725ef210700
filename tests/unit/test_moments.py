"""When a question is about."""

from datetime import UTC, datetime

import pytest
from builders_plan import BOT, NOW, a_message, the_rules

from memory.language import read
from memory.moments import as_of


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("dove vivevo l'anno scorso?", "2025-12-31T23:59:59"),
        ("where did i live last year?", "2025-12-31T23:59:59"),
        ("che lavoro facevo il mese scorso?", "2026-04-30T23:59:59"),
        ("what did i drive last month?", "2026-04-30T23:59:59"),
        ("dove ero la settimana scorsa?", "2026-05-17T23:59:59"),  # NOW is a Wednesday
        ("what did i say yesterday?", "2026-05-19T23:59:59"),
        ("cosa ho mangiato l'altro ieri?", "2026-05-18T23:59:59"),
        ("dove abitavo a febbraio?", "2026-02-28T23:59:59"),
        ("where did i live in august?", "2025-08-31T23:59:59"),
        ("where did i live in 2024?", "2024-12-31T23:59:59"),
        ("dove abitavo tre settimane fa?", "2026-04-29T20:00:00"),
        ("where did i live 2 years ago?", "2024-05-20T20:00:00"),
        ("where did i live a month ago?", "2026-04-20T20:00:00"),
        ("dove abito a maggio?", None),
        ("may i eat nuts?", None),
        ("where will i live in 2031?", None),
        ("dove abitavo 5000 anni fa?", None),
        ("where did i live many years ago?", None),
        ("dove abito?", None),
    ],
)
def test_an_expression_of_time_gives_its_moment(text: str, moment: str | None) -> None:
    reading = read(a_message(f"nuvola {text}"), BOT, the_rules())
    expected = datetime.fromisoformat(moment).replace(tzinfo=UTC) if moment else None
    assert as_of(reading, NOW, the_rules()) == expected


def test_the_year_is_crossed_backwards() -> None:
    reading = read(a_message("nuvola where did i live last month?"), BOT, the_rules())
    assert as_of(reading, datetime(2026, 1, 5, tzinfo=UTC), the_rules()) == datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)
