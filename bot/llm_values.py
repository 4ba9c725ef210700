"""What is said to a language model and what comes back, as values, whatever server stands behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

Role = Literal["system", "user", "assistant", "tool"]
BYTES_PER_TOKEN = 3  # on the safe side: 4 for English, 3 for Italian, 2.5 for emoji


def estimate_tokens(text: str) -> int:
    """Return an upper guess of the tokens in `text`, from its UTF-8 length: no tokenizer is the right one for every server."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the model wants to be called, with its arguments already parsed. Broken ones are told back to it."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    error: str = ""  # why the arguments cannot be read; the call is not made


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the model may call. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of the conversation with the model."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()  # assistant: what it asked for
    tool_call_id: str | None = None  # tool: which call this answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model answered. `text` may be empty only where there are tool calls."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    parsed: Mapping[str, Any] | None = None  # the JSON object, where a schema was asked for
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usage_estimated: bool = False  # the server counted nothing: the tokens are our estimate
    finish_reason: str | None = None  # stop | length | tool_calls | …; None: an unstreamed answer that did not say
    seconds: float = 0.0  # waiting and retries included
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """One OpenAI-compatible endpoint. `timeout_seconds` is for the whole call, queueing and retries included."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = 20.0
    retries: int = 2  # after the first attempt, for what may pass by itself
    max_tokens: int = 200
    temperature: float = 0.7
    concurrency: int = 2  # requests at once; more wait
    stream: bool = False
    instruction_role: Literal["system", "developer"] = "system"

    def __post_init__(self) -> None:
        """Refuse what could never work; the key itself is never part of the message."""
        if urlsplit(self.base_url).scheme not in {"http", "https"} or not urlsplit(self.base_url).hostname:
            msg = "the LLM base URL must look like https://host/v1"
            raise ValueError(msg)
        if urlsplit(self.base_url).username or urlsplit(self.base_url).query:
            msg = "the LLM base URL carries a password or a query, which would show up in logs; put the secret into the LLM key"
            raise ValueError(msg)
        if not self.model:
            msg = "the LLM needs a model name"
            raise ValueError(msg)
        if self.api_key != self.api_key.strip() or not (self.api_key.isascii() and (self.api_key + "x").isprintable()):
            msg = "the LLM key holds spaces around it, line ends or other characters that no key has; copy it again"
            raise ValueError(msg)
        if self.timeout_seconds <= 0 or self.retries < 0 or self.concurrency < 1 or self.max_tokens < 1:
            msg = "LLM settings: timeout_seconds, concurrency and max_tokens must be above zero, retries zero or more"
            raise ValueError(msg)

    @property
    def address(self) -> str:
        """The endpoint, for logs and messages: it holds nothing secret, `__post_init__` sees to that."""
        return self.base_url.rstrip("/")


class Chat(Protocol):
    """Whoever can complete a conversation: the real model, or a stand-in."""

    @property
    def model(self) -> str:
        """The model's name, as it is recorded with a reply."""
        ...

    async def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """Return the model's answer.

        Raises:
            LlmError: one of its kinds; nothing was said.
        """
        ...
