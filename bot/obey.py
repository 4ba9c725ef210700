"""Carries commands out. Who may: the broadcaster and moderators for anybody, viewers for themselves; else nothing happens.

A `Command` is one that a recorded log says was given and done: nobody confirms it and no pause holds it up.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bot.bounded import put
from bot.canon import Reload
from bot.commands import Commands, Order, order_of
from bot.manners import Manners
from bot.obey_state import RecordKeeper
from bot.obey_texts import command_words
from bot.speak import Speaker
from bot.state_command import state_command_of
from bot.tombstones import ANYBODY
from memory import Command, CorrectRequest, ForgetRequest, InvalidRow, Memory, Message, Receipt, counted

log = structlog.get_logger(__name__)
Given = Command | Message
_Verb = Callable[[Order, Command | Message, str | None], Awaitable[str | None]]
_MODERATORS = frozenset({"moderator", "broadcaster"})
_ASKING = frozenset({"memory", "whatdoyouknow", "memories"})  # they change nothing: without an answer they are nothing
_CONFIRMED = frozenset({"forgetme", "wipe"})
_ERASING = frozenset({"forget", "forgetme", "optout", "correct", "wipe"})
_REMEMBERED = 1000  # viewers whose newest order is remembered
_ID_LETTERS = 12  # of an id that is told in chat: enough to name it


class Obeyer:
    """Obeys the commands of one chat. Its answers hold counts and ids, never what viewers wrote; of records, what is noted."""

    def __init__(
        self,
        memory: Memory,
        commands: Commands,
        *,
        manners: Manners,
        speaker: Speaker,
        speaks: bool,
        reload: Reload | None = None,
    ) -> None:
        """`speaks` is False where a recorded log speaks: commands take effect, and nothing is said."""
        self._reload = reload
        self._memory = memory
        self._commands = commands
        self._manners = manners
        self._speaker = speaker
        self._speaks = speaks
        self._language = commands.settings.language
        self._words = command_words(self._language)
        self._records = RecordKeeper(memory, self._words)
        self._asked: OrderedDict[tuple[str, str], datetime] = OrderedDict()  # who was asked to confirm what
        self._ordered: OrderedDict[str, datetime] = OrderedDict()
        self._verbs: dict[str, _Verb] = {
            "forget": self._forget,
            "forgetme": self._forget_me,
            "correct": self._correct,
            "memories": self._tell,
            "whatdoyouknow": self._tell,
            "optout": self._opt,
            "optin": self._opt,
            "state": self._state,
            "wipe": self._wipe,
            "reload": self._read_again,
        }

    def knows(self, text: str) -> bool:
        """Return whether this is one of the bot's own commands."""
        parsed = self._commands.parse(text)
        return parsed is not None and self._commands.meaning(parsed) is not None

    def erases(self, given: Given) -> str | None:
        """Return whose memory this command will change, `ANYBODY` where it does not say, None where it will change nothing."""
        parsed = self._commands.parse(given.text)
        verb = self._commands.meaning(parsed) if parsed is not None else None
        order = order_of(verb, parsed) if parsed is not None and verb in _ERASING else None
        if verb is None or order is None:
            return None
        if verb in _CONFIRMED:
            return (given.user.id if verb == "forgetme" else ANYBODY) if self._confirms(verb, given) else None
        whom = self._whom(order.name, given) if order.name else ANYBODY
        if verb == "optout" or (not _is_moderator(given) and whom in {given.user.id, ANYBODY}):
            return given.user.id
        return whom if _is_moderator(given) else None

    async def obey(self, given: Given, stream_id: str | None) -> bool:
        """Carry a command out, and answer; return whether anything came of it.

        Raises:
            StoreUnavailable: nothing was done; give it again.
        """
        parsed = self._commands.parse(given.text)
        verb = self._commands.meaning(parsed) if parsed is not None else None
        if parsed is None or verb is None or not self._may_now(verb, given):
            return False
        order = order_of(verb, parsed)
        try:
            answer = await self._carry_out(verb, order, given, stream_id)
        except InvalidRow:  # words of which nothing is left when they are compared
            answer = self._usage(verb) if _is_moderator(given) else None
        log.info("command_given", command=verb, moderator=_is_moderator(given), heard=answer is not None)
        if answer is None:
            return False
        await self._say(answer, given, always=verb == "bot")
        return True

    def _may_now(self, verb: str, given: Given) -> bool:
        """Return whether a command is heard at this moment; a question counts as one that is answered."""
        if verb in _ASKING:
            return self._speaks and self._manners.may_serve(given.user.id, given.badges, now=given.at)
        if isinstance(given, Command) or _is_moderator(given) or self._confirms(verb, given):
            return True
        before = self._ordered.get(given.user.id)
        put(self._ordered, given.user.id, given.at, most=_REMEMBERED)
        return before is None or given.at - before >= timedelta(seconds=self._commands.settings.pause_seconds)

    def _confirms(self, verb: str, given: Given) -> bool:
        """Return whether this may be the answer to the question that was put to a viewer; it is heard once without a pause."""
        asked = self._asked.get((verb, given.user.id))
        parsed = self._commands.parse(given.text)
        order = order_of(verb, parsed) if parsed is not None and verb in _CONFIRMED else None
        window = timedelta(seconds=self._commands.settings.confirm_seconds)
        return asked is not None and order is not None and order.yes and given.at - asked <= window

    async def _carry_out(self, verb: str, order: Order | None, given: Given, stream_id: str | None) -> str | None:
        """Return the answer, None where the command is passed over in silence."""
        if order is None:
            return self._usage(verb) if _is_moderator(given) else None
        if verb == "memory":
            return self._filled(self._words.about, name=self._manners.addressing.bot.name)
        if verb == "bot":
            return self._switch(order, given)
        return await self._verbs[verb](order, given, stream_id)

    async def _forget(self, order: Order, given: Given, stream_id: str | None) -> str | None:
        only, by = None if _is_moderator(given) else given.user.id, given.user.id
        if order.last and stream_id is None:
            return None
        if order.last or order.id:
            scope = ForgetRequest(
                scope="last" if order.last else "item", at=given.at, id=order.id, stream_id=stream_id, only=only, by=by
            )
            return self._done(await self._memory.forget(scope), given)
        whom = self._whom(order.name or "", given)
        if whom is None or only not in {None, whom}:
            return self._words.unknown_name if only is None else None
        if only is not None and not order.words:
            return await self._forget_me(order, given, stream_id)
        scope = ForgetRequest(
            scope="words" if order.words else "viewer", at=given.at, viewer_id=whom, words=order.words, only=only, by=by
        )
        return self._done(await self._memory.forget(scope), given)

    async def _forget_me(self, order: Order, given: Given, _: str | None) -> str:
        """Forget the one who asks, once they confirmed; a recorded command stands for what was done."""
        me, window = given.user.id, timedelta(seconds=self._commands.settings.confirm_seconds)
        if not self._is_confirmed("forgetme", order, given):
            return self._filled(self._words.confirm, seconds=str(round(window.total_seconds())))
        receipt = await self._memory.forget(ForgetRequest(scope="viewer", at=given.at, viewer_id=me, only=me, by=me))
        self._asked.pop(("forgetme", me), None)
        return self._done(receipt, given) or self._words.nothing

    def _is_confirmed(self, verb: str, order: Order, given: Given) -> bool:
        """Return whether the question put to somebody is answered in time; a recorded command stands for what was done."""
        key, window = (verb, given.user.id), timedelta(seconds=self._commands.settings.confirm_seconds)
        asked = self._asked.get(key)
        if isinstance(given, Command) or (order.yes and asked is not None and given.at - asked <= window):
            return True
        put(self._asked, key, given.at, most=_REMEMBERED)
        return False

    async def _wipe(self, order: Order, given: Given, _: str | None) -> str | None:
        """Forget everything of the channel: for the broadcaster alone, once they confirmed."""
        if not _is_owner(given):
            return None
        if not self._is_confirmed("wipe", order, given):
            return self._filled(self._words.wipe, seconds=str(round(self._commands.settings.confirm_seconds)))
        request = ForgetRequest(scope="everything", at=given.at, by=given.user.id)
        receipt = await self._memory.forget(request)
        self._asked.pop(("wipe", given.user.id), None)
        return self._done(receipt, given)

    async def _read_again(self, _: Order, given: Given, __: str | None) -> str | None:
        if not _is_owner(given) or self._reload is None:
            return None
        changed = await self._reload()
        return self._words.not_reloaded if changed is None else counted(self._words.reloaded, self._language, count=changed)

    async def _state(self, order: Order, given: Given, _: str | None) -> str | None:
        if not _is_moderator(given):
            return None
        asked = state_command_of(order.words)
        if asked is None:
            return self._filled(self._words.usage_state)
        return await self._records.carry_out(asked, given, whom=lambda name: self._whom(name, given))

    async def _correct(self, order: Order, given: Given, _: str | None) -> str | None:
        only = None if _is_moderator(given) else given.user.id
        whom = self._whom(order.name, given) if order.name else None
        if order.name and (whom is None or only not in {None, whom}):
            return self._words.unknown_name if only is None else None
        request = CorrectRequest(
            at=given.at,
            new=order.new,
            old=order.words,
            viewer_id=whom,
            id=order.id,
            only=only,
            by=given.user.id,
            command_id=given.id,
        )
        receipt = await self._memory.correct(request)
        if receipt.refused:
            return None
        return (
            counted(self._words.corrected, self._language, count=receipt.lines) if receipt.lines else self._words.not_corrected
        )

    async def _tell(self, order: Order, given: Given, _: str | None) -> str | None:
        """Say how much is held: of oneself, for moderators of anybody, with the ids by which it can be forgotten."""
        own = order.verb == "whatdoyouknow"
        whom = given.user.id if own or not order.name else self._whom(order.name, given)
        if whom is None or (whom != given.user.id and not _is_moderator(given)):
            return self._words.unknown_name if _is_moderator(given) else None
        held = await self._memory.held(whom)
        if own:
            nothing = not (held.messages or held.facts or held.claims or held.records)
            template = self._words.nothing_known if nothing else self._words.known
            return self._filled(template, messages=held.messages, facts=held.facts, records=held.records)
        counts = {"messages": held.messages, "facts": held.facts, "claims": held.claims, "records": held.records}
        ids = " ".join(f"#{one[:_ID_LETTERS]}" for one in held.newest)
        told = counted(self._words.memories, self._language, viewer=self._called(whom, given), **counts)
        return told + (self._words.newest.format(ids=ids) if ids else "")

    async def _opt(self, order: Order, given: Given, _: str | None) -> str:
        me = given.user.id
        if order.verb == "optout":
            await self._memory.opt_out(me, given.at, by=me)
            return self._filled(self._words.opted_out)
        await self._memory.opt_in(me, given.at, by=me)
        return self._words.opted_in

    def _switch(self, order: Order, given: Given) -> str | None:
        if not _is_moderator(given):
            return None
        self._manners.quiet = not order.on
        return self._words.back if order.on else self._filled(self._words.quiet)

    def _whom(self, name: str, given: Given) -> str | None:
        """Return who is meant: oneself, somebody the platform resolved, or the only one the memory knows by that name."""
        key = name.casefold()
        if key in {given.user.login.casefold(), given.user.name.casefold()}:
            return given.user.id
        for mention in given.mentions:
            if key in {mention.login.casefold(), mention.name.casefold()}:
                return mention.id
        found = self._memory.named(name)
        return found[0].id if len(found) == 1 else None

    def _done(self, receipt: Receipt, given: Given) -> str | None:
        if receipt.refused:
            return None
        if not receipt.total:
            return self._words.nothing
        count = receipt.lines + receipt.replies + receipt.records
        if receipt.viewer_id is None or receipt.viewer_id == given.user.id:
            return counted(self._words.forgotten, self._language, count=count)
        return counted(self._words.forgotten_of, self._language, count=count, viewer=self._called(receipt.viewer_id, given))

    def _called(self, viewer_id: str, given: Given) -> str:
        if viewer_id == given.user.id:
            return given.user.name
        return next((one.name for one in self._memory.people([viewer_id])), "?")

    def _usage(self, verb: str) -> str | None:
        words = self._words
        usages = {"forget": words.usage_forget, "correct": words.usage_correct, "state": words.usage_state}
        return self._filled(usages[verb]) if verb in usages else None

    def _filled(self, template: str, **more: object) -> str:
        verbs = {"known": "whatdoyouknow"} | {
            verb: verb for verb in ("forgetme", "optout", "optin", "forget", "correct", "bot", "state", "wipe")
        }
        return counted(template, self._language, **{name: self._commands.shown(verb) for name, verb in verbs.items()} | more)

    async def _say(self, answer: str, given: Given, *, always: bool) -> None:
        if not self._speaks or (self._manners.quiet and not always):
            return
        delivery = await self._speaker.say(answer, given.id, wanted=lambda: True)
        log.info("command_answered", state=delivery.state, reason=delivery.reason)


def _is_foreign(given: Given) -> bool:
    """Return whether it was written in another chat that shares this one: its badges are those of the other."""
    return isinstance(given, Message) and given.source_channel is not None


def _is_owner(given: Given) -> bool:
    return not _is_foreign(given) and "broadcaster" in given.badges


def _is_moderator(given: Given) -> bool:
    return not _is_foreign(given) and not _MODERATORS.isdisjoint(given.badges)
