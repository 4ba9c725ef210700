"""Which language a command speaks: the one that was asked for, the one that is configured, or the machine's."""

from typing import Annotated

import typer

from bot.cli.login_texts import Language, language_of
from bot.cli.shell import CommandFailed, Exit
from config.settings import Settings

LanguageOption = Annotated[
    str,
    typer.Option(
        "--language",
        help="it or en (default: commands.language where it is set, else that of the machine).",
        show_default=False,
    ),
]


def chosen(language: str, settings: Settings | None = None) -> Language:
    """Return the language that was asked for, or the configured one, or the machine's.

    Raises:
        CommandFailed: it is none that is spoken here.
    """
    if language and language not in {"it", "en"}:
        raise CommandFailed(f"--language is it or en, not {language!r}", Exit.USAGE)
    if language:
        return "it" if language == "it" else "en"
    if settings is not None and "language" in settings.commands.model_fields_set:
        return settings.commands.language
    return language_of()
