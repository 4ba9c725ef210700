"""TwitchIO's errors become ours: what passes, what is refused, what has ended. Their texts hold secrets, and are dropped."""

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import twitchio

from bot.live_errors import TwitchRefused, TwitchUnreachable

_UNAUTHORISED, _TOO_MANY, _SERVER = 401, 429, 500
ENDED = "the bot's token has ended and Twitch will not refresh it; run `ricordo login`"
NO_ANSWER = (twitchio.TwitchioException, aiohttp.ClientError, TimeoutError)  # of a question that the bot can do without


@contextmanager
def our_errors(doing: str, *, passing: frozenset[int] = frozenset()) -> Iterator[None]:
    """Turn TwitchIO's errors into ours; of `passing` statuses another attempt may do better.

    Raises:
        TwitchRefused, TwitchUnreachable: in place of theirs, without their texts and causes.
    """
    try:
        yield
    except twitchio.InvalidTokenException as error:
        if passes(error.status):
            raise _later(doing, error.status) from None
        msg = "Twitch does not accept the bot's token and will not refresh it; run `ricordo login` to give it a new one"
        raise TwitchRefused(msg) from None
    except twitchio.HTTPException as error:
        if passes(error.status) or error.status in passing:
            raise _later(doing, error.status) from None
        if ended(error):
            raise TwitchRefused(ENDED) from None
        msg = (
            f"Twitch refused to {doing} (HTTP {error.status}); check client id and secret, and run `ricordo login` "
            "where the bot's token has ended or lacks a permission; where the channel has banned the bot, unban it"
        )
        raise TwitchRefused(msg) from None
    except (aiohttp.ClientError, TimeoutError, twitchio.TwitchioException) as error:
        msg = f"Twitch did not answer the attempt to {doing} ({type(error).__name__}); check the network and try again"
        raise TwitchUnreachable(msg) from None


def ended(error: twitchio.HTTPException) -> bool:
    """Return whether a call failed because the token has ended: it was not taken, or its refresh was refused."""
    refresh = error.route is not None and error.route.params.get("grant_type") == "refresh_token"
    return error.status == _UNAUTHORISED or (refresh and not passes(error.status))


def passes(status: int) -> bool:
    """Return whether a status promises to be another one later."""
    return status >= _SERVER or status == _TOO_MANY


def _later(doing: str, status: int) -> TwitchUnreachable:
    return TwitchUnreachable(f"Twitch could not {doing} (HTTP {status}); try again later")
