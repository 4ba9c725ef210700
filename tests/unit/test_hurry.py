"""The process settings of a long run."""

import platform
import sys

import pytest

from replays.hurry import few_arenas, short_turns


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_glibc_agrees_to_few_arenas() -> None:
    assert few_arenas()


def test_threads_hand_the_interpreter_over_sooner() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)  # as Python comes: a test before may have asked for less
    try:
        short_turns()
        assert sys.getswitchinterval() < 0.005
    finally:
        sys.setswitchinterval(before)
