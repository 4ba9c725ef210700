"""The responder behind a language model: prompt, model, and what is said of a failure."""

import re
from collections.abc import Sequence
from dataclasses import replace

import structlog

from bot.addressing import Addressing
from bot.allowance import LlmSpent, MeteredChat
from bot.language import language_of
from bot.llm_errors import LlmBadAnswer, LlmError, LlmRateLimited, LlmRefused, LlmTooLong, LlmUnavailable
from bot.llm_values import Chat, ChatMessage, Completion
from bot.llm_wire import estimate_prompt
from bot.persona import Persona
from bot.prompt import TAGS, PromptLimits, Question, build_prompt
from bot.responder import Answer, ResponderFailed
from bot.tool_rounds import ToolLimits, ToolSession
from bot.tool_scene import Scene
from bot.tools import Toolbox
from memory import Batch, Message, Recall, Stream

log = structlog.get_logger(__name__)
_TAG = re.compile(rf"</?(?:{'|'.join(TAGS)})>")
_QUOTES = {"«": "»", "“": "”", '"': '"'}
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "late"),
    (LlmSpent, "allowance_spent"),
    (LlmUnavailable, "unavailable"),
    (LlmRateLimited, "rate_limited"),
    (LlmTooLong, "too_long"),
    (LlmRefused, "refused"),
    (LlmBadAnswer, "bad_answer"),
)


class LlmResponder:
    """Answers with a language model. A prompt that turns out too long for it is shortened, then and from then on."""

    def __init__(  # noqa: PLR0913 - what a reply is made of, named once
        self,
        chat: Chat,
        *,
        persona: Persona,
        addressing: Addressing,
        limits: PromptLimits,
        max_tokens: int | None = None,
        tools: Toolbox | None = None,
        tool_limits: ToolLimits | None = None,
        language: str | None = None,
    ) -> None:
        """Take the model, its part, the bot's names, the limits, the tools, and the language; None: the asker's."""
        self._language = language
        self._chat = chat
        self._persona = persona
        self._addressing = addressing
        self._limits = limits
        self._max_tokens = max_tokens
        self._tools = tools
        self._tool_limits = tool_limits or ToolLimits()
        self._stream: Stream | None = None

    def meet(self, stream: Stream) -> None:
        """Answer in this stream from now on: its title is part of the prompt, and what it costs is counted."""
        self._stream = stream
        if isinstance(self._chat, MeteredChat):
            self._chat.begin(stream)

    def become(self, persona: Persona) -> None:
        """Play this persona from the next answer on."""
        self._persona = persona

    async def reply(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message] = ()) -> Answer:
        """Return the model's answer to `to`, and in the same line to `also`.

        Raises:
            ResponderFailed: the model failed; its cause is the `LlmError`, the reason is in the log, and nothing is said.
        """
        session = self._session(batch, recall, (to, *reversed(also)))
        question = replace(self._question(batch, recall, to, also), tools=session is not None)
        try:
            completion = await self._complete(question, session)
            text = _spoken(completion.text, self._persona) if session is None or not session.erased else ""
            if session is not None and not text:
                text = self._confirmed(session, question.language)
        except (LlmError, TimeoutError) as error:
            kind = next((word for kind, word in _KINDS if isinstance(error, kind)), "failed")
            log.warning("reply_failed", turn_id=batch.id, model=self._chat.model, kind=kind, reason=str(error))
            raise ResponderFailed(kind) from error
        return Answer(
            text=text,
            model=self._chat.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            changed_domains=session.changed_domains if session is not None else (),
            held_viewers=session.held_viewers if session is not None else (),
        )

    def _session(self, batch: Batch, recall: Recall, asked: Sequence[Message]) -> ToolSession | None:
        """Return the turn's tools, None where there are none, or the model's server knows none."""
        if self._tools is None:
            return None
        memory, bot_id = self._tools.memory, self._addressing.bot.id
        scenes = [Scene(batch=batch, recall=recall, to=one, memory=memory, bot_id=bot_id) for one in asked]
        session = ToolSession(self._tools, scenes, self._tool_limits)
        return session if session.offered else None

    def _confirmed(self, session: ToolSession, language: str) -> str:
        text = session.confirmation(language)
        if not text:
            msg = "the model called tools in every round and said nothing; nothing is said"
            raise LlmBadAnswer(msg, "empty")
        return text

    def _question(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message]) -> Question:
        return Question(
            batch=batch,
            to=to,
            also=tuple(also),
            recall=recall,
            language=self._language or language_of(self._addressing.question(to), recall.plan.language),
            stream=self._stream if self._stream is not None and self._stream.id == batch.stream_id else None,
            addressed=frozenset(message.id for message in batch.messages if self._addressing.how(message) is not None),
        )

    async def _complete(self, question: Question, session: ToolSession | None) -> Completion:
        prompt = build_prompt(question, self._persona, self._limits)
        try:
            return await self._said(prompt, session)
        except LlmTooLong as error:
            shorter = self._limits.shrunk_to((error.limit or estimate_prompt(prompt)) // 2)
            if shorter == self._limits and session is None:
                raise
            log.warning("prompt_limit_lowered", model=self._chat.model, tokens=shorter.prompt_tokens, reason=str(error))
            self._limits = shorter
        try:
            return await self._said(build_prompt(question, self._persona, self._limits), session)
        except LlmTooLong as error:
            if session is None or session.changed:
                raise
            self._tools = None  # for good: this model does not read enough for them
            log.warning("tools_given_up", model=self._chat.model, reason=str(error))
        return await self._said(build_prompt(replace(question, tools=False), self._persona, self._limits), None)

    async def _said(self, prompt: Sequence[ChatMessage], session: ToolSession | None) -> Completion:
        if session is None:
            return await self._chat.chat(prompt, max_tokens=self._max_tokens)
        return await session.converse(self._chat, prompt, max_tokens=self._max_tokens)


def _spoken(text: str, persona: Persona) -> str:
    """Return the words alone: small models repeat the prompt's tags, begin with their own name, and quote themselves."""
    bare = _TAG.sub(" ", text).strip()
    bare = re.sub(rf"^{re.escape(persona.name)}(?: \([^)]{{1,10}}\))?:\s*", "", bare, flags=re.IGNORECASE)
    inside = bare[1:-1]
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1] and not {bare[0], bare[-1]} & set(inside):
        return inside.strip()
    return bare
