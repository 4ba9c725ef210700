"""EventSub notifications: whole WebSocket frames, `{subscription, event}`, or the bare event; one, a list, or one a line.

What is no public chat (messages held by AutoMod, suspicious users, settings, session frames) is counted and left out.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from memory import Channel, Deletion, Emote, Event, Message, Notice, StreamEvent, Viewer
from replays.importers.intake import BadLine, Intake, moment, whole
from replays.importers.irc import without_action
from replays.importers.jsonparts import lines_or_one
from replays.importers.notices import KINDS

Json = Mapping[str, Any]
CLOCKS = ("timestamp", "__timestamp", "followed_at", "banned_at", "redeemed_at", "ended_at", "started_at")
# Platform events without a rule of their own become a notice of this kind, with the event as its data.
HAPPENINGS = {
    "channel.update": "channel_update", "channel.poll.begin": "poll_begin", "channel.poll.end": "poll_end",
    "channel.prediction.begin": "prediction_begin", "channel.prediction.lock": "prediction_lock",
    "channel.prediction.end": "prediction_end", "channel.hype_train.begin": "hype_train_begin",
    "channel.hype_train.end": "hype_train_end", "channel.goal.begin": "goal_begin", "channel.goal.end": "goal_end",
    "channel.charity_campaign.donate": "charity_donation", "channel.charity_campaign.start": "charity_start",
    "channel.charity_campaign.stop": "charity_stop", "channel.shoutout.create": "shoutout",
    "channel.shoutout.receive": "shoutout_received", "channel.shared_chat.begin": "shared_chat_begin",
    "channel.shared_chat.update": "shared_chat_update", "channel.shared_chat.end": "shared_chat_end",
    "channel.bits.use": "cheer", "channel.cheer": "cheer", "channel.follow": "follow", "channel.subscribe": "sub",
    "channel.subscription.gift": "gift", "channel.subscription.message": "resub", "channel.raid": "raid",
    "channel.channel_points_custom_reward_redemption.add": "redemption",
    "channel.channel_points_automatic_reward_redemption.add": "redemption",
}  # fmt: skip
_ACTORS = (
    ("user_id", "user_login", "user_name"),
    ("from_broadcaster_user_id", "from_broadcaster_user_login", "from_broadcaster_user_name"),
)
_BANS = ("ban", "timeout", "shared_chat_ban", "shared_chat_timeout")
_DELETES = ("delete", "shared_chat_delete")


def events(intake: Intake) -> Iterator[Event]:
    """Yield the chat of the notifications."""
    intake.stream.split_at_gaps = True
    for number, obj in lines_or_one(intake):
        try:
            yield from _notification(intake, obj)
        except BadLine as error:
            intake.report.skip(number, str(error))


def _notification(intake: Intake, obj: object) -> Iterator[Event]:
    if not isinstance(obj, dict):
        raise BadLine(f"not a notification: an object is expected, this is a {type(obj).__name__}")
    frame = _dict(obj.get("metadata"))
    payload = _dict(obj.get("payload")) if frame else obj
    subscription = _dict(payload.get("subscription"))
    event = payload.get("event")
    if frame and frame.get("message_type") != "notification":
        intake.report.ignored[f"frame {frame.get('message_type')}"] += 1
    elif event is None and ("challenge" in payload or subscription):
        intake.report.ignored["no event"] += 1
    else:
        kind = str(subscription.get("type") or "")
        for item in event if isinstance(event, list) else [obj if event is None else event]:
            if not isinstance(item, dict):
                raise BadLine(f"{kind}: the event is no object")
            frame_time = moment(frame.get("message_timestamp")) or moment(subscription.get("created_at"))
            yield from _event(intake, kind or _kind_of(item), item, frame_time)


def _kind_of(event: Json) -> str:
    """Return the type of a bare event by its keys, or "" where they fit several."""
    has = event.keys()
    rules = (
        ("channel.chat.notification", {"chatter_user_id", "notice_type"}),
        ("channel.chat.message", {"chatter_user_id", "message", "message_id"}),
        ("channel.chat.message_delete", {"target_user_id", "message_id"}),
        ("channel.chat.clear_user_messages", {"target_user_id", "broadcaster_user_id"}),
        ("automod.message.hold", {"held_at"}),
        ("channel.moderate", {"action", "moderator_user_id"}),
        ("channel.ban", {"is_permanent", "user_id"}),
        ("channel.follow", {"followed_at"}),
        ("channel.raid", {"from_broadcaster_user_id", "viewers"}),
        ("channel.subscription.message", {"tier", "cumulative_months"}),
        ("channel.subscription.gift", {"tier", "total"}),
        ("channel.subscribe", {"tier", "is_gift"}),
        ("channel.channel_points_custom_reward_redemption.add", {"redeemed_at", "reward"}),
        ("channel.cheer", {"bits", "is_anonymous"}),
        ("channel.prediction.end", {"outcomes", "ended_at"}),
        ("channel.prediction.begin", {"outcomes", "locks_at"}),
        ("channel.poll.end", {"choices", "ended_at"}),
        ("channel.poll.begin", {"choices", "ends_at"}),
        ("channel.shared_chat.update", {"session_id", "participants"}),
        ("channel.update", {"title", "category_id"}),
        ("stream.online", {"id", "type", "broadcaster_user_id"}),
        ("user.update", {"email_verified"}),
    )
    return next((kind for kind, keys in rules if keys <= has), "")


def _event(intake: Intake, kind: str, event: Json, frame_time: datetime | None) -> Iterator[Event]:
    read = _READERS.get(kind)
    if read is None and kind not in HAPPENINGS:
        intake.report.ignored[kind or "a bare event whose keys fit several types"] += 1
        return
    named = next((moment(event[key]) for key in CLOCKS if event.get(key)), None)
    at = intake.at_or_last(named or frame_time)
    home = _viewer(intake, event, "broadcaster_user") or _viewer(intake, event, "to_broadcaster_user")
    if home and intake.channel and home.login != intake.channel:
        intake.report.ignored["other channel"] += 1
        return
    if home:
        intake.home(home.id, home.login, home.name)
    yield from read(intake, at, event) if read else _happening(intake, at, event, kind)


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _viewer(intake: Intake, event: Json, prefix: str) -> Viewer | None:
    user_id, login, name = (event.get(f"{prefix}_{part}") for part in ("id", "login", "name"))
    if not (user_id or login or name):
        return None
    return intake.viewer(str(user_id) if user_id else None, str(login) if login else None, str(name or login or user_id))


def _badges(event: Json) -> tuple[str, ...]:
    return tuple(str(badge["set_id"]) for badge in event.get("badges") or () if isinstance(badge, dict) and badge.get("set_id"))


def _message(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    user = _viewer(intake, event, "chatter_user")
    body = _dict(event.get("message"))
    if user is None or not isinstance(body.get("text"), str):
        raise BadLine(f"channel.chat.message: {'the chatter' if user is None else 'the text'} is missing")
    text, is_action = without_action(body["text"])
    emotes, mentions = _fragments(intake, body, text)
    kept = {"message_type": "text", "channel_points_custom_reward_id": None, "source_message_id": None}
    yield Message(
        id=intake.id_for(event.get("message_id"), at, user.login, text),
        at=at,
        user=user,
        text=text,
        badges=_badges(event),
        reply_to=_dict(event.get("reply")).get("parent_message_id"),
        is_action=is_action,
        bits=whole(_dict(event.get("cheer")).get("bits")),
        emotes=emotes,
        mentions=mentions,
        source_channel=_foreign(event),
        extra={key: event[key] for key, usual in kept.items() if event.get(key) not in (None, usual)},
    )


def _fragments(intake: Intake, body: Json, text: str) -> tuple[tuple[Emote, ...], tuple[Viewer, ...]]:
    parts = [part for part in body.get("fragments") or () if isinstance(part, dict)]
    emotes, mentions, start = [], [], 0
    if "".join(str(part.get("text") or "") for part in parts) != text:
        return (), ()
    for part in parts:
        said = str(part.get("text") or "")
        if part.get("type") == "emote" and said:
            emotes.append(Emote(name=said, start=start, end=start + len(said) - 1))
        named = _viewer(intake, _dict(part.get("mention")), "user")
        if named:
            mentions.append(named)
        start += len(said)
    return tuple(emotes), tuple(mentions)


def _foreign(event: Json) -> str | None:
    origin = event.get("source_broadcaster_user_id")
    return str(origin) if origin and str(origin) != str(event.get("broadcaster_user_id")) else None


def _notification_event(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    word = str(event.get("notice_type") or "")
    plain = word.removeprefix("shared_chat_")
    user = None if event.get("chatter_is_anonymous") is True else _viewer(intake, event, "chatter_user")
    text = _dict(event.get("message")).get("text") or None
    system = {"msg_id": word, "system_msg": event.get("system_message"), "source_channel": _foreign(event)}
    badges = _badges(event)
    yield Notice(
        id=intake.id_for(event.get("message_id"), at, user.login if user else "", text or word),
        at=at,
        kind=KINDS.get(plain, plain or "notice"),
        user=user,
        text=text,
        data={key: value for key, value in system.items() if value} | dict(_dict(event.get(word))),
        extra={"badges": list(badges)} if badges else {},
    )


def _happening(intake: Intake, at: datetime, event: Json, kind: str) -> Iterator[Event]:
    found = (_viewer(intake, event, prefix) for prefix in ("user", "from_broadcaster_user"))
    user = None if event.get("is_anonymous") is True else next((viewer for viewer in found if viewer), None)
    message = event.get("message")
    said = message if isinstance(message, str) else _dict(message).get("text") or event.get("user_input")
    who = {key for keys in _ACTORS for key in keys}
    left_out = who | {"message", "user_input", "id", "broadcaster_user_id", "broadcaster_user_login", "broadcaster_user_name"}
    word = HAPPENINGS[kind]
    yield Notice(
        id=intake.id_for(event.get("id"), at, user.login if user else "", str(said or word)),
        at=at,
        kind=word,
        user=user,
        text=said if isinstance(said, str) and said else None,
        data={key: value for key, value in event.items() if key not in left_out and value is not None},
    )


def _delete(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    if not event.get("message_id"):
        raise BadLine(f"a deletion without {'message_id'}")
    user = _viewer(intake, event, "target_user") or _viewer(intake, event, "user")
    yield Deletion(at=at, scope="message", message_id=str(event["message_id"]), user_id=user.id if user else None)


def _clear_user(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    user = _viewer(intake, event, "target_user") or _viewer(intake, event, "user")
    if user is None:
        raise BadLine(f"a ban without {'user_id'}")
    until = moment(event.get("ends_at") or event.get("expires_at"))
    extra: dict[str, Any] = {"login": user.login}
    if until:
        extra["duration"] = max(0, round((until - at).total_seconds()))
    yield Deletion(at=at, scope="user", user_id=user.id, extra=extra)


def _clear(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    del intake, event
    yield Deletion(at=at, scope="chat")


def _moderate(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    action = str(event.get("action") or "")
    target = _dict(event.get(action))
    if action in _BANS:
        yield from _clear_user(intake, at, target)
    elif action in _DELETES:
        yield from _delete(intake, at, target)
    elif action == "clear":
        yield from _clear(intake, at, event)
    else:
        intake.report.ignored[f"channel.moderate {action}"] += 1


def _online(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    home = _viewer(intake, event, "broadcaster_user")
    channel = Channel(id=home.id, login=home.login, name=home.name) if home else None
    stream_id = intake.id_for(event.get("id"), at, home.login if home else "", "online")
    intake.stream.announced = stream_id
    yield StreamEvent(at=at, event="online", stream_id=stream_id, channel=channel)


def _offline(intake: Intake, at: datetime, event: Json) -> Iterator[Event]:
    stream_id = event.get("id") or intake.stream.announced
    if not stream_id:
        raise BadLine(f"stream.offline of a stream that is not in the file: no {'id'}")
    yield StreamEvent(at=at, event="offline", stream_id=str(stream_id))


_READERS: dict[str, Callable[[Intake, datetime, Json], Iterator[Event]]] = {
    "channel.chat.message": _message,
    "channel.chat.notification": _notification_event,
    "channel.chat.message_delete": _delete,
    "channel.chat.clear_user_messages": _clear_user,
    "channel.chat.clear": _clear,
    "channel.ban": _clear_user,
    "channel.moderate": _moderate,
    "stream.online": _online,
    "stream.offline": _offline,
}
