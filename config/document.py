"""The configuration written out: a commented TOML file, a page, the privacy notice. `python -m config.document` writes all."""

import json
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from config import privacy
from config.settings import PREFIX, Settings

ROOT = Path(__file__).parent.parent
TOML_FILE = Path(__file__).with_name("defaults.toml")
PAGE = ROOT / "docs" / "configuration.md"
_HEAD = """\
# Ricordo's configuration, with every default. `ricordo config init` writes this file; delete what you do not change.
# Order: defaults < this file < environment (RICORDO_SECTION__KEY). Secrets: environment or ricordo.secrets.toml (mode 0600).
"""
_INTRO = """\
# Configuration

One TOML file, `ricordo.toml`, in the folder where the program is started, or named by `--config` or `RICORDO_CONFIG`.
`ricordo config init` writes it with every default and its comment, `ricordo config check` says what is wrong with it,
`ricordo config show` prints what is in force, secrets masked. Defaults give way to the file, the file gives way to the
environment: `RICORDO_BATCHING__SIZE=10`. Unknown keys are refused. Secrets are read from the environment or from
`ricordo.secrets.toml` beside the file (mode 0600), never from the file itself.

This page is written from the program's settings: `python -m config.document`.
"""


def as_toml() -> str:
    """Return the commented file with every default; secrets and values that are unset stand as comments."""
    parts = [_HEAD]
    for name, table in _tables():
        parts.append(f"\n# {_first_line(table.__doc__)}\n[{name}]")
        for key, field in table.model_fields.items():
            if _is_secret(field):
                continue
            value = field.get_default()
            parts.append(f"# {field.description} {_range(field)}".rstrip())
            parts.append(f"{key} = {_toml(value)}" if value is not None else f'# {key} = ""')
    return "\n".join(parts) + "\n"


def as_page() -> str:
    """Return the documentation page: a table a section."""
    parts = [_INTRO]
    for name, table in _tables():
        parts.append(f"\n## {name}\n\n{_first_line(table.__doc__)}\n\n| key | default | what it does |\n| --- | --- | --- |")
        for key, field in table.model_fields.items():
            default = f"secret: `{PREFIX}{name}__{key}`".replace(f"{name}__{key}", f"{name}__{key}".upper())
            if not _is_secret(field):
                default = f"`{_toml(field.get_default())}`" if field.get_default() is not None else "unset"
            parts.append(f"| `{key}` | {default} | {field.description} {_range(field)} |".replace("  |", " |"))
    return "\n".join(parts) + "\n"


def _tables() -> list[tuple[str, Any]]:
    return [(name, field.annotation) for name, field in Settings.model_fields.items()]


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def _is_secret(field: FieldInfo) -> bool:
    return isinstance(field.get_default(), SecretStr)


def _range(field: FieldInfo) -> str:
    literals = [argument for argument in (field.annotation, *get_args(field.annotation)) if get_origin(argument) is Literal]
    if literals:
        return f"One of: {', '.join(get_args(literals[0]))}."
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    texts = [
        f"{word} {getattr(bound, name)}" for bound in field.metadata for name, word in words.items() if hasattr(bound, name)
    ]
    return f"({', '.join(texts)})" if texts else ""


def _toml(value: Any) -> str:  # noqa: ANN401 any default of any section
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, Path | Enum):
        return json.dumps(str(value))
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Write all three files."""
    TOML_FILE.write_text(as_toml(), encoding="utf-8")
    PAGE.write_text(as_page(), encoding="utf-8")
    privacy.PAGE.write_text(privacy.as_notice(Settings()), encoding="utf-8")


if __name__ == "__main__":
    main()
