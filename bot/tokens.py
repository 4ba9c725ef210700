"""The token file: written whole or not at all, readable by its owner alone."""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bot.live_errors import TokenFileBroken, TokenFileUnsafe

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPair:
    """A user's tokens. Neither of them shows when the pair is printed."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    origin: str = ""  # fingerprint of the configured token it descends from: a newly configured one goes before it


def fingerprint(secret: str) -> str:
    """Return what tells one secret from another and gives neither away; an empty one has none."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16] if secret else ""


def refuse_unsafe(path: Path) -> None:
    """Refuse a secret file that others may read.

    Raises:
        TokenFileUnsafe: says how to put it right.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & _OTHERS:
        msg = f"{path} holds secrets and other users of this machine can read it (mode {mode:04o}). Run: chmod 600 {path}"
        raise TokenFileUnsafe(msg)


def load_tokens(path: Path) -> dict[str, TokenPair]:
    """Return the token pairs by role (`bot`, `broadcaster`); a missing file gives none.

    Raises:
        TokenFileUnsafe: others may read it.
        TokenFileBroken: it is not what `save_tokens` wrote.
    """
    if not path.exists():
        return {}
    refuse_unsafe(path)
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {
            role: TokenPair(access=pair["access"], refresh=pair["refresh"], origin=pair.get("origin", ""))
            for role, pair in stored["tokens"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        msg = f"{path} holds no tokens that can be read. Move it away and give the bot its tokens again"
        raise TokenFileBroken(msg) from None


def save_tokens(path: Path, tokens: Mapping[str, TokenPair]) -> None:
    """Replace the token file, as `write_private` does.

    Raises:
        OSError: the folder cannot be written; the old file is as it was.
    """
    content = {"version": 1, "tokens": {role: asdict(pair) for role, pair in tokens.items()}}
    write_private(path, json.dumps(content, indent=2))


def write_private(path: Path, text: str) -> None:
    """Replace a file of secrets in one step, with mode 0600: a crash leaves the old one or the new one.

    Raises:
        OSError: the folder cannot be written; the old file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def drop_tokens(path: Path) -> None:
    """Delete the file, where there is one."""
    path.unlink(missing_ok=True)


class KeptPair:
    """The bot's pair as its file has it: written when it changes, and only then, for a login may have put a newer one."""

    def __init__(self, path: Path, *, access: str, refresh: str) -> None:
        """Take the file, and the pair that is configured for a first start."""
        self._path = path
        self._given = TokenPair(access=access, refresh=refresh)
        self._kept: TokenPair | None = None

    def candidates(self) -> list[TokenPair]:
        """Return the pairs to try: what the file holds, unless another token was configured since.

        Raises:
            TokenFileUnsafe, TokenFileBroken: the file must be put right first.
        """
        stored = load_tokens(self._path).get("bot")
        known = stored is not None and stored.origin == fingerprint(self._given.access)
        self._kept = stored
        return [
            pair for pair in ((stored, self._given) if known else (self._given, stored)) if pair is not None and pair.access
        ]

    def keep(self, access: str, refresh: str) -> bool:
        """Write the pair where it is not the one that was written last; return whether it was.

        Raises:
            OSError: the folder cannot be written; the next call tries again.
        """
        pair = TokenPair(access=access, refresh=refresh, origin=fingerprint(self._given.access))
        if pair == self._kept:
            return False
        save_tokens(self._path, {**load_tokens(self._path), "bot": pair})
        self._kept = pair
        return True


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
