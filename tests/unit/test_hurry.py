"""The process settings of a long run."""

import platform

import pytest

from replays.hurry import few_arenas


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_glibc_agrees_to_few_arenas() -> None:
    assert few_arenas()
