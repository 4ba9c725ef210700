"""What `ricordo doctor` looks at on Twitch: the token and whose it is, permissions, clock, channel, moderator, subscriptions.

It asks and changes nothing: above all it renews no token, for the running bot lives on the same one.
"""

import os
import stat
from datetime import datetime

from bot.account import TwitchSettings, wanted_types
from bot.app import twitch_settings
from bot.cli.findings import Finding, found
from bot.live_errors import LiveError, TwitchRefused
from bot.oauth import Holder, TwitchAccounts
from bot.scopes import AS_BOT, MODERATED, missing_scopes
from bot.tokens import TokenPair, load_tokens
from config.settings import Settings
from memory import Clock

CLOCK_SECONDS = 60.0  # what Twitch says is exact to a second, and has travelled
HOUR = 3600.0
FEW_POSTS = 20  # in 30 seconds: what Twitch takes of whoever is no moderator


async def check_twitch(settings: Settings, clock: Clock) -> list[Finding]:
    """Look at the account as far as it is configured and Twitch answers."""
    if (unready := _unready(settings)) is not None:
        return [unready]
    findings: list[Finding] = []
    try:
        async with TwitchAccounts(twitch_settings(settings)) as accounts:
            await _look(accounts, settings, clock, findings)
    except LiveError as error:
        findings.append(
            found("twitch.failed", "wrong", reason=lambda language, error=error: error.it if language == "it" else str(error))
        )
    return findings


async def _look(accounts: TwitchAccounts, settings: Settings, clock: Clock, findings: list[Finding]) -> None:
    configured = twitch_settings(settings)
    stored = load_tokens(configured.token_file)
    pair = stored.get("bot") or TokenPair(access=configured.access_token, refresh=configured.refresh_token)
    holder = await accounts.holder(pair.access)
    if holder is None:
        findings.append(_run_out(pair))
        return
    findings += [_token(configured, holder), _permissions(holder), _clock(holder, clock.now())]
    if holder.client_id == configured.client_id:  # else every question is refused
        findings += await _in_channel(accounts, settings, holder, pair.access)
    findings += await _broadcaster(accounts, configured, stored, holder.scopes)


def _unready(settings: Settings) -> Finding | None:
    chosen = settings.twitch
    tokens = settings.storage.data_dir / chosen.token_file
    if tokens.exists() and os.name == "posix" and stat.S_IMODE(tokens.stat().st_mode) & 0o077:
        return found("twitch.readable", "wrong", file=tokens)
    if missing := [name for name in ("client_id", "channel") if not getattr(chosen, name)]:
        return found("twitch.none", "note", names=", ".join(f"twitch.{name}" for name in missing))
    if not (tokens.exists() or chosen.access_token.get_secret_value()):
        return found("twitch.unconnected", "wrong", channel=chosen.channel)
    return None


def _run_out(pair: TokenPair) -> Finding:
    return found("twitch.run_out", "note") if pair.refresh else found("twitch.ended", "wrong")


def _token(configured: TwitchSettings, holder: Holder) -> Finding:
    if configured.bot and holder.login.casefold() != configured.bot:
        return found("twitch.another", "wrong", login=holder.login, bot=configured.bot)
    if holder.client_id != configured.client_id:
        return found("twitch.application", "wrong")
    return found("twitch.fine", login=holder.login, hours=holder.expires_seconds / HOUR)


def _permissions(holder: Holder) -> Finding:
    if missing := missing_scopes("bot", holder.scopes):
        return found("permissions.missing", "wrong", names=", ".join(missing))
    return found("permissions.fine", names=", ".join(holder.scopes))


def _clock(holder: Holder, now: datetime) -> Finding:
    if holder.at is None:
        return found("clock.unknown", "note")
    off = (now - holder.at).total_seconds()
    if abs(off) <= CLOCK_SECONDS:
        return found("clock.fine")
    return found("clock.ahead" if off > 0 else "clock.behind", "wrong", seconds=round(abs(off)))


async def _in_channel(accounts: TwitchAccounts, settings: Settings, holder: Holder, access: str) -> list[Finding]:
    configured = twitch_settings(settings)
    users = await accounts.helix("users", {"login": configured.channel}, access)
    if not users:
        return [found("channel.unknown", "wrong", channel=configured.channel)]
    home = str(users[0]["id"])
    findings = [found("channel.fine", channel=configured.channel)]
    findings.append(await _moderator(accounts, settings, holder, home=home, access=access))
    return [*findings, await _subscriptions(accounts, configured, home, access)]


async def _moderator(accounts: TwitchAccounts, settings: Settings, holder: Holder, *, home: str, access: str) -> Finding:
    if holder.id == home:
        return found("moderator.broadcaster", "note")
    if MODERATED not in holder.scopes:
        return found("moderator.unasked", "note")
    try:
        moderated = await accounts.helix("moderation/channels", {"user_id": holder.id, "first": "100"}, access)
    except TwitchRefused as error:
        return found("moderator.refused", "note", reason=str(error))
    if any(channel["broadcaster_id"] == home for channel in moderated):
        return found("moderator.fine" if settings.manners.messages_per_window > FEW_POSTS else "moderator.slow")
    return found("moderator.none", "note", login=holder.login)


async def _subscriptions(accounts: TwitchAccounts, configured: TwitchSettings, home: str, access: str) -> Finding:
    held = await accounts.helix("eventsub/subscriptions", {"status": "enabled"}, access)
    live = {str(one["type"]) for one in held if (one.get("condition") or {}).get("broadcaster_user_id") == home}
    required, optional = wanted_types(configured)
    if not live & required:
        return found("subscriptions.none", "note")
    if missing := required - live:
        return found("subscriptions.deaf", "wrong", names=", ".join(sorted(missing)))
    if missing := optional - live:
        return found("subscriptions.partly", "note", names=", ".join(sorted(missing)))
    return found("subscriptions.fine", count=len(required | optional))


async def _broadcaster(
    accounts: TwitchAccounts, configured: TwitchSettings, stored: dict[str, TokenPair], scopes: tuple[str, ...]
) -> list[Finding]:
    pair = stored.get("broadcaster")
    holder = await accounts.holder(pair.access) if pair else None
    if holder is None:
        return []  # not connected, or run out: what the broadcaster granted lives on without its token
    if holder.login.casefold() != configured.channel:
        return [found("broadcaster.another", "wrong", login=holder.login, channel=configured.channel)]
    if not configured.client_secret:
        return [found("broadcaster.unused", "note", login=holder.login)]
    if AS_BOT not in scopes:
        return [found("broadcaster.half", "note", login=holder.login, bot=configured.bot)]
    return [found("broadcaster.fine", login=holder.login, names=", ".join(holder.scopes))]
