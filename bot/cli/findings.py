"""What `ricordo doctor` finds, a line a thing."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor. `note`: fine, but worth knowing; `wrong`: something must be done."""

    what: str
    state: State
    text: str
    advice: str = ""
