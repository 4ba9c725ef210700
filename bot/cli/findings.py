"""What `ricordo doctor` finds, a line a thing, to be told in either language."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bot.cli.doctor_texts import TEXTS, THINGS
from bot.cli.login_texts import Language
from memory import counted

State = Literal["ok", "note", "wrong"]
Spoken = Callable[[Language], str]  # a value that has words of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A finding in words: what was looked at, how it is, and what to do where something must be done."""

    what: str
    state: State
    text: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor. `note`: fine, but worth knowing; `wrong`: something must be done."""

    name: str  # of `doctor_texts`: the thing, a dot, and what is said of it
    state: State
    values: Mapping[str, object] = field(default_factory=dict)
    instead: str = ""  # an advice in the words of an error, in place of the usual one

    def told(self, language: Language) -> Told:
        """Return it in words. Those of an error stay English, as the log has them."""
        values = {name: value(language) if callable(value) else value for name, value in self.values.items()}
        thing, _, _ = self.name.partition(".")
        text, advice = (counted(said, language, **values) for said in TEXTS[self.name][language])
        return Told(what=THINGS[thing][language].format(**values), state=self.state, text=text, advice=self.instead or advice)

    @property
    def what(self) -> str:
        """What was looked at, in English."""
        return self.told("en").what

    @property
    def text(self) -> str:
        """How it is, in English."""
        return self.told("en").text

    @property
    def advice(self) -> str:
        """What to do, in English; mostly nothing."""
        return self.told("en").advice


def found(name: str, state: State = "ok", **values: object) -> Finding:
    """Return a finding."""
    return Finding(name=name, state=state, values=values)
