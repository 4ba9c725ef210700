"""What can be wrong with a chat log as a whole, in one tree; a single bad line is counted, never raised.

LogError
├── LogUnreadable   the file cannot be opened, read or written
└── NotAChat        the content is no chat log: empty, binary, in an unknown format or encoding
"""


class LogError(Exception):
    """Base of the errors about a chat log. The text says what happened and what to do next."""


class LogUnreadable(LogError):
    """The file cannot be opened, read or written."""


class NotAChat(LogError):
    """The content is no chat log that can be imported."""
