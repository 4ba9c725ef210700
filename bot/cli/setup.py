"""`ricordo setup`: asks a streamer what must be known, writes the configuration, connects the account, looks at everything."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.dialogue import Dialogue, address, client_id, twitch_name, words
from bot.cli.doctor import examined, show
from bot.cli.language import LanguageOption, chosen
from bot.cli.login import log_in
from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, out
from bot.live_errors import LiveError
from bot.tokens import write_private
from config.settings import DEFAULT_FILE, Settings, load_settings
from config.write import new_file, new_secrets_file, with_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A kind of language model: where it is asked, what its models are called like, whether it wants a key."""

    base_url: str
    example: str
    key: bool


ENDPOINTS = {
    "2": Endpoint(base_url="http://127.0.0.1:11434/v1", example="qwen3:8b, gemma3:12b", key=False),
    "3": Endpoint(base_url="http://127.0.0.1:1234/v1", example="qwen3-8b", key=False),
    "4": Endpoint(base_url="https://api.openai.com/v1", example="gpt-4o-mini", key=True),
    "5": Endpoint(base_url="https://openrouter.ai/api/v1", example="mistralai/mistral-small-3.2-24b-instruct", key=True),
    "6": Endpoint(base_url="", example="…", key=True),
}
NO_MODEL = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What is to be written, by (section, key)."""

    plain: Mapping[tuple[str, str], str]
    secret: Mapping[tuple[str, str], str] = field(repr=False)


def setup_command(
    *,
    language: LanguageOption = "",
    force: Annotated[
        bool, typer.Option("--force", help="Write the configuration anew; the former file is kept beside.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Set the bot up, step by step: Twitch, the language model, the configuration, the login; then look at everything.

    Example: ricordo setup
    """
    path = config or Path(os.environ.get("RICORDO_CONFIG") or DEFAULT_FILE)
    former = load_settings(path) if path.is_file() and not force else Settings()
    set_up_logs(former.log, default="error")
    talk = Dialogue(chosen(language, former))
    if not language:
        talk.language = chosen(talk.ask("language", _language, default=talk.language))
    talk.tell("welcome")
    answers = _answers(talk, former)
    written = _written(path, answers.plain, force=force)
    talk.written = True
    secrets = _write_secrets(path, answers.secret) if answers.secret else None
    for name, values in written:
        talk.tell(name, **values)
    if secrets is not None:
        talk.tell("wrote_secrets", path=secrets)
    settings = load_settings(path)
    _connect(talk, settings)
    talk.tell("doctor")
    findings = examined(settings)
    show(findings, talk.language)
    if any(finding.state == "wrong" for finding in findings):
        talk.tell("end_wrong")
        raise typer.Exit(Exit.FAILED)
    talk.tell("end", bot=settings.twitch.bot)


def _answers(talk: Dialogue, former: Settings) -> Answers:
    twitch = former.twitch
    plain: dict[tuple[str, str], str] = {}
    secret: dict[tuple[str, str], str] = {}
    talk.tell("channel_why")
    plain["twitch", "channel"] = talk.ask("channel", twitch_name, default=twitch.channel)
    talk.tell("bot_why")
    plain["twitch", "bot"] = talk.ask("bot", twitch_name, default=twitch.bot)
    talk.tell("console", redirect=f"http://localhost:{twitch.redirect_port}")
    plain["twitch", "client_id"] = talk.ask("client_id", client_id, default=twitch.client_id)
    if talk.agrees("confidential", default=bool(twitch.client_secret.get_secret_value())):
        secret["twitch", "client_secret"] = talk.secret("client_secret")
    plain |= {("commands", "language"): talk.language, ("budget", "language"): talk.language}
    _ask_for_model(talk, former, plain, secret)
    return Answers(plain=plain, secret={place: value for place, value in secret.items() if value})


def _ask_for_model(
    talk: Dialogue, former: Settings, plain: dict[tuple[str, str], str], secret: dict[tuple[str, str], str]
) -> None:
    talk.tell("llm_why")
    llm = former.llm
    known = {endpoint.base_url: number for number, endpoint in ENDPOINTS.items()}
    number = talk.ask("llm", _number, default=known.get(llm.base_url, "6") if llm.base_url else NO_MODEL)
    if number == NO_MODEL:
        if llm.base_url:
            plain |= {("llm", "base_url"): "", ("llm", "model"): ""}
        return
    endpoint = ENDPOINTS[number]
    same = endpoint.base_url in {"", llm.base_url}
    default = endpoint.base_url or llm.base_url
    plain["llm", "base_url"] = talk.ask("base_url", address, default=default)
    plain["llm", "model"] = talk.ask("model", words, default=llm.model if same else "", example=endpoint.example)
    if endpoint.key:
        secret["llm", "api_key"] = talk.secret("api_key")


def _written(path: Path, values: Mapping[tuple[str, str], str], *, force: bool) -> list[tuple[str, dict[str, object]]]:
    """Write the configuration; return what to tell of it."""
    told: list[tuple[str, dict[str, object]]] = [("wrote", {"path": path})]
    text = new_file({place: value for place, value in values.items() if value})
    if path.is_file() and force:
        old = path.with_name(f"{path.name}.old")
        path.replace(old)
        told.append(("old", {"path": old}))
    elif path.is_file():
        text = with_values(path.read_text(encoding="utf-8-sig"), values, path=path)
        told = [("kept", {"path": path, "names": ", ".join(f"{section}.{key}" for section, key in values)})]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from None
    return told


def _write_secrets(config: Path, values: Mapping[tuple[str, str], str]) -> Path:
    path = Path(os.environ.get("RICORDO_SECRETS") or config.with_name("ricordo.secrets.toml"))
    former = path.read_text(encoding="utf-8-sig") if path.is_file() else new_secrets_file()
    write_private(path, with_values(former, values, path=path))
    return path


def _connect(talk: Dialogue, settings: Settings) -> None:
    if not talk.agrees("login", default=True):
        talk.tell("login_later")
        return
    try:
        log_in(settings, "bot", language=talk.language)
    except LiveError as error:
        talk.tell("login_failed", reason=error)
    out.print()


def _language(given: str) -> tuple[str, str]:
    name = given.casefold()[:2]
    return (name, "") if name in {"it", "en"} else ("", "language_wrong")


def _number(given: str) -> tuple[str, str]:
    return (given, "") if given == NO_MODEL or given in ENDPOINTS else ("", "number_wrong")
