"""What a recording holds of the bot's own words, and of streams."""

import json
from pathlib import Path

import pytest
from builders_live import at, message, online

from bot.recording import Recorder, RecordingSettings
from bot.turn import TurnOutcome
from memory import Batch, Removals, ReplyState, Said, Turn, VirtualClock, erase_recorded


@pytest.mark.parametrize(("state", "written"), [("sent", ["Birba, che nome"]), ("ambiguous", []), ("withheld", [])])
def test_only_what_the_memory_keeps_of_the_bots_words_is_written(tmp_path: Path, state: ReplyState, written: list[str]) -> None:
    """Of what may not have arrived the memory keeps nothing: nothing could take it out of the recording again."""
    recorder = Recorder(RecordingSettings(directory=tmp_path), VirtualClock(at(0)), verb_of=lambda _: None)
    recorder.heard(online(), at(0))
    asked = message("che nome ha?", seconds=9, message_id="b9")
    said = Said(state=state, text="Birba, che nome", reply_id="r9", at=at(10), in_reply_to=("b9",))
    batch = Batch(stream_id="s1", lines=(asked,), closed_at=asked.at)
    recorder.over(TurnOutcome(turn=Turn(batch=batch, recall=None, said=said), new_lines=1, seconds={}))
    recorder.finish()
    lines = [json.loads(line) for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert [line["text"] for line in lines if line["type"] == "reply"] == written


def test_a_wipe_takes_the_titles_of_its_streams_out_of_recordings(tmp_path: Path) -> None:
    recorder = Recorder(RecordingSettings(directory=tmp_path), VirtualClock(at(0)), verb_of=lambda _: None)
    recorder.heard(online(), at(0))
    recorder.finish()
    [path] = tmp_path.glob("*.jsonl")
    assert "Serata" in path.read_text()
    wiped = Removals(tombstones={("viewer", "*"): round(at(5).timestamp() * 1000)})
    assert erase_recorded(tmp_path, wiped) == 1
    [event] = map(json.loads, path.read_text().splitlines())
    assert (event["stream_id"], event.get("title")) == ("s1", None)
    assert erase_recorded(tmp_path, wiped) == 0
