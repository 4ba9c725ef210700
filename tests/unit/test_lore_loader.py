import os
from pathlib import Path

import pytest

from lore.loader import FILE_BYTES, CanonError, load_canon, load_entry

ROOT = Path(__file__).parents[2]
GOOD = '---\nid: lamp\ntitle: The Lamp\naliases: ["the lamp", "la lampada"]\n---\nIt is always lit.\n'


def entry_file(folder: Path, content: str | bytes, name: str = "lamp.md") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_entry_is_read_with_its_names_and_text(tmp_path: Path) -> None:
    entry = load_entry(entry_file(tmp_path, GOOD))
    assert (entry.id, entry.title, entry.aliases, entry.text) == (
        "lamp",
        "The Lamp",
        ("the lamp", "la lampada"),
        "It is always lit.",
    )
    assert len(entry.digest) == 64


@pytest.mark.parametrize("content", [GOOD.replace("\n", "\r\n"), "\ufeff" + GOOD, GOOD.replace("lit.\n", "lit.   \n\n\n")])
def test_line_ends_and_byte_order_marks_change_nothing(tmp_path: Path, content: str) -> None:
    same = load_entry(entry_file(tmp_path, GOOD))
    assert load_entry(entry_file(tmp_path, content)) == same


@pytest.mark.parametrize(
    ("old", "new"), [("lit", "out"), ("The Lamp", "A Lamp"), ("la lampada", "lampada"), ("id: lamp", "id: lamp2")]
)
def test_any_change_changes_the_digest(tmp_path: Path, old: str, new: str) -> None:
    before = load_entry(entry_file(tmp_path, GOOD))
    assert load_entry(entry_file(tmp_path, GOOD.replace(old, new))).digest != before.digest


@pytest.mark.parametrize(
    ("written", "aliases"),
    [
        ("[]", ()),
        ("[a, b c]", ("a", "b c")),
        ("['it''s', \"a, \\\"b\\\"\"]", ("it's", 'a, "b"')),
        ('["a",]', ("a",)),
        ('[ "a" , b ]', ("a", "b")),
    ],
)
def test_aliases_may_be_written_as_json_or_yaml(tmp_path: Path, written: str, aliases: tuple[str, ...]) -> None:
    content = GOOD.replace('["the lamp", "la lampada"]', written)
    assert load_entry(entry_file(tmp_path, content)).aliases == aliases


@pytest.mark.parametrize(
    ("content", "line", "match"),
    [
        ("", 1, "must begin with a line `---`"),
        ("just text", 1, "must begin"),
        ("---\nid: a\n", 3, "no closing line"),
        (GOOD.replace("title: The Lamp\n", ""), 4, "title: missing"),
        (GOOD.replace("title:", "titel:"), 3, "titel: unknown field; there are id, title, aliases"),
        (GOOD.replace("title: The Lamp", "title: The Lamp\ntitle: B"), 4, "title: stands here twice"),
        (GOOD.replace("title: The Lamp", "title:"), 3, "title: is empty"),
        (GOOD.replace("title: The Lamp", "no colon here"), 3, "expected `field: value`"),
        (GOOD.replace("id: lamp", "id: ../lamp"), 2, "id: '../lamp' must be"),
        (GOOD.replace('["the lamp", "la lampada"]', "the lamp"), 4, "aliases: expected a list"),
        (GOOD.replace('"la lampada"', '"The LAMP"'), 4, "aliases: 'The LAMP' stands here twice"),
        (GOOD.replace('"la lampada"', '""'), 4, "aliases: an empty one"),
        (GOOD.replace('"la lampada"', '"open'), 4, "aliases: cannot read the list"),
        (GOOD.replace("It is always lit.\n", " \n"), 5, "no text below"),
        (GOOD.encode() + b"\xff\xfe", 7, "not UTF-8"),
        (GOOD + "\x00", 7, "NUL"),
        (GOOD + "x" * FILE_BYTES, None, "at most 16384: split it"),
    ],
)
def test_broken_file_is_refused_with_its_place(tmp_path: Path, content: str | bytes, line: int | None, match: str) -> None:
    path = entry_file(tmp_path, content)
    with pytest.raises(CanonError, match=match) as caught:
        load_entry(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    entry_file(tmp_path, GOOD.replace("id: lamp", "id: b"), "2.md")
    entry_file(tmp_path, GOOD.replace("id: lamp", "id: a"), "10.md")
    entry_file(tmp_path, "not an entry", "notes.txt")
    (tmp_path / "folder.md").mkdir()
    assert [entry.id for entry in load_canon(tmp_path)] == ["a", "b"]


def test_two_entries_with_one_id_are_refused_and_both_named(tmp_path: Path) -> None:
    entry_file(tmp_path, GOOD, "a.md")
    entry_file(tmp_path, GOOD, "b.md")
    with pytest.raises(CanonError, match=r"b\.md, line 2: id: 'lamp' is already the id of a\.md"):
        load_canon(tmp_path)


def test_missing_folder_is_an_error_and_an_empty_one_is_not(tmp_path: Path) -> None:
    assert load_canon(tmp_path) == []
    with pytest.raises(CanonError, match="no such folder"):
        load_canon(tmp_path / "gone")


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CanonError, match="cannot be read: No such file"):
        load_entry(tmp_path / "gone.md")


def test_bundled_canon_is_sound_and_reached_in_both_languages() -> None:
    entries = load_canon(ROOT / "lore" / "canon")
    assert 6 <= len(entries) <= 8
    aliases = [alias.casefold() for entry in entries for alias in entry.aliases]
    assert len(aliases) == len(set(aliases))
    assert all(len(entry.text) < 500 for entry in entries)


@pytest.mark.data
@pytest.mark.parametrize("name", ["cucina", "factory"])
def test_canon_of_the_annotated_logs_loads(name: str) -> None:
    folder = Path(os.environ.get("RICORDO_DATA", ROOT / "../shared/data")) / "annotated" / f"{name}.lore"
    if not folder.is_dir():
        pytest.skip(f"no development data at {folder}")
    entries = load_canon(folder)
    assert len(entries) == len(list(folder.glob("*.md")))
    assert all(entry.aliases for entry in entries)
