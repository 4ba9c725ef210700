"""A conversation in which the model may call tools: so many rounds, so many calls, never beyond the turn's deadline."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from bot.llm_errors import LlmError
from bot.llm_values import Chat, ChatMessage, Completion, Tool, ToolCall
from bot.obey_texts import command_words
from bot.tool_scene import Scene
from bot.tools import Outcome, Toolbox, failed
from memory import counted

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """How far a model may go in one turn."""

    rounds: int = 3  # answers of the model that may call tools
    calls: int = 6  # carried out, in all rounds together
    seconds: float = 24.0  # for the whole answer; a call that comes later is not carried out


class ToolSession:
    """The tool calls of one turn, and what they changed."""

    def __init__(self, box: Toolbox, scenes: Sequence[Scene], limits: ToolLimits) -> None:
        """Begin the turn, in which the author of each scene's message is answered, the newest first; its deadline runs."""
        self._box = box
        self._scenes = tuple(scenes)
        self._limits = limits
        self._outcomes: dict[str, Outcome] = {}
        self._deadline = asyncio.get_running_loop().time() + limits.seconds
        self.offered: tuple[Tool, ...] = box.offered(self._scenes[0], also=self._scenes[1:])

    @property
    def changed_domains(self) -> tuple[str, ...]:
        """The domains of state that were changed."""
        return tuple(dict.fromkeys(one.domain for one in self._outcomes.values() if one.done and one.domain))

    @property
    def held_viewers(self) -> tuple[str, ...]:
        """Whom the changes keep out of the turn's personal consolidation."""
        return tuple(dict.fromkeys(viewer for one in self._outcomes.values() if one.done for viewer in one.viewers))

    def confirmation(self, language: str) -> str:
        """Return what is said where the model's own words cannot be used; empty where nothing was done."""
        words = command_words(language)
        erased = [one.erased for one in self._outcomes.values() if one.erased is not None]
        by_verb = (("forget", words.forgotten), ("correct", words.corrected))
        said = [
            counted(template, language, count=sum(one.lines + one.replies + one.records for one in done))
            for verb, template in by_verb
            if (done := [one for one in erased if one.verb == verb])
        ]
        return " ".join(said) or (words.done if self.changed else "")

    @property
    def changed(self) -> bool:
        """Whether anything was changed, or had been before."""
        return any(one.done for one in self._outcomes.values())

    @property
    def erased(self) -> bool:
        """Whether words were erased: the model has read them, and its answer might say them again."""
        return any(one.erased is not None for one in self._outcomes.values())

    async def converse(self, chat: Chat, prompt: Sequence[ChatMessage], *, max_tokens: int | None) -> Completion:
        """Return the model's last words after its tool calls; their text may be empty where it had none.

        Raises:
            LlmError: the model failed before it had changed anything.
            TimeoutError: the same, for lateness.
        """
        messages, spent = list(prompt), (0, 0)
        try:
            for round_ in range(self._limits.rounds + 1):
                tools = self.offered if round_ < self._limits.rounds else ()
                async with asyncio.timeout_at(self._deadline):
                    completion = await chat.chat(messages, max_tokens=max_tokens, tools=tools)
                spent = (spent[0] + completion.prompt_tokens, spent[1] + completion.completion_tokens)
                if not completion.tool_calls or not tools:
                    break
                messages += await self._answered(completion)
        except (LlmError, TimeoutError) as error:
            if not self.changed:
                raise
            log.warning("reply_cut_short", turn_id=self._scenes[0].batch.id, reason=type(error).__name__)
            return Completion(text="", prompt_tokens=spent[0], completion_tokens=spent[1])
        return replace(completion, tool_calls=(), prompt_tokens=spent[0], completion_tokens=spent[1])

    async def _answered(self, completion: Completion) -> list[ChatMessage]:
        """Carry out what an answer asks for, in its order; return it with its results, as the model wants to see them."""
        results = [ChatMessage(role="assistant", content=completion.text, tool_calls=completion.tool_calls)]
        for call in completion.tool_calls:
            outcome = await self._once(call)
            told = json.dumps(dict(outcome.told), ensure_ascii=False)
            results.append(ChatMessage(role="tool", content=told, tool_call_id=call.id))
        return results

    async def _once(self, call: ToolCall) -> Outcome:
        key = json.dumps([call.name, dict(call.arguments), call.error], sort_keys=True, default=str)
        if key in self._outcomes:
            return replace(self._outcomes[key], told={**self._outcomes[key].told, "note": "you called this before"})
        if len(self._outcomes) >= self._limits.calls:
            return failed("too many calls in one turn: answer now with what you have")
        if asyncio.get_running_loop().time() >= self._deadline:
            return failed("too late: nothing is done any more")
        self._outcomes[key] = await self._box.carry_out(call, self._scenes[0], also=self._scenes[1:], place=len(self._outcomes))
        return self._outcomes[key]
