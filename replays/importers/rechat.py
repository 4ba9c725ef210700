"""v5 "rechat" comments: `{video, comments}`, one comment alone, or one a line; TwitchDownloader's JSON is its superset."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from statistics import median
from typing import Any

from memory import Deletion, Emote, Message, Notice, Viewer
from replays.importers.intake import BadLine, Intake, moment, whole
from replays.importers.irc import without_action
from replays.importers.jsonparts import elements, header, lines_or_one
from replays.importers.notices import KINDS, subscription_text

ChatEvent = Message | Notice | Deletion
Json = Mapping[str, Any]
SAMPLE = 512  # comments looked at to judge whether `created_at` can be trusted
STEADY, NEAR = 10.0, 120.0  # seconds


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield the comments of a whole recording."""
    _read_header(intake, header(intake.file, ("video", "streamer"), stop="comments"))
    comments = elements(intake, "comments.item")
    first = list(islice(comments, SAMPLE))
    trusted = _clock_is_real(intake, [comment for _, comment in first])
    for number, comment in chain(first, comments):
        yield from _guarded(intake, number, comment, trusted=trusted)


def single_events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield comments that stand alone, one in the file or one a line."""
    intake.stream.split_at_gaps = True
    for number, comment in lines_or_one(intake):
        yield from _guarded(intake, number, comment, trusted=True)


def _read_header(intake: Intake, top: Json) -> None:
    video, streamer = top.get("video") or {}, top.get("streamer") or {}
    facts = intake.stream
    facts.started_at = moment(video.get("created_at"))
    facts.title = video.get("title") or None
    facts.category = video.get("game") or None
    facts.stream_id = str(video["id"]) if video.get("id") else None
    login = video.get("user_login") or streamer.get("login") or streamer.get("name")
    name = video.get("user_name") or streamer.get("name")
    channel_id = str(video.get("user_id") or streamer.get("id") or "")
    intake.home(channel_id, login, name)


def _clock_is_real(intake: Intake, sample: list[Any]) -> bool:
    """Return whether `created_at` dates the comments; copies of highlights and local times marked UTC do not.

    True where it runs along with the offsets and starts near the recording, or where nothing else dates the comments.
    """
    begin = intake.stream.started_at
    if begin is None:
        return True
    shifts = []
    for comment in sample:
        written = moment(comment.get("created_at")) if isinstance(comment, dict) else None
        if written is not None:
            shifts.append((written - begin).total_seconds() - _offset(comment))
    if not shifts:
        return False
    middle = median(shifts)
    steady = sum(abs(shift - middle) <= STEADY for shift in shifts) * 10 >= len(shifts) * 9
    return steady and abs(middle) <= NEAR


def _offset(comment: Json) -> float:
    value = comment.get("content_offset_seconds")
    return float(value) if isinstance(value, int | float) else 0.0


def _guarded(intake: Intake, number: int, comment: object, *, trusted: bool) -> Iterator[ChatEvent]:
    try:
        yield from _comment(intake, comment, trusted=trusted)
    except BadLine as error:
        intake.report.skip(number, str(error))


def _comment(intake: Intake, comment: object, *, trusted: bool) -> Iterator[ChatEvent]:
    if not isinstance(comment, dict) or not isinstance(comment.get("message"), dict):
        raise BadLine("not a comment: message is missing")  # noqa: EM101 -- said once
    message = comment["message"]
    if intake.stream.stream_id is None and comment.get("content_id") not in (None, "0", ""):
        intake.stream.stream_id = str(comment["content_id"])
    if comment.get("channel_id") not in (None, "0", 0, ""):
        intake.home(str(comment["channel_id"]), intake.channel, intake.channel)
    at = _time(intake, comment, trusted=trusted)
    fragments = [part for part in message.get("fragments") or () if isinstance(part, dict)]
    whole_text = "".join(str(part.get("text") or "") for part in fragments)
    body = message.get("body")
    text, wrapped = without_action(body if isinstance(body, str) else whole_text)
    notice = message.get("user_notice_params")
    word = (notice.get("msg-id") or notice.get("msg_id") or "") if isinstance(notice, dict) else ""
    user = _commenter(intake, comment.get("commenter"), f"{at.isoformat()} {text}")
    comment_id = intake.id_for(comment.get("_id"), at, user.login, text)
    if word in KINDS:
        yield _notice(comment_id, at, user, body=text, params=notice)
        return
    yield Message(
        id=comment_id,
        at=at,
        user=user,
        text=text,
        badges=_badges(message.get("user_badges")),
        is_action=wrapped or message.get("is_action") is True,
        bits=whole(message.get("bits_spent")),
        emotes=_emotes(fragments) if whole_text == text else (),
        extra={"msg_id": word} if word else {},
    )
    if comment.get("state") not in {None, "published"}:
        yield Deletion(at=at, scope="message", message_id=comment_id)


def _time(intake: Intake, comment: Json, *, trusted: bool) -> datetime:
    written = moment(comment.get("created_at")) if trusted else None
    return written or intake.from_start(_offset(comment))


def _commenter(intake: Intake, commenter: object, key: str) -> Viewer:
    if not isinstance(commenter, dict) or not (commenter.get("name") or commenter.get("display_name")):
        return intake.unknown(intake.id_for(None, intake.last or intake.from_start(0), "", key))
    return intake.viewer(str(commenter.get("_id") or ""), commenter.get("name"), commenter.get("display_name"))


def _notice(notice_id: str, at: datetime, user: Viewer, *, body: str, params: Json) -> Notice:
    word = str(params.get("msg-id") or params.get("msg_id"))
    split = subscription_text(user.name, body)
    own = split[1] if split else ""
    data = {key.removeprefix("msg-param-"): value for key, value in params.items() if key.startswith("msg-param-")}
    system = body[: len(body) - len(own)].strip() if own else body.strip()
    return Notice(
        id=notice_id, at=at, kind=KINDS[word], user=user, text=own or None, data={"msg_id": word, "system_msg": system} | data
    )


def _badges(badges: object) -> tuple[str, ...]:
    if not isinstance(badges, list):
        return ()
    names = (str(badge.get("_id") or "") for badge in badges if isinstance(badge, dict))
    return tuple(name for name in names if name not in {"", "0"})


def _emotes(fragments: list[dict[str, Any]]) -> tuple[Emote, ...]:
    """Return the emotes by the lengths of the fragments: the offsets of `emoticons` are wrong in some versions."""
    found, start = [], 0
    for part in fragments:
        text = str(part.get("text") or "")
        if part.get("emoticon") and text:
            found.append(Emote(name=text, start=start, end=start + len(text) - 1))
        start += len(text)
    return tuple(found)
