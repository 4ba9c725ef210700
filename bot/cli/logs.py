"""What the program writes about itself, and how: structlog to standard error, secrets scrubbed."""

import logging
import re
import sys
import unicodedata
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog

from config.sections import Log

_SECRET_KEYS = re.compile(r"(?i)(token|secret|api_?key|authorization|password)$")
_SECRET_TEXT = re.compile(
    r"(?i)\b(oauth:|bearer\s+|sk-)[\w.~+/=-]{6,}|((?:client_secret|refresh_token|access_token)=)[^&\s\"']+"
)
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # what a terminal obeys, or what turns or breaks its lines
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def set_up_logs(settings: Log, *, default: str | None = None) -> None:
    """Send events to standard error from the configured level on.

    Args:
        settings: level and format.
        default: a quieter level for commands whose output is for reading; it gives way to any level but the default one.
    """
    level = default if default and settings.level == Log().level else settings.level
    renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False)
    if settings.format == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            scrub,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Others("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=max(_LEVELS[level], logging.WARNING), handlers=[handler])


class _Others(logging.Formatter):
    """Writes what libraries log: secrets masked, and no line of it can pass for another."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        return _one_line(str(_masked(super().format(record))))


def scrub(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 structlog's signature
    """Mask whatever looks like a secret, by key and by text, at any depth."""
    for key, value in event.items():
        event[key] = "***" if _SECRET_KEYS.search(key) else _masked(value)
    return event


def _masked(value: object) -> object:
    if isinstance(value, str):
        return _SECRET_TEXT.sub(lambda found: f"{found[1] or found[2] or ''}***", value)
    if isinstance(value, Mapping):
        return {key: "***" if _SECRET_KEYS.search(str(key)) else _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(item) for item in value]
    return value


def _one_line(text: str) -> str:
    """Return `text` with every control, format and line-end character but the indented lines of a traceback escaped."""
    shown = text.replace("\n", "\n    ")
    return "".join(char if char == "\n" or unicodedata.category(char) not in _UNSEEN else ascii(char)[1:-1] for char in shown)
