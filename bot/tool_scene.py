"""Who really asks for a tool, and in what words: what a call of the model is judged by, never by what the model says of it.

The one who asks is the author of the message that is answered. Whatever anybody else wrote, in the batch or before, lends a
call neither their rights nor their words: a record, a name or a correction that the asker's own lines do not speak of is
refused.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from memory import Batch, HistoryLine, KnownViewer, Memory, Message, Recall, Rights, StateRecord, Viewer, spaced, words

MODERATORS: Final = frozenset({"moderator", "broadcaster"})
LETTERS: Final = 4  # by which words are compared, from the beginning: they may be inflected
OWN_SHARE: Final = 0.5  # part of a text's words that the asker's own lines must hold
_DOMAIN_WORDS: Final = {
    "request": frozenset({"rich", "requ", "ordi", "list", "chie", "aske"}),
    "note": frozenset({"nota", "note", "prom", "appu", "remi", "memo"}),
    "relation": frozenset({"rela", "pare", "team", "squa"}),
    "joke": frozenset({"torm", "batt", "gag", "gags", "joke", "meme"}),
    "channel": frozenset({"cana", "chan"}),
}
_FORGETTING: Final = frozenset({"dime", "scor", "canc", "elim", "rimu", "togl", "forg", "dele", "eras", "remo"})


class NotMeant(Exception):
    """A call that the asker's own words do not carry, or that names nobody. The text is for the model."""


@dataclass(frozen=True)
class Scene:
    """One turn as a tool call sees it."""

    batch: Batch
    recall: Recall
    to: Message  # the message that is answered: its author asks
    memory: Memory
    bot_id: str

    @property
    def speaker(self) -> Viewer:
        """Who asks."""
        return self.to.user

    @cached_property
    def moderator(self) -> bool:
        """Whether the asker moderates this chat; badges of a shared chat are those of another one."""
        return self.to.source_channel is None and not MODERATORS.isdisjoint(self.to.badges)

    @cached_property
    def rights(self) -> Rights:
        """What the asker may do."""
        present = frozenset(message.user.id for message in self.batch.messages if not message.is_bot)
        return Rights(viewer_id=self.speaker.id, moderator=self.moderator, present=present)

    @cached_property
    def own(self) -> tuple[Message, ...]:
        """The asker's messages in the batch."""
        return tuple(message for message in self.batch.messages if message.user.id == self.speaker.id)

    @cached_property
    def answered(self) -> HistoryLine | None:
        """The line that the asker replies to, where it is shown: what they point at."""
        lines = self.recall.window.lines
        return next((line for line in lines if line.id == self.to.reply_to), None) if self.to.reply_to else None

    @cached_property
    def _around(self) -> frozenset[str]:
        pointed = [self.answered.text] if self.answered else []
        return starts(" ".join([*(message.text for message in self.own), *self._before, *pointed]))

    @cached_property
    def _before(self) -> list[str]:
        lines = self.recall.window.lines
        return [line.text for line in lines if line.author is not None and line.author.id == self.speaker.id]

    def require_own(self, text: str) -> None:
        """Refuse a text that is not made of the asker's own words.

        Raises:
            NotMeant: less than half of its words stand in what they wrote, or in what they reply to.
        """
        said = starts(text)
        if said and len(said & self._around) < OWN_SHARE * len(said):
            msg = "the speaker did not say this: use their own words, in their language, or ask them"
            raise NotMeant(msg)

    def require_said_now(self, text: str) -> None:
        """Refuse words that the asker did not write in this batch, in this order.

        Raises:
            NotMeant: they did not.
        """
        if not any(spaced(text) in spaced(message.text) for message in self.own):
            msg = "the speaker did not write these words in their message: only what they say themselves can be put in"
            raise NotMeant(msg)

    def require_forgetting(self) -> None:
        """Refuse to forget for somebody who does not ask for it.

        Raises:
            NotMeant: no message of theirs in the batch asks to forget.
        """
        if not any(_FORGETTING & starts(message.text) for message in self.own):
            msg = "the speaker does not ask to forget anything"
            raise NotMeant(msg)

    def require_meant(self, record: StateRecord) -> None:
        """Refuse to change a record that the asker does not speak of.

        Raises:
            NotMeant: their words name neither the record, nor its kind, nor its people.
        """
        people = " ".join(f"{viewer.login} {viewer.name}" for viewer in self.memory.people(record.viewers))
        said = " ".join(message.text for message in self.own)
        named = starts(f"{record.text} {people}") | _DOMAIN_WORDS[record.domain]
        if not named & (starts(said) | self._around) and record.id not in said:
            msg = "the speaker does not speak of this record: ask them which one they mean"
            raise NotMeant(msg)

    def viewer(self, name: str | None) -> str:
        """Return the id of the viewer whom a name means; None: the asker.

        Raises:
            NotMeant: nobody here is called so, several are, or the asker does not name them.
        """
        if name is None:
            return self.speaker.id
        id_, wanted = self.called(name), name.strip().removeprefix("@").casefold()
        if id_ == self.bot_id:
            msg = "that is yourself: a record is about viewers"
            raise NotMeant(msg)
        self._require_named(id_, wanted)
        return id_

    def called(self, name: str) -> str:
        """Return the id of the viewer who is called so, whether or not the asker names them.

        Raises:
            NotMeant: nobody here is, or several are.
        """
        wanted = name.strip().removeprefix("@").casefold()
        found = self._here(wanted) or {viewer.id for viewer in self.memory.named(wanted)}
        if len(found) != 1:
            known = "nobody here is" if not found else "more than one is"
            raise NotMeant(f"{known} called {name!r}: use the login of a viewer, or ask")
        return next(iter(found))

    def _here(self, wanted: str) -> set[str]:
        """Return who of those present is called so: by login, else by display name."""
        people = [message.user for message in self.batch.messages]
        people += [mention for message in self.own for mention in message.mentions]
        people += [line.author for line in self.recall.window.lines if line.author is not None]
        by_login = {one.id for one in people if wanted in {one.login.casefold(), one.id}}
        return by_login or {one.id for one in people if one.name.casefold() == wanted}

    def _require_named(self, id_: str, wanted: str) -> None:
        mentioned = {mention.id for message in self.own for mention in message.mentions}
        pointed = self.answered.author.id if self.answered is not None and self.answered.author is not None else None
        if id_ in {self.speaker.id, pointed, *mentioned} or self._calls(id_, wanted):
            return
        msg = "the speaker does not name this viewer: ask whom they mean"
        raise NotMeant(msg)

    def _calls(self, id_: str, wanted: str) -> bool:
        known: tuple[KnownViewer, ...] = self.memory.people([id_])
        names = {wanted, *(name for viewer in known for name in (viewer.login, viewer.name))}
        said = spaced(" ".join([*(message.text for message in self.own), *self._before]))
        return any(spaced(name).strip() and spaced(name) in said for name in names)


def starts(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words of a text; of all its words where none is long."""
    found = words(text)
    return frozenset(word[:LETTERS] for word in found if len(word) >= LETTERS) or frozenset(found)
