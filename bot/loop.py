"""The one way in: live chat and replayed logs feed the same loop, in order, one turn at a time."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

import structlog

from bot.admission import Admission
from bot.backlog import TOGETHER, Step, next_batches, place, without
from bot.batching import Batcher
from bot.canon import Reload
from bot.commands import Commands
from bot.echoes import Echoes
from bot.loop_settings import LoopSettings
from bot.obey import Obeyer
from bot.stand_in import begun, is_update, retitled, stand_in, stream_of
from bot.turn import TurnOutcome, TurnParts, run_turn
from memory import (
    Batch,
    BotReply,
    Channel,
    Command,
    Deletion,
    Event,
    Line,
    MemoryClosed,
    Message,
    Notice,
    Said,
    Settle,
    StateCall,
    StoreUnavailable,
    Stream,
    StreamEvent,
    Turn,
)

log = structlog.get_logger(__name__)
OnEvent = Callable[[Event, datetime], None]


class ChatLoop:
    """Feeds events to the bot. Call `feed`, `tick` and `finish` from one task; only `delete` may run beside them."""

    def __init__(
        self,
        parts: TurnParts,
        settings: LoopSettings,
        channel: Channel,
        *,
        on_turn: Callable[[TurnOutcome], None] | None = None,
        on_stream: Callable[[Stream], None] | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        """Take the parts of a turn, the chat's home, and who wants to hear of turns, new streams, what is taken in."""
        if (parts.responder is None) != (settings.replies == "log"):
            msg = "a loop needs a responder exactly where its own replies are wanted, not those of a log"
            raise ValueError(msg)
        self._parts = parts
        self._memory = parts.memory
        self._clock = parts.clock
        self._addressing = parts.manners.addressing
        self._settings = settings
        self._channel = channel
        self._on_turn = on_turn
        self._on_stream = on_stream
        self._on_event = on_event or (lambda *_: None)
        self._commands = Commands(settings.commands)
        speaks = settings.replies == "bot"
        self._obeyer = Obeyer(
            parts.memory, self._commands, manners=parts.manners, speaker=parts.speaker, speaks=speaks, reload=parts.reload
        )
        self.batcher = Batcher(settings.effective_batching)
        self._echoes = Echoes()
        self._admission = Admission(settings, self._addressing, parts.deleted)
        self._stream: Stream | None = None
        self._begun_id: str | None = None  # the newest stream that the memory knows
        self._early: deque[Deletion] = deque(maxlen=settings.seen_ids)  # deletions before the first stream
        self._calls: list[StateCall] = []
        self._todo: deque[Step] = deque()
        self._retry_at: datetime | None = None
        self._pause = timedelta(seconds=max(0.1, settings.retry_seconds))  # while the database is away
        self._finished: deque[TurnOutcome] = deque()
        self._brief, self._together = False, TOGETHER
        self._counts: Counter[str] = Counter()
        self._behind = settings.recorded_turns  # turns still to come that an earlier run recorded

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of everything: events by type, lines left out by reason, turns, failures, posts."""
        return {**self._counts, **self._parts.speaker.counts}

    @property
    def reload(self) -> Reload | None:
        """What reads the streamer's files anew, None where they are not his."""
        return self._parts.reload

    @property
    def pending(self) -> int:
        """How many lines wait in the open batch."""
        return len(self.batcher.lines)

    @property
    def behind(self) -> bool:
        """Whether an earlier run went further: what is fed now changed the memory then, and must not change it again."""
        return self._behind > 0

    def hush(self, *, brief: bool = False) -> None:
        """Answer nobody any more. `brief`: what is fed is stored and no more; the next start makes turns of it."""
        self._parts.manners.leaving, self._brief = True, brief

    async def start(self) -> None:
        """Know what was heard before, and record turns that a crash cut off as silent ones; a resumed replay runs them again.

        Raises:
            StoreUnavailable: the memory cannot be read.
        """
        if self._settings.resume:
            return
        self._admission.remember(await self._memory.newest_lines(self._settings.seen_ids))
        for batch in await self._memory.unrecorded():
            await self._memory.record(Turn(batch=batch, recall=None, said=Said(state="silent", reason="restarted")))
            self._counts["turns_cut_off"] += 1

    async def feed(self, event: Event, *, arrived: datetime | None = None) -> None:
        """Take one event; `arrived` is when it came in, where it had to wait since.

        One bad event is logged and counted, and the next one is served.

        Raises:
            StoreUnavailable: the database stayed away for too long; everything up to `waiting_steps` steps was kept.
            MemoryClosed: the memory was closed under the loop.
        """
        now = arrived or self._clock.now()
        self._counts[type(event).__name__.lower()] += 1
        try:
            self._close(self.batcher.due(now))
            await self._keep_up()
            await self._handle(event, now)
            await self._keep_up()
        except (StoreUnavailable, MemoryClosed):
            raise
        except Exception as error:  # noqa: BLE001 - one bad event must not end the evening
            self._note_failure("event_failed", error, event_type=type(event).__name__)
        self._report()

    async def tick(self, now: datetime) -> None:
        """Close what is due and run its turns; raises what `feed` does."""
        self._close(self.batcher.due(now))
        await self._work()
        self._report()

    def next_due(self) -> datetime | None:
        """Return when `tick` has something to do, None where nothing is pending."""
        return min((at for at in (self.batcher.next_due(), self._retry_at) if at is not None), default=None)

    async def flush(self, reason: str) -> None:
        """Close the open batch and run its turn now; raises what `feed` does."""
        self._close(self.batcher.flush(reason, self._clock.now()))
        await self._work()
        self._report()

    async def finish(self) -> None:
        """Run what is pending to its end.

        Raises:
            StoreUnavailable: something could not be stored.
        """
        self._retry_at = None
        await self.flush("end")
        if self._todo:
            msg = f"{len(self._todo)} steps could not be stored: the database stayed away. Free disk space and run again"
            raise StoreUnavailable(msg)

    async def delete(self, deletion: Deletion) -> None:
        """Take back at once what moderation removed: from the open batch, from a reply in the making, from the memory."""
        self._parts.deleted.note(deletion)
        self._on_event(deletion, self._clock.now())
        self.batcher.remove(self._parts.deleted.among(self.batcher.lines))
        if self.behind:
            return
        if self._begun_id is None:
            self._early.append(deletion)
            return
        try:
            await self._erase(self._begun_id, deletion)
        except StoreUnavailable:
            self._todo.append(partial(self._erase, self._begun_id, deletion))
        except MemoryClosed:
            raise
        except Exception as error:  # noqa: BLE001 - the next deletion must be served
            self._note_failure("deletion_failed", error)

    def foresee(self, event: Event) -> None:
        """Look at an event that will be fed later: an order to forget stops the answer that is being made of what must go."""
        if isinstance(event, Message) and (whose := self._obeyer.erases(event)) is not None:
            self._parts.deleted.expect(event.id, whose)

    async def _handle(self, event: Event, now: datetime) -> None:
        match event:
            case StreamEvent(event="online"):
                self._go_online(event, now)
            case StreamEvent():
                self._go_offline(event, now)
            case Message() | Notice() if self._stream or not is_update(event):  # a new title alone begins no stream
                self._take_line(event, now)
            case Command():
                self._obey(event, now)
            case Deletion():
                await self.delete(event)
            case BotReply():
                self._take_reply(event, now)
            case StateCall():
                self._take_call(event)
            case Settle():
                self._close(self.batcher.flush("end", now))
                await self._work()
                self._counts["jobs"] += 0 if self.behind else await self._memory.run_jobs()
            case _:
                self._counts["passed_over"] += 1

    def _take_line(self, line: Line, now: datetime) -> None:
        reason = self._admission.left_out(line)
        if reason is not None:
            self._counts[f"left_out_{reason}"] += 1
            return
        self._admission.remember([line.id])
        self._parts.deleted.saw(line)
        if isinstance(line, Message) and self._commands.parse(line.text) is not None:
            self._obey(line, now)
            return
        if line.user is not None and self._memory.opted_out(line.user.id, line.at):
            self._parts.deleted.note(Deletion(at=line.at, scope="message", message_id=line.id))  # nor is it answered for it
            self._counts["left_out_opted_out"] += 1
            return
        self._ensure_stream(now)
        self._on_event(line, now)
        line = self._echoes.translated(line)
        addressed = self._settings.replies == "bot" and isinstance(line, Message) and self._addressing.how(line) is not None
        self._close(self.batcher.add(line, addressed=addressed, now=now))
        if (fresh := retitled(self._stream, line)) is not None:
            self._begin(fresh, now)

    def _obey(self, command: Command | Message, now: datetime) -> None:
        """Queue a command behind everything that was said before it."""
        if not self._obeyer.knows(command.text):
            self._counts["command_ignored"] += 1
            return
        if not self._memory.opted_out(command.user.id, command.at):
            self._on_event(command, now)
        self._close(self.batcher.flush("command", now))
        self._todo.append(partial(self._carry_out, command, self._stream.id if self._stream else None))

    async def _carry_out(self, command: Command | Message, stream_id: str | None) -> None:
        with self._parts.deleted.carrying_out(command.id, unless=StoreUnavailable):
            obeyed = not self.behind and await self._obeyer.obey(command, stream_id)
        self._counts["command_obeyed" if obeyed else "command_ignored"] += 1

    def _go_online(self, event: StreamEvent, now: datetime) -> None:
        if event.bot is not None:
            self._addressing.meet(event.bot)
        self._begin(stream_of(event, self._channel, self._addressing.bot), now)

    def _go_offline(self, event: StreamEvent, now: datetime) -> None:
        self._on_event(event, now)
        self._close(self.batcher.flush("end", now))
        stream_id = self._stream.id if self._stream else event.stream_id
        self._todo.append(partial(self._end_in_memory, stream_id, event.at))
        self._stream = None

    def _ensure_stream(self, now: datetime) -> None:
        if self._stream is None:
            self._begin(stand_in(self._channel, self._addressing.bot, now), now)

    def _begin(self, stream: Stream, now: datetime) -> None:
        self._close(self.batcher.open(stream.id, now))
        self._stream = stream
        self._on_event(begun(stream), now)
        self._todo.append(partial(self._begin_in_memory, stream))

    def _take_reply(self, reply: BotReply, now: datetime) -> None:
        if self._settings.replies == "bot":
            self._addressing.own(reply.id)
            self._echoes.meet(reply)
            self._counts["recorded_reply_passed_over"] += 1
            return
        if reply.in_reply_to and self._parts.deleted.hold(reply.in_reply_to):
            self._counts["recorded_reply_to_nothing"] += 1
            return
        self._ensure_stream(now)
        self._close(self.batcher.flush("addressed", now))
        self._addressing.own(reply.id)
        if self._stream is not None:
            self._todo.append(partial(self._once, partial(self._memory.record_reply, self._stream.id, reply)))

    def _take_call(self, call: StateCall) -> None:
        if self.batcher.lines:
            self._calls.append(call)
        self._todo.append(partial(self._once, partial(self._memory.apply_state, call)))

    async def _once(self, step: Step) -> None:
        if not self.behind:
            await step()

    def _close(self, batches: list[Batch]) -> None:
        for batch in batches:
            calls, self._calls = tuple(self._calls), []
            self._todo.append(partial(self._turn, batch, calls))

    async def _turn(self, batch: Batch, calls: tuple[StateCall, ...]) -> None:
        batch = without(batch, self._parts.deleted.covers)
        if not batch.lines:
            return
        if self._brief:
            await self._memory.observe(batch)
            return
        if self._settings.resume and await self._memory.recorded(batch.id):
            self._parts.manners.choose(batch, now=batch.closed_at)  # the cooldowns go on where they were
            self._addressing.own(f"reply:{batch.id}")
            self._counts["turns_recorded_before"] += 1
            self._behind -= self.behind
            return
        self._behind = 0
        outcome = await run_turn(batch, self._parts, calls=calls)
        self._echoes.said(outcome.turn.said)
        self._counts.update(("turns", f"said_{outcome.turn.said.state}"))
        if not outcome.recorded:
            self._todo.insert(1, partial(self._memory.record, outcome.turn))
        self._finished.append(outcome)

    async def _begin_in_memory(self, stream: Stream) -> None:
        await self._memory.begin_stream(stream)
        self._begun_id = stream.id
        self._parts.manners.online = not stream.temporary
        log.info("stream_begun", stream_id=stream.id, temporary=stream.temporary)
        if self._on_stream is not None:
            self._on_stream(stream)
        while self._early:
            await self._erase(stream.id, self._early[0])
            self._early.popleft()

    async def _end_in_memory(self, stream_id: str, at: datetime) -> None:
        await self._memory.end_stream(stream_id, at)
        self._parts.manners.online = False

    async def _erase(self, stream_id: str, deletion: Deletion) -> None:
        hidden = await self._memory.delete(stream_id, deletion)
        log.info("deletion_applied", scope=deletion.scope, lines=hidden)

    async def _keep_up(self) -> None:
        if not self._brief or len(self._todo) >= TOGETHER:
            await self._work()

    async def _work(self) -> None:
        """Take the steps in their order. While the database is away they wait, and nothing overtakes them."""
        if self._retry_at is not None and self._retry_at - self._pause <= self._clock.now() < self._retry_at:
            self._give_up_when_full()
            return
        while self._todo:
            heard = next_batches(self._todo, self._turn, self._together) if self._brief else []
            try:
                await (self._only_store(heard) if len(heard) > 1 else self._todo[0]())
            except StoreUnavailable as error:
                self._retry_at = self._clock.now() + self._pause
                self._counts["store_unavailable"] += 1
                log.warning("store_was_unavailable", waiting=len(self._todo), reason=str(error))
                self._give_up_when_full()
                return
            except MemoryClosed:
                raise
            except Exception as error:  # noqa: BLE001 - a step that cannot be done must not hold up the next ones
                if len(heard) > 1:
                    self._together = 1  # only one of them is at fault
                    continue
                self._note_failure("step_failed", error)
            for _ in heard or (None,):
                self._todo.popleft()
        self._retry_at = None

    async def _only_store(self, heard: list[Batch]) -> None:
        kept = [without(batch, self._parts.deleted.covers) for batch in heard]
        await self._memory.observe_all([batch for batch in kept if batch.lines])

    def _give_up_when_full(self) -> None:
        if len(self._todo) > self._settings.waiting_steps:
            msg = f"the database has been away for {len(self._todo)} steps; free disk space, then start again"
            raise StoreUnavailable(msg)

    def _note_failure(self, event: str, error: Exception, **fields: str) -> None:
        self._counts["failures"] += 1
        log.error(event, error=type(error).__name__, where=place(error), **fields)

    def _report(self) -> None:
        """Hand finished turns out, outside of every guard: whoever writes them down must be heard when that fails."""
        while self._finished:
            outcome = self._finished.popleft()
            if self._on_turn is not None:
                self._on_turn(outcome)
