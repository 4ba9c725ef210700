"""What the index's process has to say goes to the log of its parent: one log, one format, secrets masked in one place."""

import logging
from collections.abc import MutableMapping
from typing import Any

import structlog

from memory.store.frames import Frames

_PLAIN = (str, int, float, bool, type(None))
_OWN = {"pid", "level", "event"}


def send_logs(frames: Frames) -> None:
    """Send events, and what libraries warn of, to the parent instead of writing them. For the child, once."""

    def forward(_: object, level: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        told = {key: value if isinstance(value, _PLAIN) else str(value) for key, value in event.items()}
        frames.send(("event", level, told.pop("event", ""), told))
        raise structlog.DropEvent

    structlog.configure(
        processors=[structlog.processors.format_exc_info, forward],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Sending(frames)], force=True)


def tell_log(kind: str, level: Any, *told: Any) -> None:  # noqa: ANN401 - as `send_logs` sent it
    """Write what the child sent. For the parent."""
    if kind == "event":
        event, values = told
        log = structlog.get_logger("memory.store.index_worker")
        getattr(log, level)(event, **{key: value for key, value in values.items() if key not in _OWN})
    else:
        name, text = told
        logging.getLogger(name).log(level, "%s", text)


class _Sending(logging.Handler):
    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))
        self._frames = frames

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            self._frames.send(("library", record.levelno, record.name, self.format(record)))
        except (OSError, ValueError):
            self.handleError(record)
