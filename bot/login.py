"""Logging an account in and out: a grant is asked for, checked for whose it is, and kept, or ended at once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bot.live_errors import LiveError, LoginFailed, TwitchUnreachable
from bot.loopback import Loopback
from bot.oauth import DeviceCode, Grant, Holder, TwitchAccounts
from bot.scopes import Role, missing_scopes
from bot.tokens import TokenPair, drop_tokens, load_tokens, save_tokens

CONNECTIONS = "https://www.twitch.tv/settings/connections"
REDIRECT_SECONDS = 600.0
ROLES_IT: dict[Role, str] = {"bot": "bot", "broadcaster": "streamer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which account is to be logged in, as what, and where its tokens are kept."""

    role: Role
    login: str
    scopes: tuple[str, ...]
    client_id: str
    token_file: Path
    origin: str = ""  # fingerprint of the configured access token, so that it does not go before what is kept


async def log_in_by_device(accounts: TwitchAccounts, wanted: Wanted, tell: Callable[[DeviceCode], None]) -> Holder:
    """Have a code entered on another page, wait, and keep the tokens; return who logged in.

    Raises:
        LoginFailed: denied, too late, or another account.
        TwitchRefused, TwitchUnreachable: Twitch gives no code.
    """
    load_tokens(wanted.token_file)  # an unusable file is told before anybody is bothered
    device = await accounts.device_code(wanted.scopes)
    tell(device)
    try:
        async with asyncio.timeout(device.lives_seconds):
            grant = await _polled(accounts, device, wanted.scopes)
    except TimeoutError:
        msg = "nobody entered the code in time; run the login again for a new one"
        raise LoginFailed(
            msg, it="nessuno ha scritto il codice in tempo; esegui di nuovo il login per averne uno nuovo"
        ) from None
    return await _accepted(accounts, wanted, grant)


async def log_in_by_redirect(
    accounts: TwitchAccounts, wanted: Wanted, tell: Callable[[str], None], *, port: int, seconds: float = REDIRECT_SECONDS
) -> Holder:
    """Have a page opened in a browser of this machine, wait for it to come back, and keep the tokens; return who logged in.

    Raises:
        LoginFailed: denied, too late, the port is taken, or another account.
        TwitchRefused, TwitchUnreachable: Twitch does not exchange the code.
    """
    load_tokens(wanted.token_file)
    async with Loopback(port) as loopback:
        tell(accounts.page(loopback.redirect, wanted.scopes, loopback.state))
        code = await loopback.code(seconds)
    grant = await accounts.exchange(code, loopback.redirect)
    return await _accepted(accounts, wanted, grant)


async def log_out(accounts: TwitchAccounts, token_file: Path) -> dict[str, bool]:
    """End every token of the file, then delete it; return by role whether Twitch still knew one.

    Raises:
        TwitchUnreachable: Twitch does not answer; the roles that were not ended are still in the file.
    """
    ended: dict[str, bool] = {}
    stored = load_tokens(token_file)
    for role, pair in list(stored.items()):
        ended[role] = await _ended(accounts, pair)
        del stored[role]
        if stored:
            save_tokens(token_file, stored)
    drop_tokens(token_file)
    return ended


async def _polled(accounts: TwitchAccounts, device: DeviceCode, scopes: tuple[str, ...]) -> Grant:
    interval = device.interval_seconds
    while True:
        await asyncio.sleep(interval)
        try:
            grant = await accounts.poll(device, scopes)
        except TwitchUnreachable:
            interval = min(2 * interval, 60.0)  # an outage, or too many questions: the code lives on meanwhile
            continue
        if grant is not None:
            return grant


async def _accepted(accounts: TwitchAccounts, wanted: Wanted, grant: Grant) -> Holder:
    try:
        holder = _checked(wanted, await accounts.holder(grant.access))
        pair = TokenPair(access=grant.access, refresh=grant.refresh, origin=wanted.origin)
        save_tokens(wanted.token_file, {**load_tokens(wanted.token_file), wanted.role: pair})
    except (LiveError, OSError) as error:
        ended = await _quietly(accounts.revoke(grant.access))
        if isinstance(error, LoginFailed) and not ended:
            still = f"{error.it}. Il permesso non si è potuto ritirare: fallo su {CONNECTIONS}"
            raise LoginFailed(f"{error}. The permission could not be withdrawn: do so at {CONNECTIONS}", it=still) from None
        raise
    return holder


def _checked(wanted: Wanted, holder: Holder | None) -> Holder:
    if holder is None or holder.client_id != wanted.client_id:
        msg = "Twitch gave a token that it does not know; run the login again"
        raise LoginFailed(msg, it="Twitch ha dato un token che non conosce; esegui di nuovo il login")
    if holder.login.casefold() != wanted.login.casefold():
        msg = (
            f"{holder.login or 'no account'} was signed in on the Twitch page, but the configuration names {wanted.login} as "
            f"the {wanted.role}; nothing was kept. Sign in as {wanted.login}, a private window helps, and run the login again"
        )
        told = (
            f"sulla pagina di Twitch era entrato {holder.login or 'nessun account'}, ma la configurazione indica "
            f"{wanted.login} come {ROLES_IT[wanted.role]}; non è stato tenuto nulla. Entra come {wanted.login}, aiuta una "
            "finestra anonima, ed esegui di nuovo il login"
        )
        raise LoginFailed(msg, it=told)
    if missing := missing_scopes(wanted.role, holder.scopes):
        names = ", ".join(missing)
        raise LoginFailed(
            f"these permissions were not granted: {names}; nothing was kept. Run the login again",
            it=f"questi permessi non sono stati concessi: {names}; non è stato tenuto nulla. Esegui di nuovo il login",
        )
    return holder


async def _ended(accounts: TwitchAccounts, pair: TokenPair) -> bool:
    if await accounts.revoke(pair.access):
        return True
    renewed = await accounts.refresh(pair.refresh) if pair.refresh else None  # else the refresh token would live on
    return await accounts.revoke(renewed.access) if renewed else False


async def _quietly(revoking: Awaitable[bool]) -> bool:
    with contextlib.suppress(LiveError):
        return await revoking
    return False
