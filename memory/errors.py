"""Every error of the memory, in one tree.

BotMemoryError
├── MemoryClosed        used after `close()`
├── StoreUnavailable    SQLite cannot be read or written (locked, full, unwritable)
├── DirectoryInUse      another process works in this data directory
├── SchemaTooNew        the data was written by a newer program
├── WrongChannel        the data directory belongs to another channel
├── IndexUnavailable    Chroma failed, or a collection is broken; SQL is intact
│   └── CollectionLost  these collections must be dropped and built anew from SQL
├── ModelMismatch       the index was built by another embedding model
├── ModelUnavailable    an embedding model failed or is missing
├── RelevanceInvalid    the fitted weights of relevance are damaged
├── PairsInvalid        pairs that the projection of questions is fitted on cannot be used
├── LanguageModelUnavailable  a language model cannot be reached, or refuses
├── AnswerUnusable      a language model answered with nothing that can be used
├── BackupInvalid       a file is no backup, is cut short or changed, or a newer program made it
├── MemoryExists        a restore would replace a memory that is there
└── InvalidRow          a value that must not be stored; retrying is useless

`MemoryError` is Python's own and is not used here.
"""


class BotMemoryError(Exception):
    """Base of all errors of the memory. The text says what happened and what to do next."""


class MemoryClosed(BotMemoryError):
    """The memory was closed."""


class StoreUnavailable(BotMemoryError):
    """The database cannot be read or written."""


class DirectoryInUse(BotMemoryError):
    """Another process works in this data directory."""


class SchemaTooNew(BotMemoryError):
    """The data was written by a newer version of the program."""


class WrongChannel(BotMemoryError):
    """The data directory belongs to another channel."""


class IndexUnavailable(BotMemoryError):
    """The vector index failed; the memory goes on without it and rebuilds it from SQL."""


class CollectionLost(IndexUnavailable):
    """Collections that were stored once cannot be read any more: drop each and index its documents again."""

    def __init__(self, message: str, collections: tuple[str, ...]) -> None:
        """Name the collections, as the caller knows them."""
        super().__init__(message)
        self.collections = collections


class ModelMismatch(BotMemoryError):
    """The index was built by another embedding model; `ricordo reindex` rebuilds it."""


class ModelUnavailable(BotMemoryError):
    """The embedding model failed or cannot be loaded."""


class RelevanceInvalid(BotMemoryError):
    """The fitted weights are damaged; says what is wrong with them."""


class PairsInvalid(BotMemoryError):
    """Pairs that the projection is fitted on cannot be used; names file and line."""


class LanguageModelUnavailable(BotMemoryError):
    """The language model that reads or judges in the background cannot be reached, or refuses."""


class AnswerUnusable(BotMemoryError):
    """A language model answered, but with nothing that can be used: asking again may help, but not for long."""


class BackupInvalid(BotMemoryError):
    """A file cannot be restored: it is no backup, it is cut short or changed, or a newer program made it."""


class MemoryExists(BotMemoryError):
    """A restore would replace the memory that is there."""


class InvalidRow(BotMemoryError):
    """A value that must not be stored; retrying is useless."""
