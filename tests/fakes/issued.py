"""Every secret that a fake gave out or was configured with in one test: none may be found in what the program writes."""

from collections.abc import Iterator
from pathlib import Path

_KEPT_FOR_SECRETS = ("tokens.json", "secrets.toml")  # files that exist to hold them, mode 0600
_issued: set[str] = set()
_leaks: list[str] = []


def issue(secret: str) -> str:
    """Note a secret, and return it."""
    _issued.add(secret)
    return secret


def forget() -> None:
    """Begin a test."""
    _issued.clear()
    _leaks.clear()


def look_into(place: str, text: str) -> None:
    """Note a leak where `text` holds a secret; which one is not repeated."""
    if any(secret in text for secret in _issued):
        _leaks.append(place)


def look_into_folder(folder: Path) -> None:
    """Look into every file but those that exist to hold secrets."""
    if not _issued:
        return
    secrets = [secret.encode() for secret in _issued]
    for path in _files(folder):
        content = path.read_bytes()
        if any(secret in content for secret in secrets):
            _leaks.append(f"the file {path.name}")


def leaks() -> list[str]:
    """Return where secrets were found."""
    return list(_leaks)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not path.name.endswith(_KEPT_FOR_SECRETS):
            yield path
