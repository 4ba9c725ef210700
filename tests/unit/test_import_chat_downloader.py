import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders_logs import T0, load, load_json, load_lines

from memory import Emote
from replays.import_log import ImportOptions

US = 1772388000000000
AUTHOR = {"id": "11", "name": "alba", "display_name": "Alba", "badges": [{"name": "vip", "version": 1}]}


def item(text: str, **changes: object) -> dict[str, Any]:
    return {
        "message_id": f"m{text}",
        "timestamp": US,
        "author": AUTHOR,
        "message": text,
        "message_type": "text_message",
    } | changes


def test_a_modern_item_is_dated_in_microseconds(tmp_path: Path) -> None:
    spots = [{"name": "Kappa", "locations": ["5-9"]}, {"name": "x", "locations": "0-0,2-99,1-1"}]
    loaded = load_json(tmp_path, [item("ciao Kappa", emotes=spots, bits=3, in_reply_to={"message_id": "m0"})])
    message = loaded.messages[0]
    assert (message.at, message.user.id, message.badges, message.bits) == (T0, "11", ("vip",), 3)
    assert (message.reply_to, message.emotes[-1]) == ("m0", Emote(name="Kappa", start=5, end=9))
    assert loaded.report.warnings["bad_emote"] == 1


@pytest.mark.parametrize("form", ["array", "lines", "cut"])
def test_arrays_lines_and_interrupted_arrays_are_read(tmp_path: Path, form: str) -> None:
    items = [item("a"), item("b")]
    path = tmp_path / "chat.json"
    array = json.dumps(items, indent=2)
    path.write_text({"array": array, "lines": "\n".join(map(json.dumps, items)), "cut": array.rstrip("]\n ")}[form])
    loaded = load(path)
    assert [message.text for message in loaded.messages] == ["a", "b"]
    assert loaded.report.warnings["json_cut"] == (1 if form == "cut" else 0)


def test_moderation_and_notices_of_a_live_recording_survive(tmp_path: Path) -> None:
    loaded = load_lines(
        tmp_path,
        [
            item("a"),
            {"message_type": "ban_user", "timestamp": US, "target_author_id": "12", "banned_user": "berto", "ban_duration": 60},
            {"message_type": "ban_user", "timestamp": US},
            {"message_type": "delete_message", "timestamp": US, "target_message_id": "ma"},
            {"message_type": "delete_message", "timestamp": US},
            {"message_type": "clear_chat", "timestamp": US},
            item("grazie", message_type="resubscription", cumulative_months=8),
            item("x", message_type="anonymous_subscription_gift"),
            item("slow", message_type="room_state"),
            "text",
        ],
    )
    assert [event.scope for event in loaded.deletions] == ["user", "message", "chat"]
    assert loaded.deletions[0].extra == {"login": "berto", "duration": 60}
    assert [(notice.kind, notice.user is not None) for notice in loaded.notices] == [("resub", True), ("gift", False)]
    assert loaded.notices[0].data["cumulative_months"] == 8
    assert loaded.report.ignored == {"room_state": 1}
    assert [skipped.line for skipped in loaded.report.first_skipped] == [3, 5, 10]


def test_flat_recordings_of_2020_are_dated_by_their_offset_alone(tmp_path: Path) -> None:
    old = {
        "author_name": "alba",
        "author_display_name": "Alba",
        "id": "11",
        "timestamp": US,
        "time_in_seconds": 2.5,
        "message": "x",
    }
    undated = load_json(tmp_path, [old])
    assert undated.messages[0].user.id == "11"
    assert undated.messages[0].id != "11"
    assert undated.messages[0].at.year == 1970
    assert undated.report.warnings["no_start_time"] == 1
    dated = load_json(tmp_path, [old], options=ImportOptions(start=T0))
    assert dated.messages[0].at == T0 + timedelta(seconds=2.5)


def test_live_recordings_of_2020_without_authors_make_nobody_of_everybody(tmp_path: Path) -> None:
    old = [{"badge_info": [{"badge": "vip"}], "message": text, "message_type": kind, "timestamp": US // 1000} for text, kind in
           [("a", "privmsg"), ("a", "privmsg"), ("", "privm")]]  # fmt: skip
    loaded = load_json(tmp_path, old)
    assert len({message.user.id for message in loaded.messages}) == 3
    assert len({message.id for message in loaded.messages}) == 3
    assert loaded.messages[0].badges == ("vip",)
    assert loaded.messages[0].at == T0
    assert loaded.report.warnings["type_cut_short"] == 1
