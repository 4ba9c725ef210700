from datetime import timedelta
from pathlib import Path

import pytest
from builders_logs import T0, T0_MS, command, irc, load_json, load_lines, load_text

from memory import Emote
from replays.errors import LogError
from replays.import_log import ImportOptions, import_logs
from replays.importers.ircline import nick_of, parse, parse_tags


def test_a_message_keeps_who_when_what_and_where(tmp_path: Path) -> None:
    tags = {"badges": "moderator/1,subscriber/12", "badge-info": "subscriber/14", "first-msg": "1", "bits": "100"}
    loaded = load_text(tmp_path, irc("cheer100 ciao \U000e0000", tags=tags) + "\r\n")
    message = loaded.messages[0]
    assert (message.user.id, message.user.login, message.user.name) == ("11", "alba", "Alba")
    assert (message.at, message.text, message.bits) == (T0, "cheer100 ciao \U000e0000", 100)
    assert message.badges == ("moderator", "subscriber")
    assert message.extra == {"badge_info": "subscriber/14", "first_msg": True}
    assert [event.event for event in loaded.streams] == ["online", "offline"]
    channel = loaded.streams[0].channel
    assert channel
    assert (channel.id, channel.login) == ("99", "canale")


def test_a_text_of_one_word_needs_no_colon_and_keeps_its_smiley(tmp_path: Path) -> None:
    bare = irc("x").replace(" :x", " ciao")
    loaded = load_text(tmp_path, "\n".join([bare, irc(":) a : b", ms=T0_MS + 1)]))
    assert [message.text for message in loaded.messages] == ["ciao", ":) a : b"]


@pytest.mark.parametrize("text", ["\x01ACTION saluta\x01", "\x01ACTION saluta"])
def test_an_action_loses_its_wrapping_alone(tmp_path: Path, text: str) -> None:
    message = load_text(tmp_path, irc(text)).messages[0]
    assert (message.text, message.is_action) == ("saluta", True)


def test_emotes_are_counted_in_code_points_and_wrong_ones_left_out(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, irc("😂 Kappa x", tags={"emotes": "25:2-6/1902:04/7:9-3/8:40-44/80481_/3:8-8"}))
    assert loaded.messages[0].emotes == (Emote(name="Kappa", start=2, end=6), Emote(name="x", start=8, end=8))
    assert loaded.report.warnings["bad_emote"] >= 2


def test_a_reply_names_its_parent_and_whom_it_answers(tmp_path: Path) -> None:
    parent = {"reply-parent-msg-id": "m-0", "reply-parent-user-id": "12", "reply-parent-user-login": "berto"}
    message = load_text(tmp_path, irc("@Berto sì", tags=parent | {"reply-parent-display-name": "Berto"})).messages[0]
    assert message.reply_to == "m-0"
    assert [(viewer.id, viewer.name) for viewer in message.mentions] == [("12", "Berto")]


def test_shared_chat_names_the_foreign_channel_and_home_does_not(tmp_path: Path) -> None:
    foreign = irc("ciao", tags={"source-room-id": "77", "source-id": "s1"})
    home = irc("ciao", ms=T0_MS + 1, tags={"source-room-id": "99"})
    loaded = load_text(tmp_path, f"{foreign}\n{home}")
    assert [message.source_channel for message in loaded.messages] == ["77", None]


def test_timeouts_bans_deletions_and_clears_become_deletions(tmp_path: Path) -> None:
    lines = [
        irc("ciao"),
        command("CLEARCHAT", " :berto", **{"target-user-id": "12", "ban-duration": "600"}),
        command("CLEARCHAT", " :carla"),
        command("CLEARCHAT"),
        command("CLEARMSG", " :ciao", **{"target-msg-id": "m-1", "login": "alba"}),
        command("CLEARMSG", " :ciao"),
    ]
    loaded = load_text(tmp_path, "\n".join(lines))
    found = [(event.scope, event.user_id, event.message_id) for event in loaded.deletions]
    assert found == [("user", "12", None), ("user", "login:carla", None), ("chat", None, None), ("message", None, "m-1")]
    assert loaded.deletions[0].extra == {"login": "berto", "duration": 600}
    assert loaded.report.first_skipped[0].line == 6


def test_a_message_marked_as_deleted_is_deleted_after_it(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, irc("brutto", tags={"rm-deleted": "1"}))
    assert [type(event).__name__ for event in loaded.events] == ["StreamEvent", "Message", "Deletion", "StreamEvent"]
    assert loaded.deletions[0].message_id == loaded.messages[0].id


@pytest.mark.parametrize(
    ("word", "kind", "named"),
    [
        ("resub", "resub", True),
        ("subgift", "gift", True),
        ("anonsubgift", "gift", False),
        ("raid", "raid", True),
        ("announcement", "announcement", True),
        ("viewermilestone", "watch_streak", True),
        ("brandnewthing", "brandnewthing", True),
        ("sharedchatnotice", "sub", True),
        ("", "notice", True),
    ],
)
def test_notices_keep_kind_words_and_parameters(tmp_path: Path, word: str, kind: str, *, named: bool) -> None:
    tags = {
        "id": "n1",
        "login": "alba",
        "user-id": "11",
        "msg-id": word,
        "system-msg": r"Alba\sdid\sit!",
        "msg-param-months": "8",
    }
    line = command("USERNOTICE", " :che bello", **tags, **({"source-msg-id": "sub"} if word == "sharedchatnotice" else {}))
    notice = load_text(tmp_path, line).notices[0]
    assert (notice.id, notice.kind, notice.text, notice.user is not None) == ("n1", kind, "che bello", named)
    assert notice.data["months"] == "8"
    assert notice.data["system_msg"] == "Alba did it!"


def test_a_log_without_tags_gets_ids_by_login_and_the_same_ones_each_time(tmp_path: Path) -> None:
    line = ":Alba!alba@alba.tmi.twitch.tv PRIVMSG #canale :ciao"
    first, second = (load_text(tmp_path, f"{line}\n{line}\n") for _ in range(2))
    assert [message.id for message in first.messages] == [message.id for message in second.messages]
    assert first.messages[0].id != first.messages[1].id
    assert first.messages[0].user.id == "login:alba"
    assert first.report.warnings["no_time"] == 2


def test_a_message_without_nick_is_known_by_its_user_and_one_without_either_is_skipped(tmp_path: Path) -> None:
    nameless = "@tmi-sent-ts=1 :tmi.twitch.tv PRIVMSG #canale :ciao"
    loaded = load_text(tmp_path, "\n".join([irc("a").replace(":alba!", ":!"), nameless, ":alba!a@b PRIVMSG #canale"]))
    assert [message.user.login for message in loaded.messages] == ["alba"]
    assert [item.line for item in loaded.report.first_skipped] == [2, 3]


def test_renames_keep_the_id_and_recycled_names_do_not(tmp_path: Path) -> None:
    lines = [irc("uno"), irc("due", "alba2", ms=T0_MS + 1), irc("tre", "alba", ms=T0_MS + 2, tags={"user-id": "13"})]
    loaded = load_text(tmp_path, "\n".join(lines))
    assert [(m.user.id, m.user.login) for m in loaded.messages] == [("11", "alba"), ("11", "alba2"), ("13", "alba")]


def test_nul_between_the_lines_parts_them_too(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "\0".join([irc("uno"), irc("due", ms=T0_MS + 1)]) + "\0")
    assert [message.text for message in loaded.messages] == ["uno", "due"]


def test_what_is_no_chat_is_counted_and_garbage_is_skipped(tmp_path: Path) -> None:
    lines = [irc("uno"), "PING :tmi.twitch.tv", command("ROOMSTATE"), ":a!a@a JOIN #canale", "", "@@@", "due parole", ":x"]
    loaded = load_text(tmp_path, "\n".join(lines))
    assert loaded.report.ignored == {"PING": 1, "ROOMSTATE": 1, "JOIN": 1}
    assert [item.line for item in loaded.report.first_skipped] == [6, 7, 8]


def test_one_channel_of_several_can_be_kept_alone(tmp_path: Path) -> None:
    text = irc("qui") + "\n" + irc("là", ms=T0_MS + 1).replace("#canale", "#altrove")
    both = load_text(tmp_path, text)
    assert [message.extra.get("channel") for message in both.messages] == [None, "altrove"]
    alone = load_text(tmp_path, text, options=ImportOptions(channel="#Altrove"))
    assert [message.text for message in alone.messages] == ["là"]


def test_late_lines_find_their_place_and_equal_times_keep_the_order_of_the_file(tmp_path: Path) -> None:
    lines = [irc("a", ms=T0_MS + 10), irc("b", ms=T0_MS, tags={"id": "b"}), irc("c", ms=T0_MS, tags={"id": "c"})]
    loaded = load_text(tmp_path, "\n".join(lines))
    assert [message.text for message in loaded.messages] == ["b", "c", "a"]
    assert loaded.report.warnings["time_went_back"] == 1


def test_hours_of_silence_part_the_streams(tmp_path: Path) -> None:
    day = int(timedelta(hours=7) / timedelta(milliseconds=1))
    loaded = load_text(tmp_path, irc("ieri") + "\n" + irc("oggi", ms=T0_MS + day))
    found = [(event.event, event.stream_id) for event in loaded.streams]
    first, second = "canale-20260301T180000Z", "canale-20260302T010000Z"
    assert found == [("online", first), ("offline", first), ("online", second), ("offline", second)]


def test_recent_messages_and_cases_hold_raw_lines(tmp_path: Path) -> None:
    recent = load_json(tmp_path, {"messages": [irc("uno"), 5], "error": None})
    assert (recent.report.format, recent.messages[0].text, recent.report.skipped) == ("recent-messages", "uno", 1)
    cases = load_lines(
        tmp_path, [{"case": "x", "line": irc("due"), "previous": [irc("prima")]}, {"source": "h", "prefix": "a!b"}]
    )
    assert [message.text for message in cases.messages] == ["prima", "due"]
    assert cases.report.ignored == {"no line": 1}


def test_rustlog_json_is_read_from_the_raw_line_or_from_its_parts(tmp_path: Path) -> None:
    parts = {
        "text": "ciao", "displayName": "Alba", "username": "alba", "channel": "canale", "timestamp": "2026-03-01T18:00:00Z",
        "id": "p1", "type": 1, "tags": {"user-id": "11", "room-id": "99"},
    }  # fmt: skip
    ban = parts | {
        "id": "",
        "type": 2,
        "username": "berto",
        "text": "berto has been timed out",
        "tags": {"target-user-id": "12"},
    }
    raw = {"text": "x", "raw": irc("grezzo"), "type": 1}
    whole = load_json(tmp_path, {"messages": [parts, raw, ban, 7]})
    lines = load_lines(tmp_path, [parts, ban])
    assert whole.report.format == "rustlog"
    assert [message.text for message in whole.messages] == ["ciao", "grezzo"]
    assert whole.report.skipped == 1
    assert (lines.messages[0].id, lines.messages[0].at, lines.messages[0].user.id) == ("p1", T0, "11")
    assert lines.deletions[0].user_id == "12"


def test_a_line_is_taken_apart_by_the_rules_of_irc() -> None:
    line = parse(r"@a=1;b;c=x\sy\:z\\q;a=5 :n!u@h  CMD  #chan  :tail  : end ")
    assert line
    assert line.tags == {"a": "5", "b": "", "c": r"x y;z\q"}
    assert (line.source, line.command, line.params) == ("n!u@h", "CMD", ("#chan", "tail  : end "))
    assert parse_tags("a=lone\\") == {"a": "lone"}
    assert [nick_of(source) for source in ("n!u@h", "!u@h", "tmi.twitch.tv", "n@h")] == ["n", "u", "", "n"]
    assert parse("") is None


def test_a_log_of_no_chat_at_all_says_what_was_in_it(tmp_path: Path) -> None:
    from_pings = tmp_path / "p.txt"
    from_pings.write_text("PING :tmi.twitch.tv\n" * 3)
    with pytest.raises(LogError, match="PING"):
        import_logs([from_pings], tmp_path / "out.jsonl")


def test_a_flood_of_emotes_that_are_none_is_passed_over_at_once(tmp_path: Path) -> None:
    """Were it read in several ways, this would outlast the time limit of a test many times over."""
    for flood in ("a:" * 100_000, "a:1-2," * 50_000, "a:" + "1-2," * 50_000 + "x"):
        loaded = load_text(tmp_path, irc("ciao") + "\n" + irc("Kappa", tags={"emotes": flood}))
        assert loaded.messages[1].emotes == ()
        assert loaded.report.warnings["bad_emote"] == 1
