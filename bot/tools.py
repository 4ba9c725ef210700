"""The tools behind a language model: each call checked, judged by who really asks, carried out once, and answered in JSON.

What a call gives back is for the model alone: it is stored nowhere, and never becomes a fact.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog
from pydantic import ValidationError

from bot import tool_arguments as given
from bot.llm_values import Tool, ToolCall
from bot.quoting import named, quoted
from bot.tool_askers import bare, scenes_for, with_speaker
from bot.tool_scene import NotMeant, Scene
from memory import (
    DOMAINS,
    CorrectRequest,
    ForgetRequest,
    InvalidRow,
    Memory,
    Receipt,
    StateCall,
    StateOrder,
    StateReceipt,
    StateRecord,
    StoreUnavailable,
    first_error,
    held_viewers,
    spaced,
    verb_of,
)

log = structlog.get_logger(__name__)
_CALLS = UUID("9a3f6a0e-2c2e-4f57-8a37-5d0f0c3c7b51")
_LISTED = 12  # records that are listed at most
_FORGOTTEN_AT_MOST = 10  # messages that one call may forget: more is a matter for `!forget`
_REFUSED = {
    "moderators_only": "only a moderator may do this, and the speaker is none",
    "not_yours": "this is somebody else's: the speaker may change only what is about themselves",
    "absent": "somebody it is about takes no part in this conversation: a moderator may do it",
    "opted_out": "somebody it is about wants nothing to be kept about them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call. `told` goes back to the model; `done`: something was changed, or had been before."""

    told: Mapping[str, Any]
    done: bool = False
    domain: str = ""  # of the record that was changed
    viewers: tuple[str, ...] = ()
    erased: Receipt | None = None  # of a correction, or of what was forgotten


class Toolbox:
    """The tools of one chat."""

    def __init__(
        self, memory: Memory, *, able: Callable[[], bool], taken_back: Callable[[Scene], bool], forgetme: str = "!forgetme"
    ) -> None:
        """Work on `memory`.

        Args:
            memory: whose records are listed and changed.
            able: says whether the model's server knows tools, as far as was found out.
            taken_back: says whether moderation took back what is answered.
            forgetme: the command that the model may tell of, as viewers type it.
        """
        self.memory = memory
        self._able = able
        self._taken_back = taken_back
        self._forgetme = forgetme

    def offered(self, scene: Scene, *, also: Sequence[Scene] = ()) -> tuple[Tool, ...]:
        """Return the tools that the model is offered in this turn, where `also` others are answered in the same line."""
        scenes = (scene, *also)
        tools = given.tools_for(moderator=any(one.moderator for one in scenes)) if self._able() else ()
        return with_speaker(tools, scenes)

    async def carry_out(self, call: ToolCall, scene: Scene, *, also: Sequence[Scene] = (), place: int = 0) -> Outcome:
        """Carry a call out, the turn's `place`th, for that one of the askers (`also`: the others) whose own words carry it.

        Whatever is wrong with it is told to the model, not raised.
        """
        turn_id, by = scene.batch.id, scene.speaker.id
        try:
            outcome, by = await self._for_whom(call, (scene, *also), place)
        except StoreUnavailable as error:
            log.warning("tool_failed", turn_id=turn_id, tool=call.name, reason=str(error))
            outcome = failed("it could not be stored just now: say so")
        log.info("tool_called", turn_id=turn_id, tool=call.name[:40], done=outcome.done, by=by)
        return outcome

    async def _for_whom(self, call: ToolCall, scenes: Sequence[Scene], place: int) -> tuple[Outcome, str]:
        """Return what came of a call, and who asked for it; where nobody's words carry it, why the likeliest one's do not."""
        records = await self.memory.state(DOMAINS, scenes[0].to.at) if len(scenes) > 1 and "id" in call.arguments else ()
        try:
            meant = scenes_for(call, scenes, records)
        except NotMeant as error:
            return failed(str(error)), scenes[0].speaker.id
        tried = []
        for scene in meant:
            outcome = await self._carry_out(bare(call), scene, place)
            if outcome.told["ok"]:
                return outcome, scene.speaker.id
            tried.append((outcome, scene.speaker.id))
        return tried[0]

    async def _carry_out(self, call: ToolCall, scene: Scene, place: int) -> Outcome:
        kind = given.KINDS.get(call.name)
        if kind is None:
            return failed(f"there is no such tool; there are {', '.join(given.KINDS)}")
        if call.error:
            return failed(call.error)
        if self._taken_back(scene):
            return failed("the message was deleted: nothing is done for it")
        return await self._tried(kind, call, scene, place)

    async def _tried(self, kind: type[given.ToolArguments], call: ToolCall, scene: Scene, place: int) -> Outcome:
        try:
            match kind.model_validate(dict(call.arguments)):
                case given.StateList() as wanted:
                    return await self._list(wanted, scene)
                case given.MemoryCorrect() as correction:
                    return await self._correct(correction, scene, place)
                case given.MemoryForget() as words:
                    return await self._forget(words, scene)
                case arguments:
                    return await self._change(arguments, scene, call.name)
        except (ValidationError, NotMeant, InvalidRow) as error:
            return failed(first_error(error) if isinstance(error, ValidationError) else str(error))

    async def _change(self, arguments: given.ToolArguments, scene: Scene, tool: str) -> Outcome:
        known = await self.memory.state(DOMAINS, scene.to.at)
        meant = await _meant(arguments, scene, tool, known)
        key = str(uuid5(_CALLS, f"{scene.batch.id}\x1f{tool}\x1f{json.dumps(meant, sort_keys=True)}"))
        asking = {message.id for message in scene.own}
        closed = [viewer for record in known if record.id == meant.get("id") for viewer in record.viewers]
        order = StateOrder(
            call=StateCall(at=scene.batch.closed_at, tool=tool, arguments=meant),
            rights=scene.rights,
            key=key,
            turn_id=scene.batch.id,
            source=scene.to.id,
            held=held_viewers(scene.batch, (*_named(meant), *closed), asking=asking),
        )
        return self._told(await self.memory.change_state(order), held=order.held)

    def _told(self, receipt: StateReceipt, *, held: tuple[str, ...]) -> Outcome:
        if receipt.refused:
            return failed(_REFUSED[receipt.refused])
        if receipt.again or receipt.record is None:
            return Outcome(told={"ok": True, "note": "this was done before"}, done=True, domain=receipt.domain, viewers=held)
        told = {"ok": True, "record": self._shown(receipt.record)}
        return Outcome(told=told, done=True, domain=receipt.domain, viewers=(*held, *receipt.viewers))

    async def _list(self, arguments: given.StateList, scene: Scene) -> Outcome:
        domains = (arguments.kind,) if arguments.kind else DOMAINS
        whose = (scene.called(arguments.viewer),) if arguments.viewer else ()
        records = await self.memory.state(domains, scene.to.at, viewer_ids=whose)
        told: dict[str, Any] = {"ok": True, "records": [self._shown(record) for record in records[:_LISTED]]}
        if len(records) > _LISTED:
            told["left_out"] = len(records) - _LISTED
        return Outcome(told=told)

    async def _correct(self, arguments: given.MemoryCorrect, scene: Scene, place: int) -> Outcome:
        scene.require_said_now(arguments.new)
        if not spaced(arguments.old).strip() or spaced(arguments.old) == spaced(arguments.new):
            return failed("old and new must be different words")
        before = min(message.at for message in scene.own) - timedelta(milliseconds=1)  # the batch itself says what is right
        me = scene.speaker.id
        key = str(uuid5(_CALLS, f"{scene.batch.id}\x1fcorrect\x1f{place}\x1f{me}"))  # not of the words: they are to be gone
        request = CorrectRequest(
            at=before, new=arguments.new, old=arguments.old, viewer_id=me, only=me, by=me, command_id=scene.to.id, key=key
        )
        receipt = await self.memory.correct(request)
        if not receipt.total:
            return failed("nothing that the speaker wrote holds the old words; what they say now is remembered as it is")
        return Outcome(told={"ok": True, "corrected": receipt.lines}, done=True, erased=receipt)

    async def _forget(self, arguments: given.MemoryForget, scene: Scene) -> Outcome:
        scene.require_forgetting()
        me = scene.speaker.id
        request = ForgetRequest(
            scope="words",
            at=scene.batch.closed_at,
            viewer_id=me,
            words=arguments.words,
            only=me,
            by=me,
            at_most=_FORGOTTEN_AT_MOST,
        )
        receipt = await self.memory.forget(request)
        if receipt.refused:
            return failed(f"{receipt.lines} messages hold these words: too many, name more words, or tell of {self._forgetme}")
        if not receipt.total:
            return failed("nothing that the speaker wrote holds these words in a row")
        return Outcome(told={"ok": True, "forgotten": receipt.lines}, done=True, erased=receipt)

    def _shown(self, record: StateRecord) -> dict[str, Any]:
        names = [named(viewer.name) for viewer in self.memory.people(record.viewers)]
        shown = {"id": record.id, "kind": record.domain, "text": quoted(record.text, given.LONGEST_TEXT), "viewers": names}
        if record.domain == "request":
            shown["status"] = record.status
        if record.expires_at is not None:
            shown["expires_at"] = record.expires_at.isoformat()
        return shown


def failed(why: str) -> Outcome:
    """Return the outcome of a call that changed nothing."""
    return Outcome(told={"ok": False, "error": why})


async def _meant(arguments: given.ToolArguments, scene: Scene, tool: str, known: list[StateRecord]) -> dict[str, Any]:
    """Return the arguments as the memory takes them: viewers by id, in words that are the asker's own."""
    fields = {name: value for name, value in arguments.model_dump(mode="json").items() if value is not None}
    everybody = fields.pop("everybody", False)
    for name in ("text", "relation", "value"):
        if name in fields:
            scene.require_own(fields[name])
    if "id" in fields:
        scene.require_meant(_record(known, fields["id"], verb_of(tool).domain))
    if verb_of(tool).closes:
        return fields
    match tool:
        case "request_open":
            fields["viewer"] = scene.viewer(fields.get("viewer"))
        case "note_set":
            fields["viewer"] = None if everybody else scene.viewer(fields.get("viewer"))
        case "relation_set":
            fields |= {"subject": scene.viewer(fields.get("subject")), "object": scene.viewer(fields["object"])}
        case "joke_add":
            fields["participants"] = list(dict.fromkeys(map(scene.viewer, fields["participants"]))) or [scene.speaker.id]
        case _:
            pass
    return fields


def _record(known: list[StateRecord], id_: str, domain: str) -> StateRecord:
    found = next((record for record in known if record.id == id_ and record.domain == domain), None)
    if found is None:
        raise NotMeant(f"there is no {domain} with this id: see state_list")
    return found


def _named(meant: Mapping[str, Any]) -> tuple[str, ...]:
    named_ = [meant.get("viewer"), meant.get("subject"), meant.get("object"), *meant.get("participants", ())]
    return tuple(dict.fromkeys(str(one) for one in named_ if one))
