"""The responder behind a language model: prompt, model, and what is said of a failure."""

import re
from collections.abc import Sequence

import structlog

from bot.addressing import Addressing
from bot.language import language_of
from bot.llm_errors import LlmBadAnswer, LlmError, LlmRateLimited, LlmRefused, LlmTooLong, LlmUnavailable
from bot.llm_values import Chat, Completion
from bot.llm_wire import estimate_prompt
from bot.persona import Persona
from bot.prompt import TAGS, PromptLimits, Question, build_prompt
from bot.responder import Answer, ResponderFailed
from memory import Batch, Message, Recall, Stream

log = structlog.get_logger(__name__)
_TAG = re.compile(rf"</?(?:{'|'.join(TAGS)})>")
_QUOTES = {"«": "»", "“": "”", '"': '"'}
_KINDS: tuple[tuple[type[LlmError], str], ...] = (
    (LlmUnavailable, "unavailable"),
    (LlmRateLimited, "rate_limited"),
    (LlmTooLong, "too_long"),
    (LlmRefused, "refused"),
    (LlmBadAnswer, "bad_answer"),
)


class LlmResponder:
    """Answers with a language model. A prompt that turns out too long for it is shortened, then and from then on."""

    def __init__(
        self, chat: Chat, *, persona: Persona, addressing: Addressing, limits: PromptLimits, max_tokens: int | None = None
    ) -> None:
        """Take the model, who it plays, whom the chat means by the bot, and the limits of prompt and reply."""
        self._chat = chat
        self._persona = persona
        self._addressing = addressing
        self._limits = limits
        self._max_tokens = max_tokens
        self._stream: Stream | None = None

    def meet(self, stream: Stream) -> None:
        """Answer in this stream from now on: its title is part of the prompt."""
        self._stream = stream

    async def reply(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message] = ()) -> Answer:
        """Return the model's answer to `to`, and in the same line to `also`.

        Raises:
            ResponderFailed: the model failed; its cause is the `LlmError`, the reason is in the log, and nothing is said.
        """
        question = self._question(batch, recall, to, also)
        try:
            completion = await self._complete(question)
        except LlmError as error:
            kind = next((word for kind, word in _KINDS if isinstance(error, kind)), "failed")
            log.warning("reply_failed", turn_id=batch.id, model=self._chat.model, kind=kind, reason=str(error))
            raise ResponderFailed(kind) from error
        return Answer(
            text=_spoken(completion.text, self._persona),
            model=self._chat.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )

    def _question(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message]) -> Question:
        return Question(
            batch=batch,
            to=to,
            also=tuple(also),
            recall=recall,
            language=language_of(self._addressing.question(to), recall.plan.language),
            stream=self._stream if self._stream is not None and self._stream.id == batch.stream_id else None,
            addressed=frozenset(message.id for message in batch.messages if self._addressing.how(message) is not None),
        )

    async def _complete(self, question: Question) -> Completion:
        prompt = build_prompt(question, self._persona, self._limits)
        try:
            return await self._chat.chat(prompt, max_tokens=self._max_tokens)
        except LlmTooLong as error:
            shorter = self._limits.shrunk_to((error.limit or estimate_prompt(prompt)) // 2)
            if shorter == self._limits:
                raise
            log.warning("prompt_limit_lowered", model=self._chat.model, tokens=shorter.prompt_tokens, reason=str(error))
            self._limits = shorter
        return await self._chat.chat(build_prompt(question, self._persona, self._limits), max_tokens=self._max_tokens)


def _spoken(text: str, persona: Persona) -> str:
    """Return the words alone: small models repeat the prompt's tags, begin with their own name, and quote themselves."""
    bare = _TAG.sub(" ", text).strip()
    bare = re.sub(rf"^{re.escape(persona.name)}(?: \([^)]{{1,10}}\))?:\s*", "", bare, flags=re.IGNORECASE)
    inside = bare[1:-1]
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1] and not {bare[0], bare[-1]} & set(inside):
        return inside.strip()
    return bare
