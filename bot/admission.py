"""Which lines are part of the conversation: not the bot's own, not other bots', none blocked, none twice, none taken back."""

from collections import OrderedDict
from collections.abc import Iterable

from bot.addressing import Addressing
from bot.loop_settings import LoopSettings
from bot.manners import word_pattern
from bot.plain import plain
from bot.tombstones import Tombstones
from memory import Line, Message


class Admission:
    """Remembers the lines that came in; bounded."""

    def __init__(self, settings: LoopSettings, addressing: Addressing, deleted: Tombstones) -> None:
        """Take who is to be left out, who the bot is, and what moderation took back."""
        self._settings = settings
        self._addressing = addressing
        self._deleted = deleted
        self._blocked = word_pattern(settings.blocked)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def left_out(self, line: Line) -> str | None:
        """Return why a line is no part of the conversation, None where it is. The bot's own lines are noted as such."""
        reason = self._reason(line)
        if reason is not None:
            self._deleted.passed_over(line.id)
        return reason

    def _reason(self, line: Line) -> str | None:
        names = {line.user.id, line.user.login.lower()} if line.user else set()
        if self._addressing.bot.id in names:
            self._addressing.own(line.id)
            return "own"
        if not self._settings.ignored.isdisjoint(names) or (isinstance(line, Message) and line.is_bot):
            return "bot"
        if isinstance(line, Message) and line.source_channel is not None and not self._settings.foreign_chat:
            return "foreign"
        if line.id in self._seen:
            return "duplicate"
        if self._blocked is not None and self._blocked.search(plain(line.text or "")):
            return "blocked"
        return "deleted" if self._deleted.covers(line) else None

    def remember(self, ids: Iterable[str]) -> None:
        """Note lines that came in: another with the same id is a duplicate."""
        for line_id in ids:
            self._seen[line_id] = None
        while len(self._seen) > self._settings.seen_ids:
            self._seen.popitem(last=False)
