import gzip
import json
from datetime import timedelta
from pathlib import Path

import pytest
from builders_logs import T0, comment, load, load_json, load_lines

from memory import Emote

VIDEO = {
    "id": "v1",
    "created_at": "2026-03-01T18:00:00Z",
    "title": "Prova",
    "user_id": "99",
    "user_login": "canale",
    "game": "Chess",
}
STAMP = "2026-03-01T18:00:%02d.250Z"


def test_a_recording_becomes_one_stream_with_its_facts(tmp_path: Path) -> None:
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": [comment(5, "ciao")]})
    online, offline = loaded.streams
    assert (online.stream_id, online.title, online.category, online.at) == ("v1", "Prova", "Chess", T0)
    assert online.channel
    assert (online.channel.id, online.channel.login) == ("99", "canale")
    assert (offline.event, offline.at) == ("offline", T0 + timedelta(seconds=5))
    assert loaded.report.format == "rechat"


def test_times_written_by_a_real_clock_are_kept(tmp_path: Path) -> None:
    comments = [comment(n, "x", created_at=STAMP % n) for n in range(20)]
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": comments})
    assert loaded.messages[3].at == T0 + timedelta(seconds=3.25)


@pytest.mark.parametrize(
    "stamp", ["2026-03-04T09:00:01.5Z", "2026-03-01T20:00:%02d.250Z", "nonsense"], ids=["copied at once", "local time", "none"]
)
def test_times_that_do_not_fit_the_recording_give_way_to_the_offsets(tmp_path: Path, stamp: str) -> None:
    comments = [comment(n * 7, "x", created_at=stamp % n if "%" in stamp else stamp) for n in range(8)]
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": comments})
    assert [message.at for message in loaded.messages] == [T0 + timedelta(seconds=n * 7) for n in range(8)]


def test_emotes_come_from_the_fragments_and_offsets_are_code_points(tmp_path: Path) -> None:
    parts = [{"text": "😂 "}, {"text": "Kappa", "emoticon": {"emoticon_id": "25"}}]
    wrong = [{"_id": "25", "begin": 0, "end": 99}]
    fitting = comment(1, "😂 Kappa", message={"fragments": parts, "emoticons": wrong})
    blanked = comment(2, "REDACTED", message={"fragments": parts})
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": [fitting, blanked]})
    assert [message.emotes for message in loaded.messages] == [(Emote(name="Kappa", start=2, end=6),), ()]


def test_subscriptions_become_notices_with_the_viewers_own_words(tmp_path: Path) -> None:
    body = "Alba subscribed at Tier 1. They've subscribed for 8 months, currently on a 3 month streak! ciao a tutti"
    params = {"msg-id": "resub", "msg-param-cumulative-months": "8"}
    quiet = comment(2, "Alba subscribed with Prime. ", message={"user_notice_params": {"msg_id": "sub"}})
    comments = [comment(1, body, message={"user_notice_params": params}), quiet]
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": comments})
    first, second = loaded.notices
    assert (first.kind, first.text, first.data["cumulative-months"]) == ("resub", "ciao a tutti", "8")
    assert first.data["system_msg"].endswith("3 month streak!")
    assert (second.kind, second.text) == ("sub", None)


def test_a_twitchdownloader_file_packed_with_a_mark_and_embedded_pictures_is_read(tmp_path: Path) -> None:
    value = {
        "FileInfo": {"Version": {"Major": 1}},
        "streamer": {"name": "Canale", "id": 99},
        "video": {"title": "T", "id": "v9", "created_at": "2026-03-01T18:00:00Z", "game": "Go"},
        "comments": [comment(1, "cheer5", message={"bits_spent": 5, "user_badges": [{"_id": "vip"}, {"_id": "0"}]})],
        "embeddedData": {"firstParty": [{"data": "A" * 200_000}]},
    }
    path = tmp_path / "chat.json.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(value).encode()))
    loaded = load(path)
    assert loaded.report.format == "twitchdownloader"
    assert (loaded.messages[0].bits, loaded.messages[0].badges) == (5, ("vip",))
    assert loaded.streams[0].stream_id == "v9"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(json.dumps({"video": VIDEO, "comments": [comment(1, "perché 😂")]}, ensure_ascii=False).encode(encoding))
    assert load(path).messages[0].text == "perché 😂"


def test_a_file_without_header_takes_what_the_comments_tell(tmp_path: Path) -> None:
    loaded = load_json(tmp_path, {"comments": [comment(1, "a", created_at=STAMP % 1)], "video": {"start": 1.0}})
    assert (loaded.streams[0].stream_id, loaded.messages[0].at) == ("555", T0 + timedelta(seconds=1.25))


def test_comments_without_an_author_are_never_one_person(tmp_path: Path) -> None:
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": [comment(n, "x", commenter=None) for n in range(2)]})
    assert loaded.report.warnings["no_author"] == 2
    assert len({message.user.id for message in loaded.messages}) == 2


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    text = json.dumps({"video": VIDEO, "comments": [comment(n, "x") for n in range(50)]})
    path = tmp_path / "chat.json"
    path.write_text(text[: len(text) * 2 // 3])
    loaded = load(path)
    assert 20 < len(loaded.messages) < 50
    assert loaded.report.warnings["json_cut"] == 1


def test_a_file_that_breaks_in_the_middle_says_where(tmp_path: Path) -> None:
    text = json.dumps({"video": VIDEO, "comments": [comment(n, "x") for n in range(5)]})
    path = tmp_path / "chat.json"
    path.write_text(text.replace('"c2"', "c2"))
    loaded = load(path)
    assert len(loaded.messages) == 2
    assert loaded.report.first_skipped[0].line == 3


def test_bad_comments_are_skipped_and_deleted_ones_deleted(tmp_path: Path) -> None:
    comments = [7, {"_id": "x"}, comment(1, "a", state="deleted"), comment(2, "\x01ACTION b\x01")]
    loaded = load_json(tmp_path, {"video": VIDEO, "comments": comments})
    assert [item.line for item in loaded.report.first_skipped] == [1, 2]
    assert loaded.deletions[0].message_id == loaded.messages[0].id
    assert (loaded.messages[1].text, loaded.messages[1].is_action) == ("b", True)


def test_single_comments_stand_alone_or_one_a_line(tmp_path: Path) -> None:
    highlight = comment(1, "a", created_at=STAMP % 1, message={"user_notice_params": {"msg-id": "highlighted-message"}})
    alone = load_json(tmp_path, highlight)
    assert alone.report.format == "rechat-comment"
    assert alone.messages[0].extra == {"msg_id": "highlighted-message"}
    several = load_lines(tmp_path, [highlight, comment(2, "b", created_at=STAMP % 2)])
    assert [message.text for message in several.messages] == ["a", "b"]
