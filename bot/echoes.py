"""The bot's lines under two names: in a recording that is played they have the ids of that evening, here they have others."""

from collections import OrderedDict
from dataclasses import replace

from bot.bounded import put
from memory import BotReply, Line, Message, Said

REMEMBERED = 500  # lines of the bot that a viewer may still answer


class Echoes:
    """Knows which line of ours stands for a recorded one. Bounded; of use in a replay where the bot itself speaks."""

    def __init__(self) -> None:
        """Start with none."""
        self._ours: OrderedDict[tuple[str, ...], str] = OrderedDict()  # what was answered -> our line
        self._known: OrderedDict[str, str] = OrderedDict()  # a recorded line -> ours

    def said(self, said: Said) -> None:
        """Note what the bot said here."""
        if said.reply_id is not None and said.in_reply_to:
            put(self._ours, said.in_reply_to, said.reply_id, most=REMEMBERED)

    def meet(self, reply: BotReply) -> None:
        """Take a recorded reply for ours to the same messages, where there is one."""
        ours = self._ours.get(tuple(reply.in_reply_to))
        if reply.id is not None and ours is not None:
            put(self._known, reply.id, ours, most=REMEMBERED)

    def translated(self, line: Line) -> Line:
        """Return a line as an answer to our words, where it answers recorded ones that ours stand for."""
        if not isinstance(line, Message) or line.reply_to is None or line.reply_to not in self._known:
            return line
        return replace(line, reply_to=self._known[line.reply_to])
