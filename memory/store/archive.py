"""The file of a backup: a zip with a manifest, written whole or not at all, and read with every byte checked.

Whoever opens it by hand finds `manifest.json`, `memory.db` and `channel.json`. Only the owner may read it: it holds chat.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import psutil

from memory.errors import BackupInvalid, StoreUnavailable

FORMAT = 1
DATABASE, CHANNEL = "memory.db", "channel.json"  # what a backup may hold
SUFFIX = ".ricordo"
_MANIFEST = "manifest.json"
_WORK = ".ricordo-backup-"
_MIB = 1 << 20
_LONGEST_MANIFEST = 1 << 20
_FAST = 1  # zlib: a fifth of the size at 50 MB/s
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself."""

    made_at: datetime
    channel_id: str
    login: str
    name: str
    schema: str  # revision of the database
    messages: int
    removals: str  # fingerprint of what had been removed and corrected by then
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # name -> bytes, sha256


def pack(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> Manifest:
    """Write a backup of these files to `target`; return its manifest. Killed, it leaves an older one as it was.

    Raises:
        StoreUnavailable: it could not be written; nothing was changed.
    """
    told = {name: {"bytes": path.stat().st_size, "sha256": _digest(path)} for name, path in files.items()}
    whole = Manifest(**{**asdict(manifest), "files": told})
    with workshop(target) as work:
        part = work / "part"
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb") as stream:
                _write(stream, whole, files)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(target)
            _settle(target.parent)
        except OSError as error:
            raise _unwritable(target, error) from error
    return whole


def _write(stream: IO[bytes], manifest: Manifest, files: Mapping[str, Path]) -> None:
    said = {"format": FORMAT, **asdict(manifest), "made_at": manifest.made_at.isoformat()}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive:
        archive.writestr(_MANIFEST, json.dumps(said, ensure_ascii=False, indent=1))
        for name, path in files.items():
            with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as sink:
                shutil.copyfileobj(source, sink, _MIB)


def read_manifest(file: Path) -> Manifest:
    """Return what a backup says of itself, without checking the rest.

    Raises:
        BackupInvalid: the file is missing, cut short, no backup, or of a newer version.
    """
    with _opened(file) as archive:
        return _manifest(file, archive)


def unpack(file: Path, folder: Path) -> Manifest:
    """Take a backup's files out into `folder`, every byte checked; return its manifest.

    Raises:
        BackupInvalid: the file is missing, cut short, changed, no backup, or of a newer version.
        StoreUnavailable: `folder` cannot be written.
    """
    with _opened(file) as archive:
        manifest = _manifest(file, archive)
        for name, told in manifest.files.items():
            if not _took_out(archive, name, told, folder / name):
                msg = f"{file}: {name} in it is not what was backed up; take an older backup"
                raise BackupInvalid(msg)
    return manifest


def _took_out(archive: zipfile.ZipFile, name: str, told: Mapping[str, Any], target: Path) -> bool:
    """Write one file out; return whether it is what was backed up."""
    seen, left = hashlib.sha256(), int(told["bytes"])
    with archive.open(name) as source, _owned(target) as sink:
        while piece := source.read(min(_MIB, left + 1)):
            left -= len(piece)
            if left < 0:
                return False
            seen.update(piece)
            try:
                sink.write(piece)
            except OSError as error:
                raise _unwritable(target, error) from error
    return left == 0 and seen.hexdigest() == told["sha256"]


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        msg = f"{file}: there is no such file; name a backup that `ricordo backup` made"
        raise BackupInvalid(msg) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        msg = f"{file} is no backup, or was cut short or changed ({error}); take another one"
        raise BackupInvalid(msg) from error
    except OSError as error:
        msg = f"{file}: {error.strerror or error}; see that it is a file that may be read"
        raise BackupInvalid(msg) from error


def _manifest(file: Path, archive: zipfile.ZipFile) -> Manifest:
    try:
        with archive.open(_MANIFEST) as stream:
            said = json.loads(stream.read(_LONGEST_MANIFEST))
        number = int(said.pop("format"))
        if number > FORMAT:
            msg = f"{file} was made by a newer version (format {number}, known up to {FORMAT}): install that version"
            raise BackupInvalid(msg)
        manifest = Manifest(**{**said, "made_at": datetime.fromisoformat(said["made_at"])})
        sizes = {name: (int(told["bytes"]), str(told["sha256"])) for name, told in manifest.files.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"{file} is no backup of a memory; name one that `ricordo backup` made"
        raise BackupInvalid(msg) from error
    if DATABASE not in sizes or not sizes.keys() <= {DATABASE, CHANNEL} or not sizes.keys() <= set(archive.namelist()):
        msg = f"{file} is no backup of a memory; name one that `ricordo backup` made"
        raise BackupInvalid(msg)
    return manifest


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """Give a folder beside `target` that only its owner may read, gone on leaving.

    Raises:
        StoreUnavailable: it cannot be made.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{_WORK}{os.getpid()}-", dir=target.parent))
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove what a killed process left of a backup it was making."""
    for work in folder.glob(f"{_WORK}*"):
        number = work.name.removeprefix(_WORK).split("-")[0]
        if not number.isdecimal() or not psutil.pid_exists(int(number)) or int(number) == os.getpid():
            shutil.rmtree(work, ignore_errors=True)


def listed(folder: Path) -> list[Path]:
    """Return the backups in a folder, those that were made by the clock newest first."""
    return sorted(folder.glob(f"*{SUFFIX}"), reverse=True)


@contextmanager
def _owned(path: Path) -> Iterator[IO[bytes]]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except OSError as error:
        raise _unwritable(path, error) from error
    with os.fdopen(descriptor, "wb") as stream:
        yield stream


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _settle(folder: Path) -> None:
    """Make a renaming last through a power loss, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"{path}: {error.strerror or error}; choose another place, or make room; nothing was changed")
