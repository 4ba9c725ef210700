"""What `ricordo doctor` looks at on Twitch: the token and whose it is, permissions, clock, channel, moderator, subscriptions.

It asks and changes nothing: above all it renews no token, for the running bot lives on the same one.
"""

import os
import stat
from datetime import datetime

from bot.account import TwitchSettings, wanted_types
from bot.app import twitch_settings
from bot.cli.checks import Finding
from bot.live_errors import LiveError, TwitchRefused
from bot.oauth import Holder, TwitchAccounts
from bot.scopes import MODERATED, missing_scopes
from bot.tokens import TokenPair, load_tokens
from config.settings import Settings
from memory import Clock

CLOCK_SECONDS = 60.0  # what Twitch says is exact to a second, and has travelled
HOUR = 3600.0


async def check_twitch(settings: Settings, clock: Clock) -> list[Finding]:
    """Look at the account as far as it is configured and Twitch answers."""
    if (unready := _unready(settings)) is not None:
        return [unready]
    found: list[Finding] = []
    try:
        async with TwitchAccounts(twitch_settings(settings)) as accounts:
            await _look(accounts, settings, clock, found)
    except LiveError as error:
        found.append(Finding(what="Twitch", state="wrong", text=str(error)))
    return found


async def _look(accounts: TwitchAccounts, settings: Settings, clock: Clock, found: list[Finding]) -> None:
    configured = twitch_settings(settings)
    stored = load_tokens(configured.token_file)
    pair = stored.get("bot") or TokenPair(access=configured.access_token, refresh=configured.refresh_token)
    holder = await accounts.holder(pair.access)
    if holder is None:
        found.append(_run_out(pair))
        return
    found += [_token(configured, holder), _permissions(holder), _clock(holder, clock.now())]
    if holder.client_id == configured.client_id:  # else every question is refused
        found += await _in_channel(accounts, settings, holder, pair.access)
    found += await _broadcaster(accounts, configured, stored)


def _unready(settings: Settings) -> Finding | None:
    chosen = settings.twitch
    tokens = settings.storage.data_dir / chosen.token_file
    if tokens.exists() and os.name == "posix" and stat.S_IMODE(tokens.stat().st_mode) & 0o077:
        text = f"others on this machine can read {tokens}"
        return Finding(what="Twitch", state="wrong", text=text, advice=f"chmod 600 {tokens}")
    if not (chosen.client_id and chosen.channel):
        missing = [name for name in ("client_id", "channel") if not getattr(chosen, name)]
        text = f"no account: {', '.join(f'twitch.{name}' for name in missing)} missing; `ricordo run` plays the bundled chat"
        return Finding(what="Twitch", state="note", text=text, advice="`ricordo setup` connects one, step by step")
    if not (tokens.exists() or chosen.access_token.get_secret_value()):
        text = f"#{chosen.channel} is configured, but the bot's account is not connected"
        return Finding(what="Twitch", state="wrong", text=text, advice="run `ricordo login`")
    return None


def _run_out(pair: TokenPair) -> Finding:
    if pair.refresh:
        text = "the token has run out; the bot renews it when it starts"
        return Finding(what="Twitch", state="note", text=text, advice="where `ricordo run` says it cannot: run `ricordo login`")
    return Finding(what="Twitch", state="wrong", text="the token has ended", advice="run `ricordo login`")


def _token(configured: TwitchSettings, holder: Holder) -> Finding:
    if configured.bot and holder.login.casefold() != configured.bot:
        text = f"the token belongs to {holder.login}, the configuration names {configured.bot} as the bot"
        return Finding(what="Twitch", state="wrong", text=text, advice=f"run `ricordo login` as {configured.bot}")
    if holder.client_id != configured.client_id:
        text = "the token was given to another application than the one in twitch.client_id"
        return Finding(what="Twitch", state="wrong", text=text, advice="mend twitch.client_id, or run `ricordo login`")
    text = f"{holder.login} is connected; its token lives {holder.expires_seconds / HOUR:.1f} hours more and is then renewed"
    return Finding(what="Twitch", state="ok", text=text)


def _permissions(holder: Holder) -> Finding:
    if missing := missing_scopes("bot", holder.scopes):
        text = f"not granted: {', '.join(missing)}"
        return Finding(what="permissions", state="wrong", text=text, advice="run `ricordo login` again and allow them")
    return Finding(what="permissions", state="ok", text=", ".join(holder.scopes))


def _clock(holder: Holder, now: datetime) -> Finding:
    if holder.at is None:
        return Finding(what="clock", state="note", text="Twitch did not say what time it is")
    off = (now - holder.at).total_seconds()
    if abs(off) <= CLOCK_SECONDS:
        return Finding(what="clock", state="ok", text="agrees with Twitch's")
    text = f"this machine is {abs(off):,.0f} seconds {'ahead of' if off > 0 else 'behind'} Twitch"
    return Finding(what="clock", state="wrong", text=text, advice="switch on the automatic setting of the clock (NTP)")


async def _in_channel(accounts: TwitchAccounts, settings: Settings, holder: Holder, access: str) -> list[Finding]:
    configured = twitch_settings(settings)
    users = await accounts.helix("users", {"login": configured.channel}, access)
    if not users:
        advice = "write the name as it stands in the channel's address, after twitch.tv/"
        text = f"Twitch knows no channel called {configured.channel}"
        return [Finding(what="channel", state="wrong", text=text, advice=advice)]
    home = str(users[0]["id"])
    found = [Finding(what="channel", state="ok", text=f"#{configured.channel} exists")]
    found.append(await _moderator(accounts, settings, holder, home=home, access=access))
    return [*found, await _subscriptions(accounts, configured, home, access)]


async def _moderator(accounts: TwitchAccounts, settings: Settings, holder: Holder, *, home: str, access: str) -> Finding:
    if holder.id == home:
        text = "the bot is the broadcaster; an account of its own tells its words from yours"
        return Finding(what="moderator", state="note", text=text)
    if MODERATED not in holder.scopes:
        text = "not known: the bot may not ask"
        return Finding(what="moderator", state="note", text=text, advice="`ricordo login` without --minimal asks for it")
    try:
        moderated = await accounts.helix("moderation/channels", {"user_id": holder.id, "first": "100"}, access)
    except TwitchRefused as error:
        return Finding(what="moderator", state="note", text=str(error))
    if any(channel["broadcaster_id"] == home for channel in moderated):
        more = "" if settings.manners.messages_per_window > 20 else "; manners.messages_per_window may be 100"  # noqa: PLR2004 - the default
        return Finding(what="moderator", state="ok", text=f"the bot is a moderator{more}")
    text = "the bot is none: 20 messages in 30 seconds, and slow mode or followers-only hold for it too"
    return Finding(
        what="moderator", state="note", text=text, advice=f"where you want more: write /mod {holder.login} in your chat"
    )


async def _subscriptions(accounts: TwitchAccounts, configured: TwitchSettings, home: str, access: str) -> Finding:
    held = await accounts.helix("eventsub/subscriptions", {"status": "enabled"}, access)
    live = {str(one["type"]) for one in held if (one.get("condition") or {}).get("broadcaster_user_id") == home}
    required, optional = wanted_types(configured)
    if not live & required:
        return Finding(
            what="subscriptions", state="note", text="none: the bot is not live now", advice="`ricordo run` starts it"
        )
    if missing := required - live:
        text = f"the running bot does not hear: {', '.join(sorted(missing))}"
        advice = "its watchdog mends this within a minute; where it does not: start the bot anew"
        return Finding(what="subscriptions", state="wrong", text=text, advice=advice)
    if missing := optional - live:
        text = f"the bot is live; not heard: {', '.join(sorted(missing))}"
        advice = "its log says why (subscription_refused)"
        return Finding(what="subscriptions", state="note", text=text, advice=advice)
    return Finding(
        what="subscriptions", state="ok", text=f"the bot is live and hears all {len(required | optional)} kinds of event"
    )


async def _broadcaster(accounts: TwitchAccounts, configured: TwitchSettings, stored: dict[str, TokenPair]) -> list[Finding]:
    pair = stored.get("broadcaster")
    holder = await accounts.holder(pair.access) if pair else None
    if holder is None:
        return []  # not connected, or run out: the bot needs no token of the broadcaster
    if holder.login.casefold() != configured.channel:
        text = f"the broadcaster's token belongs to {holder.login}, not to {configured.channel}"
        return [Finding(what="broadcaster", state="wrong", text=text, advice="`ricordo login --broadcaster`")]
    return [Finding(what="broadcaster", state="ok", text=f"{holder.login} is connected: {', '.join(holder.scopes)}")]
