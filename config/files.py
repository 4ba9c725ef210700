"""Reading the configuration's files: TOML with clear errors, secrets only from a private one."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings

from config.errors import ConfigError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: the file cannot be read, is not UTF-8, or is not TOML (with line and column).
    """
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def read_secrets(path: Path) -> dict[str, Any]:
    """Return the tables of the secrets file.

    Raises:
        ConfigError: the file is missing, or others may read it.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such secrets file (RICORDO_SECRETS names it).")
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        raise ConfigError(f"{path}: others may read this file of secrets. Run: chmod 600 {path}")
    return read_toml(path)


def refuse_secrets(content: Mapping[str, Any], file: Path | None, settings: type[BaseSettings]) -> None:
    """Refuse secrets in the ordinary file, which people share and commit.

    Raises:
        ConfigError: names the key and where it belongs.
    """
    for section, key in secret_keys(settings):
        table = content.get(section)
        if isinstance(table, Mapping) and key in table:
            raise ConfigError(
                f"{file}, {section}.{key}: secrets do not belong in this file. Set RICORDO_{section.upper()}__{key.upper()} "
                "or write it to ricordo.secrets.toml (mode 0600)."
            )


def secret_keys(settings: type[BaseSettings]) -> list[tuple[str, str]]:
    """Return the (section, key) pairs that hold secrets."""
    found = []
    for section, field in settings.model_fields.items():
        table: Any = field.annotation
        for key, value in table.model_fields.items():
            if isinstance(value.json_schema_extra, dict) and value.json_schema_extra.get("secret"):
                found.append((section, key))
    return found
