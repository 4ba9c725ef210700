"""Whether the bot may speak, to whom, and in what shape its words go out. Times are given; there is no I/O and no chance."""

import hashlib
import re
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bot.addressing import Addressing
from bot.plain import JOINERS, cut, is_invisible, plain
from memory import Batch, Message, Notice

AnswerPolicy = Literal["addressed", "questions", "never"]
_FORBIDDEN_START = "/.! "
_TLDS = "com|net|org|it|tv|gg|io|me|dev|app|info|eu|ly|xyz|co|uk|de|fr|ru|link|live|shop|site|online"
_LINK = re.compile(
    rf"(?:\b[a-z][a-z0-9+.-]{{0,30}}://|\bwww\.)\S+|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:{_TLDS})(?![\w-])(?:[/?#:]\S*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MannersSettings:
    """How talkative and how careful the bot is."""

    answer: AnswerPolicy = "addressed"
    channel_cooldown_seconds: float = 3.0
    viewer_cooldown_seconds: float = 10.0  # moderators and the broadcaster are exempt
    max_characters: int = 450  # code points; Twitch takes 500
    repeat_memory: int = 20  # of so many replies none is said again
    repeat_seconds: float = 600.0
    strip_links: bool = True
    blocked_words: tuple[str, ...] = ()  # whole words; a reply with one of them is not said
    people_per_reply: int = 3  # who asked at the same time is answered in one line, up to so many
    chance: float = 0.0  # of a batch in which nobody asked, that something is said to its newest message all the same
    events: frozenset[str] = frozenset()  # kinds of notices that get a word
    online_only: bool = False  # silent while no stream is known to run
    prefix: str = "!"  # of commands: no reply begins with it
    late_seconds: float = 60.0  # an answer that would come later than this after its batch is not given

    def __post_init__(self) -> None:
        """Refuse lengths that the platform would."""
        if not 1 <= self.max_characters <= 500:  # noqa: PLR2004 - Twitch's own limit
            msg = f"max_characters must be between 1 and 500, not {self.max_characters}"
            raise ValueError(msg)
        if self.people_per_reply < 1:
            msg = f"people_per_reply must be at least 1, not {self.people_per_reply}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a batch is answered: `to` is the newest message that gets the answer, `reason` says why, or why not."""

    to: Message | None
    reason: str
    also: tuple[Message, ...] = ()  # older messages by others, answered in the same line, oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Polished:
    """A reply fit to be posted, or `text` None and the reason why it must not be."""

    text: str | None
    reason: str = ""


class Manners:
    """Remembers when the bot last answered whom and what it said lately; bounded."""

    def __init__(self, settings: MannersSettings, addressing: Addressing) -> None:
        """Take the policy and whom the chat means when it means the bot."""
        self.quiet = False  # a moderator told the bot to be silent
        self.online = not settings.online_only  # whether a stream runs, as far as is known
        self.leaving = False  # the bot is about to end: what it hears is stored, nobody is asked for an answer
        self.addressing = addressing
        self._settings = settings
        self._blocked = word_pattern(settings.blocked_words)
        self._answered: dict[str, datetime] = {}
        self._last_answer: datetime | None = None
        self._said: deque[tuple[str, datetime]] = deque(maxlen=max(1, settings.repeat_memory))

    def choose(self, batch: Batch, *, now: datetime) -> Decision:
        """Return which messages of the batch are answered: of each writer who may ask again, the newest that is for the bot.

        Where more people ask than one line may answer, the newest are answered.

        Choosing starts the cooldowns: a model that fails is not asked again at once, and a replay that resumes decides alike.
        """
        wanted = [(message, why) for message in batch.messages if (why := self._why(message)) is not None]
        wanted = wanted or self._unasked(batch)
        silence = self._silence(batch, now, asked=bool(wanted))
        if silence is not None:
            return Decision(to=None, reason=silence)
        free = [(message, why) for message, why in wanted if self._may_ask(message.user.id, message.badges, batch.closed_at)]
        if not free:
            return Decision(to=None, reason="viewer_cooldown")
        newest = {message.user.id: message.id for message, _ in free}
        chosen = [one for one in free if newest[one[0].user.id] == one[0].id][-self._settings.people_per_reply :]
        for message, _ in chosen:
            self._start_cooldowns(message.user.id, batch.closed_at)
        to, why = chosen[-1]
        return Decision(to=to, reason=why, also=tuple(message for message, _ in chosen[:-1]))

    def polish(self, text: str, *, now: datetime) -> Polished:
        """Return `text` as one harmless chat message, or the reason why it is not said."""
        shown = _one_line(text)
        if self._settings.strip_links:  # of what is seen: a character that nobody sees must hide none
            shown = _one_line(_LINK.sub("", shown))
        shown = shown.lstrip(_FORBIDDEN_START + self._settings.prefix)
        shown = cut(shown, self._settings.max_characters)
        if not plain(shown):
            return Polished(text=None, reason="empty")
        if self._blocked is not None and self._blocked.search(plain(shown)):
            return Polished(text=None, reason="blocked_word")
        recent = timedelta(seconds=self._settings.repeat_seconds)
        if any(said == plain(shown) and now - at <= recent for said, at in self._said):
            return Polished(text=None, reason="repeated")
        return Polished(text=shown)

    def note_said(self, text: str, *, now: datetime) -> None:
        """Remember what was said, so that it is not said again soon."""
        self._said.append((plain(text), now))

    def may_serve(self, viewer_id: str, badges: tuple[str, ...], *, now: datetime) -> bool:
        """Return whether a viewer's command is answered now; it counts as an answer to them."""
        if self.quiet or self.leaving or not self._may_ask(viewer_id, badges, now):
            return False
        self._start_cooldowns(viewer_id, now)
        return True

    def _silence(self, batch: Batch, now: datetime, *, asked: bool) -> str | None:
        """Return why nobody at all is answered now, None where somebody may be."""
        rules = self._settings
        cooling = timedelta(seconds=rules.channel_cooldown_seconds)
        reasons = {
            "policy_never": rules.answer == "never",
            "not_addressed": not asked,
            "quiet": self.quiet,
            "offline": rules.online_only and not self.online,
            "stopping": self.leaving,
            "late": now - batch.closed_at > timedelta(seconds=rules.late_seconds),
            "channel_cooldown": _within(self._last_answer, batch.closed_at, cooling),
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _unasked(self, batch: Batch) -> list[tuple[Message, str]]:
        """Return what gets a word although nobody asked: the newest event, or, by chance, the newest message.

        Chance is the batch's own, so that a replay says the same.
        """
        told = [line for line in batch.lines if isinstance(line, Notice) and line.kind in self._settings.events]
        events = [spoken for notice in told if (spoken := _spoken(notice)) is not None]
        if events:
            return [(events[-1], "event")]
        if batch.messages and _draw(batch.id) < self._settings.chance:
            return [(batch.messages[-1], "chance")]
        return []

    def _why(self, message: Message) -> str | None:
        how = self.addressing.how(message)
        if how is not None:
            return how
        return "question" if self._settings.answer == "questions" and "?" in message.text else None

    def _may_ask(self, viewer_id: str, badges: tuple[str, ...], at: datetime) -> bool:
        if {"moderator", "broadcaster"} & set(badges):
            return True
        last = self._answered.get(viewer_id)
        return not _within(last, at, timedelta(seconds=self._settings.viewer_cooldown_seconds))

    def _start_cooldowns(self, viewer_id: str, at: datetime) -> None:
        over = at - timedelta(seconds=self._settings.viewer_cooldown_seconds)
        self._answered = {viewer: last for viewer, last in self._answered.items() if last > over}
        self._answered[viewer_id] = at
        self._last_answer = at


def _within(last: datetime | None, at: datetime, pause: timedelta) -> bool:
    """Whether `at` is within `pause` of `last`. One that is still far off was told by a clock that was set back since."""
    return last is not None and abs(at - last) < pause


def _spoken(notice: Notice) -> Message | None:
    """Return a notice as something its viewer said; None where nobody is named."""
    if notice.user is None:
        return None
    text = notice.text or str(notice.data.get("system_message") or notice.kind)
    return Message(id=notice.id, at=notice.at, user=notice.user, text=text)


def _draw(batch_id: str) -> float:
    """Return a number from 0 to below 1 that is always the same for the same batch."""
    return int.from_bytes(hashlib.sha256(batch_id.encode()).digest()[:8]) / 2**64


def word_pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds one of these words, whole, in a `plain` text; None where there are none."""
    known = [re.escape(plain(word)) for word in words if plain(word)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)") if known else None


def _one_line(text: str) -> str:
    spaced = "".join(" " if character.isspace() else character for character in text)
    kept = (character for character in spaced if character in JOINERS or not is_invisible(character))
    return " ".join("".join(kept).split())
