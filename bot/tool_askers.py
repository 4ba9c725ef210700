"""Whose order a tool call is, where one line answers several: each call is one asker's, in their words, with their rights.

The model may say whose it is (`speaker`). Where it does not, the newest asker is meant, unless the call names another one, or
puts words right that only another one wrote: whoever it is, the call is judged by their own lines alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.llm_values import Tool, ToolCall
from bot.quoting import named
from bot.tool_scene import NotMeant, Scene
from memory import StateRecord

SPEAKER = "speaker"
_NAMES = ("viewer", "subject")  # arguments that name whom a record is about
_OWN_WORDS = frozenset({"memory_correct"})  # touch nothing but what the asker wrote, and say nothing they do not say now


def with_speaker(tools: Sequence[Tool], scenes: Sequence[Scene]) -> tuple[Tool, ...]:
    """Return the tools as they are offered where several ask: each can say whose order it carries out."""
    if len(scenes) < 2:  # noqa: PLR2004 - one asker needs no name
        return tuple(tools)
    names = ", ".join(named(scene.speaker.login) for scene in scenes)
    schema = {
        "type": "string",
        "description": f"whose order this is, one of {names}; one call a person; leave out: {named(scenes[0].speaker.login)}",
    }
    return tuple(replace(tool, parameters=_and(tool.parameters, schema)) for tool in tools)


def _and(parameters: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**parameters, "properties": {**parameters["properties"], SPEAKER: schema}}


def bare(call: ToolCall) -> ToolCall:
    """Return a call without the word on whose it is."""
    return replace(call, arguments={name: value for name, value in call.arguments.items() if name != SPEAKER})


def scenes_for(call: ToolCall, scenes: Sequence[Scene], records: Sequence[StateRecord]) -> tuple[Scene, ...]:
    """Return the scenes in which a call may be meant, the likeliest first; there is always one.

    Args:
        call: as the model made it.
        scenes: one for each who is answered, the newest first.
        records: those that there are, one of which the call may name.

    Raises:
        NotMeant: it is said to be the order of somebody who is not answered.
    """
    said = call.arguments.get(SPEAKER)
    if isinstance(said, str) and said.strip():
        return (_of(said, scenes),)
    if call.name in _OWN_WORDS:
        return tuple(scenes)
    hinted = set(_hinted(call, scenes[0], records))
    return (scenes[0], *(scene for scene in scenes[1:] if scene.speaker.id in hinted))


def _of(name: str, scenes: Sequence[Scene]) -> Scene:
    wanted = name.strip().removeprefix("@").casefold()
    for scene in scenes:
        if wanted in {scene.speaker.login.casefold(), scene.speaker.name.casefold(), scene.speaker.id}:
            return scene
    names = ", ".join(named(scene.speaker.login) for scene in scenes)
    raise NotMeant(f"this must be the order of one of those who are answered: {names}")


def _hinted(call: ToolCall, scene: Scene, records: Sequence[StateRecord]) -> Iterator[str]:
    """Yield the ids of viewers whom a call names, or whose record it changes."""
    shared = call.arguments.get("participants")
    for name in (*(call.arguments.get(one) for one in _NAMES), *(shared if isinstance(shared, list) else ())):
        if isinstance(name, str) and name.strip():
            yield from _called(name, scene)
    for record in records:
        if record.id == call.arguments.get("id"):
            yield from record.viewers


def _called(name: str, scene: Scene) -> Iterator[str]:
    try:
        yield scene.called(name)
    except NotMeant:
        return
