"""The bot's voice on Twitch: one line is posted once, and what came of it is said in our words."""

from collections.abc import Callable
from typing import Literal

import aiohttp
import structlog
import twitchio

from bot.speak import Delivery

log = structlog.get_logger(__name__)
_SERVER = 500
_UNALLOWED = frozenset({400, 401, 403})


class TwitchVoice:
    """Posts as the bot, with the bot's own token; `as_app`: with the application's, until Twitch does not let it."""

    def __init__(
        self, channel: twitchio.PartialUser, bot_id: str, *, has_token: Callable[[], bool], as_app: bool = False
    ) -> None:
        """Take where to post and as whom."""
        self._has_token = has_token
        self._as_app = as_app
        self._channel = channel
        self._bot_id = bot_id

    async def say(self, text: str, reply_to: str | None) -> Delivery:
        """Post once. What may have arrived although the answer did not is `ambiguous`."""
        if not self._has_token():
            return Delivery(state="failed", reason="token_ended")
        try:
            sent = await self._sent(text, reply_to)
        except twitchio.MessageRejectedError as error:
            return Delivery(state="failed", reason=error.code or "rejected")
        except twitchio.HTTPException as error:
            state: Literal["ambiguous", "failed"] = "ambiguous" if error.status >= _SERVER else "failed"
            return Delivery(state=state, reason=f"http_{error.status}")
        except aiohttp.ClientConnectorError:
            return Delivery(state="failed", reason="unreachable")
        except (aiohttp.ClientError, TimeoutError) as error:
            return Delivery(state="ambiguous", reason=type(error).__name__)
        return Delivery(state="sent", id=sent.id) if sent.sent else Delivery(state="failed", reason="not_sent")

    async def _sent(self, text: str, reply_to: str | None) -> twitchio.SentMessage:
        if self._as_app:
            try:
                return await self._channel.send_message(
                    text, sender=self._bot_id, reply_to_message_id=reply_to, source_only=True
                )
            except twitchio.HTTPException as error:
                if error.status not in _UNALLOWED:
                    raise
                self._as_app = False  # what was refused was not posted
                log.warning(
                    "app_may_not_post", status=error.status, degraded="the bot writes with its own token, without a badge"
                )
        return await self._channel.send_message(text, sender=self._bot_id, token_for=self._bot_id, reply_to_message_id=reply_to)
