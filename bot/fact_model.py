"""The language model as the memory asks it: JSON alone, in its own time, and errors in the memory's words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.llm import LanguageModel
from bot.llm_errors import LlmBadAnswer, LlmError, LlmTooLong
from bot.llm_values import ChatMessage, LlmSettings
from memory import AnswerUnusable, LanguageModelUnavailable

PATIENCE = 3.0  # nobody waits: the deadline of a reply, so many times


class FactModel:
    """Asks the configured model, always the same way: temperature 0, one call at a time, one attempt; jobs try again."""

    def __init__(self, settings: LlmSettings) -> None:
        """Prepare a client of its own, so that replies do not queue behind it; nothing is sent yet."""
        seconds = settings.timeout_seconds * PATIENCE
        self._model = LanguageModel(replace(settings, temperature=0.0, concurrency=1, retries=0, timeout_seconds=seconds))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.model

    async def answer(
        self, order: str, text: str, *, schema: Mapping[str, Any], max_tokens: int
    ) -> tuple[Mapping[str, Any], int]:
        """Return the JSON object that the model answers, and the tokens that it cost.

        Raises:
            LanguageModelUnavailable: it cannot be reached, or refuses.
            AnswerUnusable: the answer is not the JSON that was asked for, or the lines are too many for the model.
        """
        messages = (ChatMessage(role="system", content=order), ChatMessage(role="user", content=text))
        try:
            completion = await self._model.chat(messages, max_tokens=max_tokens, json_schema=schema)
        except (LlmBadAnswer, LlmTooLong) as error:
            raise AnswerUnusable(str(error)) from None
        except LlmError as error:
            raise LanguageModelUnavailable(str(error)) from None
        return completion.parsed or {}, completion.prompt_tokens + completion.completion_tokens

    async def close(self) -> None:
        """Close the connections; closing twice is fine."""
        await self._model.close()
