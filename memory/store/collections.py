"""Names of collections: the scope of a memory, from any id, however hostile.

A name is valid for Chroma (3 to 512 of `[a-zA-Z0-9._-]`, alphanumeric at both ends), is one word of the full-text index, and
differs from every other id's name, also on a file system that ignores case: lower-case letters and digits stay, every other
byte of the UTF-8 form becomes `_` and two hexadecimal digits. Numeric ids stay readable: `viewer-1001`.
"""

import hashlib
import string
from typing import Literal

LORE = "lore"
_PLAIN = frozenset((string.ascii_lowercase + string.digits).encode())
_LONGEST = 120  # file systems allow 255 bytes


def collection_name(kind: Literal["viewer", "stream", "claims"], identity: str) -> str:
    """Return the name of the collection that holds a viewer's or a stream's memory, or what others claim about a viewer."""
    raw = identity.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if byte in _PLAIN else f"_{byte:02x}" for byte in raw)
    if not encoded:
        encoded = "_0"  # an escape has two digits: nothing else looks like this
    elif len(encoded) > _LONGEST:
        encoded = f"_h{hashlib.sha256(raw).hexdigest()}"  # h is no hexadecimal digit: nor like this
    return f"{kind}-{encoded}"
