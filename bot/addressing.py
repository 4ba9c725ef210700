"""Is this line for the bot? Its names, its mentions, and answers to what it said itself. No I/O."""

import re
from collections import OrderedDict
from functools import cached_property

from bot.plain import plain, visible
from memory import BotIdentity, Message

OWN_LINES = 500  # replies of the bot that a viewer may still answer
_DASHES = "-\u2013\u2014"
_PAUSES = " ,:;" + _DASHES
_EDGE = _PAUSES + ".!?"


class Names:
    """Everything that addresses one bot, as patterns."""

    def __init__(self, bot: BotIdentity) -> None:
        """Take the bot's login, display name and aliases; empty ones are left out."""
        self._bot = bot

    @cached_property
    def _words(self) -> tuple[str, ...]:
        names = (plain(name) for name in (self._bot.login, self._bot.name, *self._bot.aliases))
        return tuple(sorted({name for name in names if name}, key=lambda name: (-len(name), name)))

    @cached_property
    def _anywhere(self) -> re.Pattern[str] | None:
        if not self._words:
            return None
        return re.compile(rf"(?<![\w@])(@?)(?:{'|'.join(map(re.escape, self._words))})(?!\w)", re.IGNORECASE)

    def found_in(self, text: str) -> str | None:
        """Return `mention` for `@name`, `name` for the bare word, None where the bot is not named."""
        matches = list(self._anywhere.finditer(plain(text))) if self._anywhere else []
        if any(match.group(1) for match in matches):
            return "mention"
        return "name" if matches else None

    def strip(self, text: str) -> str:
        """Return `text` without the address at its beginning or end: `@bot, che ore sono?` becomes `che ore sono?`."""
        shown = visible(text)
        if not self._anywhere:
            return shown
        matches = list(self._anywhere.finditer(shown))
        if matches and not shown[: matches[0].start()].strip(_EDGE):
            shown = shown[matches[0].end() :].lstrip(_EDGE)
        elif matches and matches[-1].group(1) and not shown[matches[-1].end() :].strip(_EDGE):
            shown = shown[: matches[-1].start()].rstrip(_PAUSES) + shown[matches[-1].end() :]
        return shown.strip()


class Addressing:
    """Who the bot is at present, and which lines of the chat are its own."""

    def __init__(self, bot: BotIdentity) -> None:
        """Begin as `bot`; a stream may bring another identity (a recorded log has its own)."""
        self._own: OrderedDict[str, None] = OrderedDict()
        self.meet(bot)

    def meet(self, bot: BotIdentity) -> None:
        """Answer to this identity from now on."""
        self.bot = bot
        self.names = Names(bot)

    def own(self, line_id: str | None) -> None:
        """Note a line of the bot itself, so that an answer to it is for the bot."""
        if line_id is None:
            return
        self._own[line_id] = None
        while len(self._own) > OWN_LINES:
            self._own.popitem(last=False)

    def how(self, message: Message) -> str | None:
        """Return how the message addresses the bot (`mention`, `reply`, `name`), or None where it does not."""
        if any(viewer.id == self.bot.id for viewer in message.mentions):
            return "mention"
        if message.reply_to is not None and message.reply_to in self._own:
            return "reply"
        return self.names.found_in(message.text)

    def question(self, message: Message) -> str:
        """Return what the message says to the bot, its address taken off."""
        return self.names.strip(message.text)
