"""From the configuration to the recipe of a recall: the same by default, and every number of it can be set."""

from dataclasses import fields

import pytest

from bot.app import recipe_of
from config.settings import Settings
from memory.recipes import FULL, Fusion, Gate

NUMBERS = [
    (section, part, field.name)
    for section, part, values in (("retrieval", "gate", Gate()), ("fusion", "fusion", Fusion()))
    for field in fields(values)
    if type(getattr(values, field.name)) in {int, float}
]


def test_the_configuration_as_it_comes_is_the_full_recipe() -> None:
    assert recipe_of(Settings()) == FULL


@pytest.mark.parametrize(("section", "part", "name"), NUMBERS)
def test_a_number_that_is_set_is_the_recipes(section: str, part: str, name: str) -> None:
    before = getattr(getattr(FULL, part), name)
    other = 1 if before != 1 else 2
    recipe = recipe_of(Settings.model_validate({section: {name: other}}))
    assert getattr(getattr(recipe, part), name) == other != before
