"""The map of the code in docs/ARCHITECTURE.md: the first line of each file's docstring. Run as a program, it writes it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
PACKAGES = ("config", "lore", "memory", "bot", "replays", "bench")
BEGIN, END = "<!-- map: written by `make docs` -->\n", "<!-- end of map -->\n"


def sources() -> list[Path]:
    """Return the files of the packages, a folder's own before its sub-folders'."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "__pycache__" not in path.parts]
    return sorted(files, key=lambda path: (PACKAGES.index(path.relative_to(ROOT).parts[0]), path.parent.parts, path.name))


def the_map() -> str:
    """Return the map as Markdown, a heading a folder."""
    lines: list[str] = []
    folder: Path | None = None
    for path in sources():
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if path.parent != folder:
            folder = path.parent
            lines += ["", f"### {folder.relative_to(ROOT).as_posix()}/", ""]
        if path.name == "__init__.py":
            lines += [docstring.splitlines()[0], ""]
        else:
            lines.append(f"- `{path.name}`: {docstring.splitlines()[0]}")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n\n"


def with_map(page: str) -> str:
    """Return the page with the map as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + the_map() + END + rest.partition(END)[2]


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
