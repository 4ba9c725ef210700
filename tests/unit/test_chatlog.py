import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chatlog import BadEvent, UnknownType, event_from_json, event_to_json, event_to_line, type_of
from memory import (
    BotIdentity,
    BotReply,
    Channel,
    Command,
    Deletion,
    Emote,
    Event,
    Message,
    Notice,
    Probe,
    Settle,
    StateCall,
    StreamEvent,
    Viewer,
)

AT = "2026-03-01T18:00:00Z"
USER = {"id": "1", "login": "alba", "name": "Alba"}
MESSAGE = {"type": "message", "id": "m1", "at": AT, "user": USER, "text": "ciao"}

texts = st.text(max_size=30)
ids = st.text(min_size=1, max_size=12)
zones = st.sampled_from([UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9))])
times = st.datetimes(datetime(1970, 1, 2), datetime(2999, 12, 30), timezones=zones)  # noqa: DTZ001 - the zone is drawn
viewers = st.builds(Viewer, id=ids, login=texts, name=texts)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(texts, values, max_size=4)
extras = st.dictionaries(st.text(max_size=8).map("x-".__add__), values, max_size=3)
counts = st.integers(min_value=0, max_value=10**9)
several = st.lists(texts, max_size=3).map(tuple)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        Message,
        id=ids,
        at=times,
        user=viewers,
        text=texts,
        badges=several,
        reply_to=st.none() | ids,
        is_action=st.booleans(),
        bits=counts,
        emotes=st.lists(st.builds(Emote, name=texts, start=counts, end=counts), max_size=2).map(tuple),
        mentions=st.lists(viewers, max_size=2).map(tuple),
        is_bot=st.booleans(),
        source_channel=st.none() | ids,
        extra=extras,
    ),
    st.builds(
        Notice, id=ids, at=times, kind=texts, user=st.none() | viewers, text=st.none() | texts, data=objects, extra=extras
    ),
    st.builds(Deletion, at=times, scope=st.just("message"), message_id=ids, user_id=st.none() | ids, extra=extras),
    st.builds(Deletion, at=times, scope=st.just("user"), message_id=st.none(), user_id=ids, extra=extras),
    st.builds(Deletion, at=times, scope=st.just("chat"), message_id=st.none(), user_id=st.none(), extra=extras),
    st.builds(
        StreamEvent,
        at=times,
        event=st.sampled_from(["online", "offline"]),
        stream_id=ids,
        title=st.none() | texts,
        category=st.none() | texts,
        channel=st.none() | st.builds(Channel, id=ids, login=texts, name=texts),
        bot=st.none() | st.builds(BotIdentity, id=ids, login=texts, name=texts, aliases=several),
        extra=extras,
    ),
    st.builds(BotReply, at=times, text=texts, in_reply_to=several, id=st.none() | ids, extra=extras),
    st.builds(
        Command,
        at=times,
        user=viewers,
        text=texts,
        badges=several,
        id=st.none() | ids,
        mentions=st.lists(viewers, max_size=2).map(tuple),
        extra=extras,
    ),
    st.builds(StateCall, at=times, tool=texts, arguments=objects, extra=extras),
    st.builds(Settle, extra=extras),
)


@given(events)
def test_an_event_written_and_read_again_is_the_same(event: Event) -> None:
    assert event_from_json(json.loads(event_to_line(event))) == event


@given(events)
def test_equal_events_are_equal_bytes(event: Event) -> None:
    line = event_to_line(event)
    assert event_to_line(event_from_json(json.loads(line))) == line
    assert "\n" not in line


@pytest.mark.parametrize("text", ["ciao \U000e0000", "a\u200bb", "\ud83d alone", "nul \0 and \x1b[31m", "\u202eRTL", "👩‍👩‍👧"])
def test_hostile_characters_survive_as_they_came(text: str) -> None:
    message = event_from_json(MESSAGE | {"text": text})
    line = event_to_line(message)
    line.encode()
    assert event_from_json(json.loads(line)) == message


def test_unknown_keys_are_kept_beside_the_known_ones() -> None:
    event = event_from_json(MESSAGE | {"first_msg": True, "nested": {"a": [1, 2]}})
    assert isinstance(event, Message)
    assert event.extra == {"first_msg": True, "nested": {"a": [1, 2]}}
    assert event_to_json(event)["nested"] == {"a": [1, 2]}


def test_numbers_that_json_does_not_know_are_written_as_null() -> None:
    event = event_from_json(MESSAGE | {"x": [float("inf"), {"y": float("nan")}, 1.5], "z": "\ud83d"})
    assert json.loads(event_to_line(event))["x"] == [None, {"y": None}, 1.5]


def test_a_known_key_wins_over_an_extra_one() -> None:
    event = event_from_json(MESSAGE | {"x": 1})
    assert isinstance(event, Message)
    forged = Message(id=event.id, at=event.at, user=event.user, text="ciao", extra={"text": "forged", "type": "command"})
    assert event_to_json(forged)["text"] == "ciao"
    assert event_to_json(forged)["type"] == "message"


def test_ids_that_are_numbers_become_texts_and_offsets_become_utc() -> None:
    event = event_from_json(MESSAGE | {"id": 7, "at": "2026-03-01T20:00:00.123456789+02:00", "user": USER | {"id": 5}})
    assert isinstance(event, Message)
    assert (event.id, event.user.id) == ("7", "5")
    assert event.at == datetime(2026, 3, 1, 18, 0, 0, 123456, tzinfo=UTC)


def test_a_probe_keeps_its_whole_case_and_parses_its_batch() -> None:
    batch = [{key: value for key, value in MESSAGE.items() if key != "type"}]
    case = {
        "type": "probe",
        "id": "p1",
        "at": AT,
        "category": "recall",
        "batch": batch,
        "gold": ["m0"],
        "settle": False,
        "as_of": AT,
    }
    probe = event_from_json(case)
    assert isinstance(probe, Probe)
    assert (probe.batch[0].text, probe.settle, probe.case["gold"]) == ("ciao", False, ["m0"])
    assert probe.as_of == datetime(2026, 3, 1, 18, tzinfo=UTC)
    assert event_to_json(probe) == case
    assert type_of(probe) == "probe"


def test_a_type_of_a_newer_program_is_told_apart() -> None:
    with pytest.raises(UnknownType, match="hologram"):
        event_from_json({"type": "hologram", "at": AT})


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        ([], "JSON object"),
        ({}, "type: missing"),
        ({"type": 3}, "type"),
        (MESSAGE | {"at": "2026-03-01T18:00:00"}, "at: not an RFC 3339 time with a zone"),
        (MESSAGE | {"at": 3}, "at: an RFC 3339 time is missing"),
        (MESSAGE | {"at": "0001-01-01T00:00:00+14:00"}, "at"),
        (MESSAGE | {"at": "0001-01-02T00:00:00Z"}, "at: a time from 1970 to 2999 is expected"),
        (MESSAGE | {"at": "9999-12-31T23:59:59.999999Z"}, "at: a time from 1970 to 2999 is expected"),
        (MESSAGE | {"text": None}, "text: missing"),
        (MESSAGE | {"text": 5}, "text: a text is expected"),
        (MESSAGE | {"id": ""}, "id: empty"),
        (MESSAGE | {"id": True}, "id"),
        (MESSAGE | {"user": "alba"}, "user: an object"),
        (MESSAGE | {"user": {"id": "1", "name": "Alba"}}, "user.login: missing"),
        (MESSAGE | {"badges": "vip"}, "badges: a list of texts"),
        (MESSAGE | {"badges": [1]}, "badges: a list of texts"),
        (MESSAGE | {"emotes": [{"name": "Kappa", "start": "0", "end": 4}]}, r"emotes\[0\].start: a whole number"),
        (MESSAGE | {"emotes": ["Kappa"]}, "emotes: a list of objects"),
        (MESSAGE | {"mentions": [{}]}, r"mentions\[0\].id: missing"),
        (MESSAGE | {"is_action": 1}, "is_action: true or false"),
        (MESSAGE | {"bits": "100"}, "bits: a whole number"),
        ({"type": "deletion", "at": AT, "scope": "message"}, "message_id: missing"),
        ({"type": "deletion", "at": AT, "scope": "user"}, "user_id: missing"),
        ({"type": "deletion", "at": AT, "scope": "world"}, "scope"),
        ({"type": "stream", "at": AT, "event": "paused", "stream_id": "s"}, "event"),
        ({"type": "state", "at": AT, "tool": "note_set"}, "arguments: missing"),
        ({"type": "probe", "id": "p", "at": AT, "category": "recall", "batch": [{"id": "m"}]}, "at"),
    ],
)
def test_what_is_no_event_is_refused_with_the_name_of_the_field(obj: object, said: str) -> None:
    with pytest.raises(BadEvent, match=said):
        event_from_json(obj)
