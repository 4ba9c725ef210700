"""What `ricordo run` says to whoever started it on a terminal."""

from io import StringIO

import pytest
from builders_live import BOT, HOME
from rich.console import Console

from bot.account import Account
from bot.cli import announce
from config.chat_sections import Commands
from config.sections import Manners
from config.settings import Settings

ACCOUNT = Account(channel=HOME, bot=BOT, stream=None)


def said(monkeypatch: pytest.MonkeyPatch, settings: Settings, *, terminal: bool = True) -> str:
    shown = StringIO()
    monkeypatch.setattr(announce, "out", Console(file=shown, force_terminal=terminal, color_system=None, width=200))
    announce.Announcer(settings)(ACCOUNT)
    return shown.getvalue()


def test_a_person_hears_that_the_bot_is_live_where_and_how_to_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(monkeypatch, Settings(commands=Commands(language="en"))).splitlines()
    assert lines[0] == "connecting to Twitch …"
    assert lines[1].startswith("Ricordo_Bot is live in #casa. Ctrl+C stops it")
    assert len(lines) == 2
    dry = said(monkeypatch, Settings(commands=Commands(language="it"), manners=Manners(dry_run=True)))
    assert "Ricordo_Bot è in diretta su #casa. Ctrl+C lo ferma" in dry
    assert "manners.dry_run è attivo" in dry


def test_a_supervisor_gets_the_log_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, Settings(), terminal=False) == ""
