"""What the process asks of its allocator. Chroma writes memory to disk that it never set: what was freed must hold nothing.

A collection of a few vectors gets files for a hundred, and the rest of them is whatever the heap held before: in 22 of 80
tries, vectors of a collection that had just been dropped. Elsewhere than on glibc nothing can be asked, and this remains.
"""

import ctypes
import sys

ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
_PERTURB = -6  # M_PERTURB: bytes are overwritten when they are freed, and again when they are given out
_FILLING = 0xA5


def ask_allocator(option: int, value: int) -> bool:
    """Set an option of glibc's mallopt(3); return whether it agreed."""
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(option, value))


def overwrite_freed() -> bool:
    """Have freed memory overwritten, from now on, in the whole process; return whether the allocator agreed."""
    return ask_allocator(_PERTURB, _FILLING)
