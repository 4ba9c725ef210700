from pathlib import Path

import pytest

from replays.turns import TurnFile

WHOLE = b'{"turn":"a"}\n{"turn":"b"}\n{"turn":"c"}\n'


@pytest.mark.parametrize(
    ("lines", "known", "kept"),
    [
        (WHOLE, "abc", WHOLE),
        (WHOLE, "ab", WHOLE[:26]),
        (WHOLE + b'{"turn":"d', "abcd", WHOLE),
        (WHOLE + b"junk\n[1]\n", "abc", WHOLE),
        (WHOLE, "", b""),
        (b"", "abc", b""),
    ],
)
async def test_lines_are_kept_up_to_the_last_recorded_turn(tmp_path: Path, lines: bytes, known: str, kept: bytes) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(lines)

    async def recorded(turn_id: str) -> bool:
        return turn_id != "" and turn_id in known

    with TurnFile(path) as turns:
        assert await turns.resume(recorded) == kept.count(b"\n")
    assert path.read_bytes() == kept
