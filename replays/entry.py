"""Where `ricordo` begins: everything else takes seconds to load, and Ctrl-C must not show a traceback meanwhile."""

import gc
import os
import signal
from importlib import import_module

_INTERRUPTED = 130


def main() -> None:
    """Load the command line and run it."""
    # Not by catching KeyboardInterrupt: an extension module that is being loaded may turn it into an error of its own.
    quick = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if quick:
        signal.signal(signal.SIGINT, _leave)
    gc.disable()  # what loads now stays: `replays.cli` tells the collector so
    command_line = import_module("replays.cli")
    if quick:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line.main()


def _leave(*_: object) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(_INTERRUPTED)
