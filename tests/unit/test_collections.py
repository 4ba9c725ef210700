"""Names of collections: valid, readable, and one for each id."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.store.collections import collection_name

IDS = st.text(st.characters(codec=None), max_size=200)


def test_a_numeric_id_stays_readable() -> None:
    assert collection_name("viewer", "1001") == "viewer-1001"
    assert collection_name("stream", "41000") == "stream-41000"


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "C:\\Windows", "", ".", "a" * 10_000, "\x00", "\ud800", "🦊", "con", "A b"]
)
def test_any_id_gives_a_valid_name(hostile: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,510}[a-z0-9]", collection_name("viewer", hostile))


@given(IDS, IDS)
@example("Alice", "alice")
@example("", "0")
@example("a_", "a\x5f")
@example("h" + "0" * 64, "x" * 500)
def test_different_ids_never_share_a_name_even_without_case(one: str, other: str) -> None:
    same = collection_name("viewer", one).lower() == collection_name("viewer", other).lower()
    assert same == (one == other)


@given(IDS)
def test_kinds_never_share_a_name(id_: str) -> None:
    assert collection_name("viewer", id_) != collection_name("stream", id_)
