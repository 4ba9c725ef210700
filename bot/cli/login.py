"""`ricordo login` and `ricordo logout`: the accounts' tokens, asked for on Twitch's own page and kept for their owner alone."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bot.app import twitch_settings
from bot.cli.language import LanguageOption, chosen
from bot.cli.login_texts import Language, say
from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, out
from bot.live_errors import LiveError
from bot.login import REDIRECT_SECONDS, Wanted, log_in_by_device, log_in_by_redirect, log_out
from bot.oauth import DeviceCode, TwitchAccounts
from bot.scopes import Role, scopes_of
from bot.tokens import fingerprint, load_tokens
from config.settings import Settings, load_settings


def login_command(
    *,
    broadcaster: Annotated[
        bool, typer.Option("--broadcaster", help="Connect the channel's own account, not the bot's.")
    ] = False,
    redirect: Annotated[
        bool | None,
        typer.Option(
            "--redirect/--device", help="By a browser of this machine, or by a code (default: what fits the account)."
        ),
    ] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="Ask for nothing but what the bot cannot do without.")] = False,
    language: LanguageOption = "",
    config: ConfigOption = None,
) -> None:
    """Connect the bot's account to Twitch: prints an address and a code, and waits until you have entered it there.

    Example: ricordo login
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    spoken = chosen(language, settings)
    log_in(settings, "broadcaster" if broadcaster else "bot", language=spoken, redirect=redirect, minimal=minimal)


def logout_command(*, language: LanguageOption = "", config: ConfigOption = None) -> None:
    """Withdraw the permissions from Twitch and delete the tokens.

    Example: ricordo logout
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    configured, spoken = twitch_settings(settings), chosen(language, settings)
    if not load_tokens(configured.token_file):
        out.print(say("nobody", spoken, file=configured.token_file), markup=False)
        return

    async def leave() -> dict[str, bool]:
        async with TwitchAccounts(configured) as accounts:
            return await log_out(accounts, configured.token_file)

    for role, known in asyncio.run(leave()).items():
        out.print(say("logged_out" if known else "had_ended", spoken, role=say(role, spoken)), markup=False)
    if configured.access_token:
        out.print(say("still_configured", spoken), markup=False)


def log_in(settings: Settings, role: Role, *, language: Language, redirect: bool | None = None, minimal: bool = False) -> None:
    """Log one account in, telling the person what to do meanwhile.

    Raises:
        CommandFailed: the configuration does not say which account.
        LiveError: it came to nothing.
    """
    wanted = _wanted(settings, role, minimal=minimal)
    if not wanted.scopes:
        raise CommandFailed(say("broadcaster_not_needed", language), Exit.USAGE)
    # The code needs no secret; a redirect does, and is for who sits at this machine.
    by_page = bool(settings.twitch.client_secret.get_secret_value()) and role == "broadcaster" if redirect is None else redirect
    if by_page and not settings.twitch.client_secret.get_secret_value():
        msg = "--redirect needs the client secret (RICORDO_TWITCH__CLIENT_SECRET); --device does not"
        raise CommandFailed(msg, Exit.USAGE)

    async def enter() -> str:
        async with TwitchAccounts(twitch_settings(settings)) as accounts:
            if by_page:
                port = settings.twitch.redirect_port
                told = _Telling(wanted, language)
                return (await log_in_by_redirect(accounts, wanted, told.page, port=port)).login
            return (await log_in_by_device(accounts, wanted, _Telling(wanted, language).code)).login

    try:
        login = asyncio.run(enter())
    except LiveError as error:
        raise type(error)(error.it if language == "it" else str(error)) from None
    out.print(say("connected", language, login=login, file=wanted.token_file), markup=False)


class _Telling:
    """Prints what a person has to do."""

    def __init__(self, wanted: Wanted, language: Language) -> None:
        self._wanted = wanted
        self._language: Language = language

    def code(self, device: DeviceCode) -> None:
        self._steps("device", device.address)
        self._line("code", code=device.user_code)
        self._allow(device.lives_seconds)

    def page(self, address: str) -> None:
        self._steps("redirect", address)
        self._allow(REDIRECT_SECONDS)

    def _steps(self, way: str, address: str) -> None:
        self._line(way, role=say(self._wanted.role, self._language))
        self._line("open", address=address)
        self._line("sign_in")

    def _allow(self, seconds: float) -> None:
        self._line("allow")
        for scope in scopes_of(self._wanted.role):
            if scope.name in self._wanted.scopes:
                out.print(f"     {scope.name:<30} {scope.why[self._language]}", markup=False)
        self._line("waiting", minutes=round(seconds / 60))

    def _line(self, name: str, **values: object) -> None:
        out.print(say(name, self._language, login=self._wanted.login, **values), markup=False)


def _wanted(settings: Settings, role: Role, *, minimal: bool) -> Wanted:
    configured = twitch_settings(settings)
    login, key = (configured.bot, "twitch.bot") if role == "bot" else (configured.channel, "twitch.channel")
    for name, value in (("twitch.client_id", configured.client_id), (key, login)):
        if not value:
            raise CommandFailed(f"{name} is not set: write it into ricordo.toml, or let `ricordo setup` do so", Exit.USAGE)
    return Wanted(
        role=role,
        login=login,
        scopes=tuple(scope.name for scope in scopes_of(role, minimal=minimal, secret=bool(configured.client_secret))),
        client_id=configured.client_id,
        token_file=Path(configured.token_file),
        origin=fingerprint(configured.access_token),
    )
