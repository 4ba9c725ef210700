"""The configuration as one typed value: defaults < file < environment; secrets only from the environment or a 0600 file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from config.chat_sections import Commands, Persona
from config.errors import ConfigError, explain
from config.files import read_secrets, read_toml, refuse_secrets
from config.keeping import Backup, Facts, Recording, Retention
from config.sections import (
    Batching,
    Budget,
    Caches,
    Embedding,
    Fusion,
    History,
    Index,
    Jobs,
    Llm,
    Log,
    Manners,
    Planner,
    Retrieval,
    Storage,
    Twitch,
)
from config.watch import Watch

PREFIX = "RICORDO_"
DEFAULT_FILE = Path("ricordo.toml")
# Variables of ours that are not settings: where the configuration and the development data lie.
OTHER_VARIABLES = frozenset({"RICORDO_CONFIG", "RICORDO_SECRETS", "RICORDO_DATA"})


class Settings(BaseSettings):
    """Everything that can be tuned, by section."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    storage: Storage = Storage()
    log: Log = Log()
    watch: Watch = Watch()
    twitch: Twitch = Twitch()
    persona: Persona = Persona()
    batching: Batching = Batching()
    manners: Manners = Manners()
    commands: Commands = Commands()
    history: History = History()
    planner: Planner = Planner()
    retrieval: Retrieval = Retrieval()
    fusion: Fusion = Fusion()
    budget: Budget = Budget()
    caches: Caches = Caches()
    index: Index = Index()
    jobs: Jobs = Jobs()
    facts: Facts = Facts()
    retention: Retention = Retention()
    backup: Backup = Backup()
    recording: Recording = Recording()
    embedding: Embedding = Embedding()
    llm: Llm = Llm()

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 the signature is the library's
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 the signature is the library's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 the signature is the library's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 the signature is the library's
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file, whose content arrives as keyword arguments."""
        return env_settings, init_settings


def load_settings(path: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings from `path` (default: `ricordo.toml` where it exists) and the environment.

    Args:
        path: a configuration file that must exist; None looks at RICORDO_CONFIG, then for `ricordo.toml`.
        environ: used to name the variables in errors and to find the files; the process's own where None.

    Raises:
        ConfigError: a file is missing or is not TOML, a key is unknown, a value is wrong, or a secret stands where it must not.
    """
    environ = os.environ if environ is None else environ
    file = _file_of(path, environ)
    _refuse_unknown_variables(environ)
    content = read_toml(file) if file else {}
    refuse_secrets(content, file, Settings)
    secrets_file = _secrets_of(file, environ)
    secrets = read_secrets(secrets_file) if secrets_file else {}
    try:
        return Settings(**_merged(content, secrets))
    except ValidationError as error:
        raise ConfigError(explain(error, Settings, file=file, secrets_file=secrets_file, environ=environ)) from None


def _file_of(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = path or (Path(environ["RICORDO_CONFIG"]) if environ.get("RICORDO_CONFIG") else None)
    if named is not None:
        if not named.is_file():
            raise ConfigError(
                f"{named}: there is no such configuration file. `ricordo setup` or `ricordo config init` writes one."
            )
        return named
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _secrets_of(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    if environ.get("RICORDO_SECRETS"):
        return Path(environ["RICORDO_SECRETS"])
    beside = (file or DEFAULT_FILE).with_name("ricordo.secrets.toml")
    return beside if beside.is_file() else None


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    known = {f"{PREFIX}{section}__{key}".upper() for section, key in keys(Settings)}
    for name in environ:
        if name.startswith(PREFIX) and name not in known | OTHER_VARIABLES:
            raise ConfigError.unknown(f"environment variable {name}", name, sorted(known | OTHER_VARIABLES))


def keys(settings: type[BaseSettings]) -> list[tuple[str, str]]:
    """Return every (section, key) pair, in the order of the file."""
    return [
        (section, key)
        for section, field in settings.model_fields.items()
        for key in field.annotation.model_fields  # type: ignore[union-attr] # every field of Settings is a Section
    ]


def _merged(content: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {name: dict(table) if isinstance(table, Mapping) else table for name, table in content.items()}
    for name, table in secrets.items():
        merged[name] = {**merged.get(name, {}), **table} if isinstance(table, Mapping) else table
    return merged
