"""The canon's files: one Markdown file an entry, front matter between two `---` lines, the text below.

---
id: nome
title: The name
aliases: ["il nome", "the name"]
---
Text, in any language.
"""

import hashlib
import json
import re
from pathlib import Path

from lore.entry import LoreEntry

FIELDS = ("id", "title", "aliases")
FILE_BYTES = 16_384
ENTRIES = 1_000
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^,"'\[\]]+?))\s*(,|\Z)""")


class CanonError(ValueError):
    """A file of the canon cannot be used. The text names file, line and field, and says what is expected."""

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        """Put the place before the problem."""
        super().__init__(f"{path}{f', line {line}' if line else ''}: {problem}")
        self.path = path
        self.line = line


def load_canon(folder: Path) -> list[LoreEntry]:
    """Return every entry of `folder` (its `*.md` files, by name); an empty folder is an empty canon.

    Raises:
        CanonError: the folder is missing, a file breaks the format, or two files share an id.
    """
    if not folder.is_dir():
        raise CanonError(folder, None, "there is no such folder; the canon is a folder of Markdown files")
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".md" and path.is_file())
    if len(paths) > ENTRIES:
        raise CanonError(folder, None, f"{len(paths)} entries; a canon has at most {ENTRIES}")
    found: dict[str, Path] = {}
    entries = []
    for path in paths:
        front, entry = _load(path)
        if entry.id in found:
            raise CanonError(
                path, front["id"][0], f"id: {entry.id!r} is already the id of {found[entry.id].name}; every entry needs its own"
            )
        found[entry.id] = path
        entries.append(entry)
    return entries


def load_entry(path: Path) -> LoreEntry:
    """Return the entry in one file.

    Raises:
        CanonError: the file cannot be read or breaks the format.
    """
    return _load(path)[1]


def _load(path: Path) -> tuple[dict[str, tuple[int, str]], LoreEntry]:
    """Return the front matter with its line numbers, and the entry made of it."""
    lines = _lines(path)
    if lines[0].rstrip() != "---":
        raise CanonError(path, 1, "the file must begin with a line `---`, then id, title and aliases, then `---` again")
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
    if end is None:
        raise CanonError(path, len(lines), "the front matter has no closing line `---`")
    front = _front_matter(path, lines[1:end])
    text = "\n".join(line.rstrip() for line in lines[end + 1 :]).strip()
    if not text:
        raise CanonError(path, end + 1, "there is no text below the front matter")
    return front, _entry(path, front, text)


def _lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CanonError(path, None, f"cannot be read: {error.strerror}") from error
    if len(raw) > FILE_BYTES:
        raise CanonError(path, None, f"{len(raw)} bytes; an entry has at most {FILE_BYTES}: split it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CanonError(path, raw[: error.start].count(b"\n") + 1, "not UTF-8: save the file in that encoding") from error
    if "\x00" in text:
        raise CanonError(path, text[: text.index("\x00")].count("\n") + 1, "holds a NUL character: is this a text file?")
    return re.split(r"\r\n|\r|\n", text)


def _front_matter(path: Path, lines: list[str]) -> dict[str, tuple[int, str]]:
    front: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon:
            raise CanonError(path, number, "expected `field: value`")
        if name not in FIELDS:
            raise CanonError(path, number, f"{name[:40]}: unknown field; there are {', '.join(FIELDS)}")
        if name in front:
            raise CanonError(path, number, f"{name}: stands here twice")
        front[name] = (number, value.strip())
    missing = [name for name in FIELDS if name not in front]
    if missing:
        raise CanonError(path, len(lines) + 2, f"{', '.join(missing)}: missing from the front matter")
    return front


def _entry(path: Path, front: dict[str, tuple[int, str]], text: str) -> LoreEntry:
    id_line, id_ = front["id"]
    id_ = _unquoted(id_)
    if not _ID.fullmatch(id_):
        raise CanonError(path, id_line, f"id: {id_[:60]!r} must be 1 to 64 lower-case letters, digits, - or _")
    title_line, title = front["title"]
    title = _unquoted(title)
    if not title:
        raise CanonError(path, title_line, "title: is empty")
    aliases = _aliases(path, *front["aliases"])
    content = json.dumps([id_, title, list(aliases), text], ensure_ascii=False)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return LoreEntry(id=id_, title=title, aliases=aliases, text=text, digest=digest)


def _aliases(path: Path, line: int, value: str) -> tuple[str, ...]:
    if not (value.startswith("[") and value.endswith("]")):
        raise CanonError(path, line, 'aliases: expected a list on one line, such as ["name", "other name"]')
    aliases: list[str] = []
    inside = value[1:-1].strip()
    while inside:
        part = _PART.match(inside)
        if part is None:
            raise CanonError(path, line, f"aliases: cannot read the list at {inside[:30]!r}")
        alias = " ".join(_unescaped(part).split())
        if not alias:
            raise CanonError(path, line, "aliases: an empty one")
        if alias.casefold() in {known.casefold() for known in aliases}:
            raise CanonError(path, line, f"aliases: {alias!r} stands here twice")
        aliases.append(alias)
        inside = inside[part.end() :]
    return tuple(aliases)


def _unescaped(part: re.Match[str]) -> str:
    double, single, bare = part.group(1), part.group(2), part.group(3)
    if double is not None:
        return re.sub(r"\\(.)", r"\1", double)
    return single.replace("''", "'") if single is not None else str(bare)


def _unquoted(value: str) -> str:
    return value[1:-1].strip() if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
