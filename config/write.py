"""Settings written into a configuration file: into an existing one with its comments kept, or into a short new one."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.errors import ConfigError
from config.settings import Settings

Values = Mapping[tuple[str, str], str]  # (section, key): text
_HEADER = re.compile(r"^\s*\[\s*([A-Za-z0-9_]+)\s*\]\s*(#.*)?$")
_HEAD = """\
# Ricordo's configuration, written by `ricordo setup`. Every other setting, with its default and its comment:
# `ricordo config init all-settings.toml`. Secrets stand in ricordo.secrets.toml or the environment, not here.
"""
_SECRETS_HEAD = "# Ricordo's secrets. Keep this file to yourself (chmod 600), and out of backups that others read.\n"


def with_values(text: str, values: Values, *, path: Path) -> str:
    """Return the text of a TOML file with these values set, and everything else as it was.

    Args:
        text: what the file holds; TOML.
        values: what to set; keys that the file lacks are added to their section.
        path: named in the error.

    Raises:
        ConfigError: the file is written in a way (inline tables, dotted keys) that cannot be changed a line at a time.
    """
    lines = text.splitlines()
    for (section, key), value in values.items():
        _set(lines, section, key, json.dumps(value, ensure_ascii=False))
    changed = "\n".join(lines) + "\n"
    if _loaded(changed) != _merged(_loaded(text), values):
        wanted = "; ".join(f"{section}.{key}" for section, key in values)
        raise ConfigError(f"{path}: cannot be changed safely. Set these by hand: {wanted}, or add --force to write it anew.")
    return changed


def new_file(values: Values) -> str:
    """Return a short commented file with these values."""
    parts = [_HEAD]
    for name in dict.fromkeys(section for section, _ in values):
        table: Any = Settings.model_fields[name].annotation
        parts.append(f"\n# {(table.__doc__ or '').splitlines()[0]}\n[{name}]")
        for (section, key), value in values.items():
            if section == name:
                parts.append(f"# {table.model_fields[key].description}\n{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(parts) + "\n"


def new_secrets_file() -> str:
    """Return the beginning of a file of secrets."""
    return _SECRETS_HEAD


def _set(lines: list[str], section: str, key: str, written: str) -> None:
    start = next((at for at, line in enumerate(lines) if (found := _HEADER.match(line)) and found[1] == section), None)
    if start is None:
        lines += ["", f"[{section}]", f"{key} = {written}"]
        return
    end = next((at for at in range(start + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
    line_of_key = re.compile(rf"""^(?:#\s*)?(["']?){re.escape(key)}\1\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^#]*?)(\s*#.*)?$""")
    places = [at for at in range(start + 1, end) if line_of_key.match(lines[at].strip())]
    for at in sorted(places, key=lambda place: lines[place].lstrip().startswith("#"))[:1]:
        comment = line_of_key.match(lines[at].strip())
        lines[at] = f"{key} = {written}{(comment and comment[2]) or ''}"
        return
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, f"{key} = {written}")


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _merged(content: dict[str, Any] | None, values: Values) -> dict[str, Any] | None:
    merged = dict(content or {})
    for (section, key), value in values.items():
        merged[section] = {**merged.get(section, {}), key: value}
    return merged
