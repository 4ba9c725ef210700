"""What a server can do, found out by trying: each ability has a ladder, and a refusal steps down by one rung.

Servers that call themselves OpenAI-compatible differ in structured output, token limits, roles and tools. What was learned is
kept, in memory and (where a path is given) in a file, so that it is found out once.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import structlog

from bot.llm_values import LlmSettings

log = structlog.get_logger(__name__)

JSON_LADDER: Final = ("json_schema", "json_object", "plain")
ROLE_LADDER: Final = ("developer", "system", "user")  # user: instructions are put before the first user message
LIMIT_KEYS: Final = ("max_tokens", "max_completion_tokens")
NEGOTIABLE: Final = frozenset({400, 415, 422, 500, 501})  # statuses that may mean "I cannot do that"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What to ask of a server. The defaults are what most servers understand."""

    json: str = JSON_LADDER[0]
    role: str = "system"
    limit: str = LIMIT_KEYS[0]  # or "" where both are refused
    null_content: bool = False  # an assistant message with tool calls carries null instead of ""
    tools: bool = True
    temperature: bool = True
    stream_options: bool = True
    seen: frozenset[str] = frozenset()  # `json_schema:works`, `max_tokens:refused`, `max_tokens:ignored`, …

    def noting(self, *words: str) -> "Capabilities":
        """Return the same with `words` added to what was seen."""
        return replace(self, seen=self.seen | set(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which abilities one request leans on."""

    json: bool = False
    tools: bool = False
    tool_results: bool = False  # the conversation holds assistant messages with tool calls
    instructions: bool = False
    stream: bool = False


def _lower_json(known: Capabilities) -> Capabilities | None:
    rung = JSON_LADDER.index(known.json)
    return replace(known, json=JSON_LADDER[rung + 1]) if rung + 1 < len(JSON_LADDER) else None


def _lower_role(known: Capabilities) -> Capabilities | None:
    rung = ROLE_LADDER.index(known.role)
    return replace(known, role=ROLE_LADDER[rung + 1]) if rung + 1 < len(ROLE_LADDER) else None


def _other_limit(known: Capabilities) -> Capabilities | None:
    if not known.limit:
        return None
    other = LIMIT_KEYS[1 - LIMIT_KEYS.index(known.limit)]
    refused = known.noting(f"{known.limit}:refused")
    return replace(refused, limit="" if f"{other}:refused" in known.seen else other)


def _named(known: Capabilities, asked: Asked, words: str) -> Capabilities | None:
    """Step down on the ability that the server's own words point at; the more specific words come first."""
    pointed: tuple[tuple[bool, tuple[str, ...], Capabilities | None], ...] = (
        (asked.stream and known.stream_options, ("stream_options",), replace(known, stream_options=False)),
        (asked.json, ("response_format", "json_schema", "json_object"), _lower_json(known)),
        (bool(known.limit), (known.limit,), _other_limit(known)),
        (known.temperature, ("temperature",), replace(known, temperature=False)),
        (asked.instructions and "role" in words, (known.role,), _lower_role(known)),
        (asked.tools and known.tools, ("tool",), replace(known, tools=False)),
    )
    for leaned_on, hints, lower in pointed:
        if leaned_on and any(hint in words for hint in hints):
            return lower
    return None


def _suspected(known: Capabilities, asked: Asked) -> Capabilities | None:
    """Step down on the first ability that has never worked here: the server failed without saying on what."""
    if asked.instructions and known.role == "developer":
        return _lower_role(known)
    if asked.json and f"{known.json}:works" not in known.seen and known.json != JSON_LADDER[-1]:
        return _lower_json(known)
    if asked.tool_results and "tool_results:works" not in known.seen and not known.null_content:
        return replace(known, null_content=True)
    if asked.tools and known.tools and "tools:works" not in known.seen:
        return replace(known, tools=False, null_content=False)
    return None


def step_down(known: Capabilities, asked: Asked, *, status: int | None, words: str) -> Capabilities | None:
    """Return what to try next after a refusal, None where the refusal is not about an ability.

    `words` is the server's message in lower case. A server error without a hint is held against an ability only while that
    ability has never worked: afterwards it is an outage.
    """
    if status not in NEGOTIABLE:
        return None
    return _named(known, asked, words) or _suspected(known, asked)


def without_json_mode(known: Capabilities) -> Capabilities | None:
    """Return what to try after an answer that was not JSON although it was asked for, None at the last rung."""
    return _lower_json(known) if f"{known.json}:works" not in known.seen else None


def learned(known: Capabilities, asked: Asked, *, over_limit: bool) -> Capabilities:
    """Return what a good answer taught: what works, and whether the limit on tokens was ignored."""
    words = [f"{known.json}:works"] if asked.json else []
    words += ["tool_results:works"] if asked.tool_results else []
    words += ["tools:works"] if asked.tools and known.tools else []
    now = known.noting(*words)
    if not (over_limit and known.limit):
        return now
    other = LIMIT_KEYS[1 - LIMIT_KEYS.index(known.limit)]
    usable = not {f"{other}:refused", f"{other}:ignored"} & known.seen
    return replace(now.noting(f"{known.limit}:ignored"), limit=other if usable else known.limit)


class CapabilityFile:
    """What was learned about servers, kept in one JSON file. A file that cannot be read or written is said and done without."""

    def __init__(self, path: Path | None, settings: LlmSettings) -> None:
        """Keep under the endpoint and model of `settings`; no path: nothing is kept."""
        self._path = path
        self._key = f"{settings.address} {settings.model}"
        self._default = Capabilities(role=settings.instruction_role)

    def load(self) -> Capabilities:
        """Return what is known about this endpoint, the defaults where nothing is."""
        kept = self._read().get(self._key)
        if not isinstance(kept, Mapping):
            return self._default
        loaded = _from_json(kept, self._default)
        if loaded is None:
            log.warning("llm_capabilities_unreadable", path=str(self._path))
        return loaded or self._default

    def save(self, known: Capabilities) -> None:
        """Write atomically: a crash leaves the old file or the new one."""
        if self._path is None:
            return
        every = {**self._read(), self._key: {**asdict(known), "seen": sorted(known.seen)}}
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(every, indent=1, sort_keys=True), encoding="utf-8")
            draft.replace(self._path)
        except OSError as error:
            log.warning("llm_capabilities_not_kept", path=str(self._path), reason=str(error))

    def _read(self) -> dict[str, Any]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            every = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            log.warning("llm_capabilities_unreadable", path=str(self._path), reason=str(error))
            return {}
        return every if isinstance(every, dict) else {}


def _from_json(kept: Mapping[str, Any], default: Capabilities) -> Capabilities | None:
    limits = (*LIMIT_KEYS, "")
    allowed = {"json": JSON_LADDER, "role": ROLE_LADDER, "limit": limits}
    words = kept.get("seen", [])
    sound = (
        all(kept.get(name) in values for name, values in allowed.items())
        and all(isinstance(kept.get(name), bool) for name in ("null_content", "tools", "temperature", "stream_options"))
        and isinstance(words, list)
        and all(isinstance(word, str) for word in words)
    )
    if not sound:
        return None
    fields = {name: kept[name] for name in ("json", "role", "limit", "null_content", "tools", "temperature", "stream_options")}
    return replace(default, seen=frozenset(words), **fields)
