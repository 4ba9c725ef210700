"""The fault script: everything that was seen to go wrong between a bot and Twitch, by name, ready to be played."""

from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Final

from fakes.twitch import FakeTwitch

MESSAGES: Final = "channel.chat.message"
Deed = Callable[[FakeTwitch], Awaitable[None]]


async def _duplicate(fake: FakeTwitch) -> None:
    await fake.chat("eco", "detto una volta", message_id="twice")
    await fake.chat("eco", "detto una volta", message_id="twice")


async def _reorder(fake: FakeTwitch) -> None:
    await fake.chat("eco", "la seconda arriva prima", message_id="later")
    await fake.chat("eco", "la prima arriva dopo", message_id="sooner")


async def _delete_before(fake: FakeTwitch) -> None:
    await fake.delete("eco", "never")
    await fake.chat("eco", "ricordo questo non c'è mai stato", message_id="never")


async def _missing_key(fake: FakeTwitch) -> None:
    await fake.chat("eco", "senza una chiave", without=("channel_points_animation_id",))


async def _token_dies(fake: FakeTwitch) -> None:
    fake.access = f"{fake.access}-next"


async def _slow_down(fake: FakeTwitch) -> None:
    fake.faults.append(429)


async def _overloaded(fake: FakeTwitch) -> None:
    fake.faults.append(503)


async def _held_back(fake: FakeTwitch) -> None:
    fake.faults.append({"is_sent": False, "drop_reason": {"code": "msg_rejected", "message": "held"}})


async def _dropped_silently(fake: FakeTwitch) -> None:
    fake.faults.append({"is_sent": False})


async def _torn(fake: FakeTwitch) -> None:
    begun = fake.sessions_begun
    fake.break_off()
    await fake.reached(lambda: fake.sessions_begun > begun)


async def _closed_unused(fake: FakeTwitch) -> None:
    begun = fake.sessions_begun
    await fake.hang_up(4003)
    await fake.reached(lambda: fake.sessions_begun > begun)


async def _moved(fake: FakeTwitch) -> None:
    begun = fake.sessions_begun
    await fake.move()
    await fake.reached(lambda: fake.sessions_begun > begun)


async def _resubscribe_fails(fake: FakeTwitch) -> None:
    fake.forbidden[MESSAGES] = 500
    fake.break_off()
    await fake.until(lambda: not fake.subscriptions)
    await fake.until(lambda: "stream.offline" in fake.heard_types())
    fake.forbidden.clear()


async def _resubscribe_cut(fake: FakeTwitch) -> None:
    asked = fake.trouble.calls["/helix/eventsub/subscriptions"]
    fake.cut_subscriptions = True
    fake.break_off()
    await fake.until(lambda: not fake.subscriptions)
    await fake.reached(lambda: fake.trouble.calls["/helix/eventsub/subscriptions"] > asked)
    fake.cut_subscriptions = False


async def _revoked(fake: FakeTwitch) -> None:
    await fake.revoke(MESSAGES)


async def _forgotten(fake: FakeTwitch) -> None:
    fake.lose(MESSAGES)


async def _never_greeted(fake: FakeTwitch) -> None:
    before = fake.sessions_begun
    fake.welcomes = False
    fake.break_off()
    await fake.until(lambda: not fake.subscriptions)
    await fake.reached(lambda: fake.sessions_begun > before)
    fake.welcomes = True


MESSAGE_FAULTS: Final = MappingProxyType(
    {
        "duplicate": _duplicate,
        "reorder": _reorder,
        "delete before message": _delete_before,
        "missing key": _missing_key,
    }
)
POST_FAULTS: Final = MappingProxyType(
    {
        "401": _token_dies,
        "429": _slow_down,
        "503": _overloaded,
        "drop reason": _held_back,
        "silent drop": _dropped_silently,
    }
)
CONNECTION_FAULTS: Final = MappingProxyType(
    {
        "session_reconnect": _moved,
        "TCP abort": _torn,
        "close 4003": _closed_unused,
        "resubscribe 500": _resubscribe_fails,
        "resubscribe cut": _resubscribe_cut,
        "revocation": _revoked,
        "silently unsubscribed": _forgotten,
    }
)
SLOW_FAULTS: Final = MappingProxyType({"no welcome": _never_greeted})  # TwitchIO waits eleven seconds for one
