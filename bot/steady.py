"""What a bot that runs for hours asks of its process."""

import gc


def pass_over_loaded() -> None:
    """Have the garbage collector pass over all that is there by now: modules, rules, tables, which stay until the end.

    Looking through them takes it 100 ms and more, each time, in the middle of the chat. What is no longer used among them and
    refers to itself is never freed: call it once, when all is loaded.
    """
    gc.collect()
    gc.freeze()
