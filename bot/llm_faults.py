"""Failures of an LLM endpoint, told apart: which error each one is, whether it may pass, and what the server said."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from bot.llm_errors import LlmBadAnswer, LlmError, LlmRateLimited, LlmRefused, LlmTooLong, LlmUnavailable
from bot.llm_values import LlmSettings

if TYPE_CHECKING:
    import openai

_TOO_LONG = re.compile(r"context (?:length|window|size)|context_length_exceeded|too many tokens|prompt is too long")
_LIMIT = re.compile(r"(?:context length is|context (?:size|window)[^0-9]{0,20})\s*\(?(\d{3,8})")
_KEY = re.compile(r"\b(?:sk|gsk|key|bearer)[-_ ][\w*.\-]{6,}", re.IGNORECASE)
# What servers send back of a request, as JSON or as Python writes it; and chat, which stands between these marks in a prompt.
_ECHO = re.compile(r"""['"](?:input|messages|content|prompt|text)['"]\s*:.*|«.*?(?:»|$)""", re.DOTALL)
WORDS = 300  # of a server's message, in characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A failed attempt as a value: what to raise if nothing helps, and what may be tried first."""

    error: LlmError
    passing: bool = False  # the same request may work in a moment
    status: int | None = None
    words: str = ""  # the server's message, lower case


class FaultReader:
    """Turns what the SDK raises into faults. Nothing it returns holds the key or the request."""

    def __init__(self, settings: LlmSettings) -> None:
        """Read faults of the endpoint of `settings`."""
        self._settings = settings

    def late(self) -> LlmUnavailable:
        """Return the error of an answer that did not come in time."""
        return LlmUnavailable(
            f"{self._settings.address} gave no answer within {self._settings.timeout_seconds:g} s: "
            "check that the server is up, or raise the LLM timeout"
        )

    def not_json(self) -> LlmBadAnswer:
        """Return the error of a body that is not JSON."""
        return LlmBadAnswer(f"{self._settings.address} sent something that is not JSON: is it an OpenAI-compatible API?")

    def of(self, error: Exception) -> Fault:
        """Return the fault behind an error of the SDK."""
        import openai  # noqa: PLC0415 - loaded already where there is an error of its own

        address = self._settings.address
        if isinstance(error, openai.APITimeoutError):
            return Fault(error=self.late(), passing=True)
        if isinstance(error, openai.APIStatusError):
            return self._status_fault(error)
        if isinstance(error, openai.APIConnectionError):
            return Fault(
                error=LlmUnavailable(f"no connection to {address}, or it was cut: is the LLM server running there?"),
                passing=True,
            )
        return Fault(error=LlmUnavailable(f"{address} failed while answering: {self._clean(str(error))}"), passing=True)

    def _status_fault(self, error: "openai.APIStatusError") -> Fault:
        said = self._clean(_words_of(error))
        status, words = error.status_code, said.lower()
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return self._rate_fault(error, said)
        if _TOO_LONG.search(words):
            limit = _LIMIT.search(words)
            model = self._settings.model
            text = f"the prompt is too long for {model}: {said}; lower the prompt limit or use a model that reads more"
            return Fault(error=LlmTooLong(text, int(limit[1]) if limit else None), status=None)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Fault(
                error=LlmUnavailable(f"{self._settings.address} answered {status}: {said}; see the LLM server's log"),
                passing=True,
                status=status,
                words=words,
            )
        return Fault(error=LlmRefused(self._refusal(status, said)), status=status, words=words)

    def _rate_fault(self, error: "openai.APIStatusError", said: str) -> Fault:
        pause = _seconds(error.response.headers.get("retry-after"))
        spent = "quota" in said.lower()
        text = f"{self._settings.address} asks for a pause: {said}"
        text += "; the account has no credit left" if spent else ("" if pause is None else f"; again in {pause:g} s")
        return Fault(error=LlmRateLimited(text, pause), passing=not spent)

    def _refusal(self, status: int, said: str) -> str:
        match status:
            case 401 | 403:
                advice = "check the LLM key"
            case 404:
                advice = f"check the model name ({self._settings.model}) and the base URL (it often ends in /v1)"
            case _:
                advice = "the request is not one that this server takes; check the LLM settings"
        return f"{self._settings.address} refused with {status}: {said}; {advice}"

    def _clean(self, text: str) -> str:
        """Return a server's words on one short line, without key and request, which some servers send back in part."""
        if self._settings.api_key:
            text = text.replace(self._settings.api_key, "***")
        text = _ECHO.sub("…", text)
        return " ".join(_KEY.sub("***", text).split())[:WORDS] or "no reason given"


def _words_of(error: "openai.APIStatusError") -> str:
    body = error.body
    if isinstance(body, Mapping):
        said = body.get("message") or body.get("detail") or body
        if isinstance(said, list):
            said = "; ".join(str(one.get("msg", "")) for one in said if isinstance(one, Mapping))
        return str(said)
    return body if isinstance(body, str) else error.message


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:  # an HTTP date: rare, and no clock to trust
        return None
