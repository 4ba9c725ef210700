"""What the program writes about itself, and how: structlog to standard error, secrets scrubbed."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from config.sections import Log

_SECRET_KEYS = re.compile(r"(?i)(token|secret|api_?key|authorization|password)$")
_SECRET_TEXT = re.compile(
    r"(?i)\b(oauth:|bearer\s+|sk-)[\w.~+/=-]{6,}|((?:client_secret|refresh_token|access_token)=)[^&\s\"']+"
)
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
    logging.basicConfig(
        level=max(_LEVELS[level], logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s %(message)s"
    )


def scrub(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 structlog's signature
    """Mask whatever looks like a secret, by key and by text."""
    for key, value in event.items():
        if _SECRET_KEYS.search(key):
            event[key] = "***"
        elif isinstance(value, str):
            event[key] = _SECRET_TEXT.sub(lambda found: f"{found[1] or found[2] or ''}***", value)
    return event
