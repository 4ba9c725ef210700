"""Everything that can go wrong between us and a language model, in one tree.

LlmError
├── LlmUnavailable      no connection, no answer in time, or a server error after all retries
├── LlmRateLimited      the server asks for a pause; `retry_after` says how long
├── LlmRefused          the request can never work as it is: key, model, address, a parameter
│   └── LlmTooLong      the prompt does not fit the model; `limit` says how much would
└── LlmBadAnswer        an answer that is none: empty, cut off, not the JSON that was asked for

No message holds the key, and no error carries the request that failed (its headers do).
"""

from typing import Literal

BadAnswerKind = Literal["empty", "cut", "not_json", "shape"]


class LlmError(Exception):
    """Base of all errors of the language model. The text says what happened and what to do next."""


class LlmUnavailable(LlmError):
    """The model cannot be reached or did not answer in time; a later turn may work."""


class LlmRateLimited(LlmError):
    """The server asks for a pause. `retry_after` is in seconds, None where the server did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """Keep how long to wait."""
        super().__init__(message)
        self.retry_after = retry_after


class LlmRefused(LlmError):
    """The server refuses the request for good; somebody has to change the configuration."""


class LlmTooLong(LlmRefused):
    """The prompt is longer than the model reads. `limit` is in tokens, None where the server did not say."""

    def __init__(self, message: str, limit: int | None = None) -> None:
        """Keep how much would fit."""
        super().__init__(message)
        self.limit = limit


class LlmBadAnswer(LlmError):
    """The model answered, but with nothing that can be used; `kind` says what is wrong with it."""

    def __init__(self, message: str, kind: BadAnswerKind = "shape") -> None:
        """Keep what is wrong."""
        super().__init__(message)
        self.kind = kind
