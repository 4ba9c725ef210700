"""The tables of an evaluation: no number is ever cut, however narrow the terminal."""

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from replays.tables import SHORT, category_tables, recipe_tables

RECIPES = ("full", "-coverage_check", "history_only")


def _group(probes: int, value: float) -> dict[str, Any]:
    metrics = {name: {"value": value, "low": value, "high": value, "count": probes} for name in SHORT}
    metrics["block_tokens"] = {"value": 12345.0, "low": 12345.0, "high": 12345.0, "count": probes}
    return {"probes": probes, "metrics": metrics}


def _summary(*recipes: str) -> dict[str, Any]:
    pair = {"answer_coverage": {"difference": {"value": -0.125}, "p": 0.031}}
    return {
        "recipe": "full",
        "probes": 1234,
        "overall": _group(1234, 0.74),
        "by_category": {name: _group(617, 0.41) for name in ("attribution_of_others", "recall")},
        "recipes": {name: {"overall": _group(1234, 0.74)} for name in recipes},
        "pairs": dict.fromkeys(recipes[1:], pair),
    }


def _printed(tables: list[Table], width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get()


@pytest.mark.parametrize("width", [50, 80, 110, 200])
def test_every_number_stays_readable_at_any_width(width: int) -> None:
    printed = _printed(category_tables(_summary("full"), width), width)

    assert "…" not in printed
    assert printed.count("0.41") == 2 * (len(SHORT) - 1)
    assert all(name in printed for name in (*SHORT.values(), "attribution_of_others", "1234"))
    assert max(map(len, printed.splitlines())) <= width


@pytest.mark.parametrize("width", [50, 80, 200])
def test_recipes_beside_each_other_stay_readable_at_any_width(width: int) -> None:
    printed = _printed(recipe_tables(_summary(*RECIPES), width), width)

    assert "…" not in printed
    assert printed.count("-0.125") == 2
    assert all(name in printed for name in (*RECIPES, *SHORT.values(), "± answer", "0.031"))


def test_a_wide_terminal_gets_one_table() -> None:
    assert len(category_tables(_summary("full"), 200)) == 1


def test_one_recipe_alone_is_compared_to_nothing() -> None:
    assert recipe_tables(_summary("full"), 80) == []
