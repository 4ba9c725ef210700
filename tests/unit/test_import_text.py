from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from builders_logs import T0, load_text

from replays.import_log import ImportOptions
from replays.importers.notices import subscription_text

TCD = "0123 - Una sera - parte 2 (2026-03-01T180000Z).tcd"


def test_a_tcd_line_has_a_badge_a_name_and_a_text(tmp_path: Path) -> None:
    lines = ["[0:00:01] <~Canale> ciao > a tutti", "[1:02:03] <@火の鳥> <3", "[25:00:00] <Alba > x", "[0:00:02] <%Alba> "]
    loaded = load_text(tmp_path, "\n".join(lines), TCD)
    canale, vuota, fenice, alba = loaded.messages
    assert (canale.user.id, canale.badges, canale.text) == ("login:canale", ("broadcaster",), "ciao > a tutti")
    assert (fenice.user.name, fenice.user.id, fenice.text) == ("火の鳥", "login:火の鳥", "<3")
    assert fenice.at == T0 + timedelta(hours=1, minutes=2, seconds=3)
    assert (alba.user.name, alba.user.id) == ("Alba", vuota.user.id)
    assert loaded.streams[0].stream_id == "0123"
    assert (loaded.streams[0].title, loaded.streams[0].at) == ("Una sera - parte 2", T0)


def test_a_stray_title_and_broken_lines_do_not_stop_a_tcd_file(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "Titolo (x)\n[0:00:01] <Alba> uno\n[0:00:0\n\n[0:00:03] <> tre\n[0:00:04] <Alba> due\n", TCD)
    assert [message.text for message in loaded.messages] == ["uno", "due"]
    assert loaded.report.warnings["stray_title"] == 1
    assert [item.line for item in loaded.report.first_skipped] == [3, 5]


def test_equal_lines_get_different_ids_and_the_same_ones_each_time(tmp_path: Path) -> None:
    first, again = (load_text(tmp_path, "[0:00:01] <Alba> gg\n" * 3, TCD) for _ in range(2))
    ids = [message.id for message in first.messages]
    assert len(set(ids)) == 3
    assert ids == [message.id for message in again.messages]


def test_a_subscription_line_of_tcd_stays_a_message_and_is_marked(tmp_path: Path) -> None:
    line = "[0:00:01] <%Alba> Alba subscribed with Prime. They've subscribed for 2 months! evviva"
    message = load_text(tmp_path, line, TCD).messages[0]
    assert message.extra == {"looks_like": "resub"}
    assert message.text.endswith("evviva")


def test_a_tcd_file_of_another_name_counts_from_the_start_that_is_given(tmp_path: Path) -> None:
    text = "[0:00:05] <Alba> ciao\n"
    given = load_text(tmp_path, text, "chat.txt", ImportOptions(start=T0, channel="canale"))
    assert given.messages[0].at == T0 + timedelta(seconds=5)
    assert given.streams[0].stream_id == "canale-20260301T180005Z"
    assert load_text(tmp_path, text, "chat.txt").report.warnings["no_start_time"] == 1
    assert load_text(tmp_path, text, "1 - x (2026-99-01T180000Z).tcd").report.warnings["bad_start_time"] == 1


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-03-01 18:00:00 UTC", T0),
        ("2026-03-01 18:00:00.250 UTC", T0 + timedelta(seconds=0.25)),
        ("2026-03-01 18:00:00", T0),
        ("0:00:07", T0 + timedelta(seconds=7)),
        ("0:00:07.5", T0 + timedelta(seconds=7.5)),
    ],
)
def test_texts_of_twitchdownloader_are_dated_by_day_or_by_offset(tmp_path: Path, stamp: str, at: datetime) -> None:
    loaded = load_text(tmp_path, f"[{stamp}] Alba: ciao: a te\r\n[{stamp}] :\r\n[x\r\n", options=ImportOptions(start=T0))
    assert loaded.report.format == "twitchdownloader-text"
    message = loaded.messages[0]
    assert (message.at, message.user.id, message.text) == (at, "login:alba", "ciao: a te")
    assert [item.line for item in loaded.report.first_skipped] == [2, 3]


def test_texts_of_justlog_hold_channel_and_moderation(tmp_path: Path) -> None:
    lines = [
        "#canale alba: ciao",
        "#canale berto has been timed out for 10 seconds",
        "#canale carla has been banned",
        "#canale x y",
    ]
    text = "".join(f"[2026-03-01 18:00:0{n}] {line}\r\n" for n, line in enumerate(lines))
    loaded = load_text(tmp_path, text + "[2026-13-01 18:00:00] #canale alba: x\n")
    assert loaded.report.format == "justlog-text"
    assert loaded.messages[0].user.id == "login:alba"
    assert [(event.user_id, event.extra) for event in loaded.deletions] == [
        ("login:berto", {"duration": 10}),
        ("login:carla", {}),
    ]
    channel = loaded.streams[0].channel
    assert channel
    assert channel.login == "canale"
    assert loaded.report.skipped == 2


CHATTERINO = """# Start logging at 2026-03-01 23:59:00 +0100
[23:59:50]  alba: ciao: a te
[23:59:58] 火の鳥 fenice: buonasera
[00:00:02] berto: spam
[00:00:03] A message from berto was deleted: sp…
[00:00:04] berto has been timed out for 10m.
[00:00:05] Chat has been cleared by a moderator.
[00:00:06] Alba subscribed with Prime. They've subscribed for 2 months!
[00:00:07] Carla gifted a Tier 1 sub to Dario!
[00:00:08] 12 raiders from Elio have joined!
[00:00:09] This room is now in slow mode.
[00:00:10] A message from nessuno was deleted: boh
no time
# Stop logging at 2026-03-02 00:01:00 +0100
"""


def test_chatterino_logs_run_over_midnight_and_keep_moderation(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, CHATTERINO, "canale-2026-03-01.log")
    alba, fenice, berto = loaded.messages
    assert (alba.user.id, alba.text, alba.at) == ("login:alba", "ciao: a te", datetime(2026, 3, 1, 22, 59, 50, tzinfo=UTC))
    assert (fenice.user.id, fenice.user.name) == ("login:fenice", "火の鳥")
    assert berto.at == datetime(2026, 3, 1, 23, 0, 2, tzinfo=UTC)
    found = [(event.scope, event.user_id, event.message_id) for event in loaded.deletions]
    assert found == [("message", None, berto.id), ("user", "login:berto", None), ("chat", None, None)]
    assert [(notice.kind, notice.user and notice.user.login) for notice in loaded.notices] == [
        ("resub", "alba"),
        ("gift", "carla"),
        ("raid", "elio"),
    ]
    assert loaded.report.ignored == {"system line": 1}
    assert [item.line for item in loaded.report.first_skipped] == [12, 13]
    channel = loaded.streams[0].channel
    assert channel
    assert channel.login == "canale"


def test_chatterino_logs_of_an_ambiguous_zone_say_so(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "# Start logging at 2026-03-01 17:00:00 IST\n[06:00:00 PM] alba: ciao\n[6:01 pm] Ünal: hi\n")
    assert [message.at for message in loaded.messages] == [T0, T0 + timedelta(minutes=1)]
    assert loaded.report.warnings["local_time_taken_as_utc"] == 1
    assert loaded.messages[1].user.id == "login:ünal"


def test_chatterino_logs_without_a_header_take_the_day_from_the_name_or_say_that_it_is_missing(tmp_path: Path) -> None:
    text = "[18:00:00] alba: ciao\n"
    assert load_text(tmp_path, text, "2026-03-01.log").messages[0].at == T0
    assert load_text(tmp_path, text, "x.log").report.warnings["no_start_time"] == 1
    broken = load_text(tmp_path, "# Start logging at 2026-99-01 17:00:00 UTC\n" + text, "x.log")
    assert broken.messages[0].at.year == 1970


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Alba subscribed at Tier 2. ", ("sub", "")),
        ("alba just subscribed with Twitch Prime!", ("sub", "")),
        ("Alba subscribed at Tier 1. They've subscribed for 1 month! uno", ("resub", "uno")),
        ("Alba is here", None),
        ("Berto subscribed at Tier 1.", None),
    ],
)
def test_the_own_words_are_told_from_the_system_text(text: str, found: tuple[str, str] | None) -> None:
    assert subscription_text("Alba", text) == found
