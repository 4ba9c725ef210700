"""`ricordo config`: write, check and show the configuration."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from config.settings import DEFAULT_FILE, load_settings

app = typer.Typer(no_args_is_help=True, help="Write, check and show the configuration.")


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = DEFAULT_FILE,
    *,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
) -> None:
    """Write a configuration file with every setting, its default and its comment.

    Example: ricordo config init
    """
    if path.exists() and not force:
        raise CommandFailed(f"{path} exists already. Add --force to overwrite it.", Exit.USAGE)
    try:
        path.write_text(files("config").joinpath("defaults.toml").read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}", Exit.FAILED) from None
    out.print(f"wrote {path}: edit it, then run `ricordo config check`")


@app.command()
def check(config: ConfigOption = None) -> None:
    """Say whether the configuration can be used, and what is wrong with it.

    Example: ricordo config check --config ricordo.toml
    """
    load_settings(config)
    out.print("the configuration is fine")


@app.command()
def show(config: ConfigOption = None, *, as_json: JsonOption = False) -> None:
    """Print every setting in force; secrets are masked.

    Example: ricordo config show
    """
    settings = load_settings(config).model_dump(mode="json")
    if as_json:
        print_json(settings)
        return
    for section, table in settings.items():
        out.print(f"\n[bold]\\[{section}][/]")
        for key, value in table.items():
            out.print(
                f"# {key} is not set" if value is None else f"{key} = {json.dumps(value, ensure_ascii=False)}", markup=False
            )
