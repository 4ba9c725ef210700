import stat
from pathlib import Path

import pytest

from bot.live_errors import TokenFileBroken, TokenFileUnsafe
from bot.tokens import TokenPair, load_tokens, save_tokens

PAIR = TokenPair(access="access-x", refresh="refresh-x")


def test_tokens_come_back_as_they_were_saved_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens.json"
    save_tokens(path, {"bot": PAIR})
    save_tokens(path, {"bot": PAIR, "broadcaster": TokenPair(access="b", refresh="c")})
    assert load_tokens(path)["bot"] == PAIR
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["tokens.json"]


def test_a_missing_file_holds_no_tokens(tmp_path: Path) -> None:
    assert load_tokens(tmp_path / "tokens.json") == {}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "tokens.json"
    save_tokens(path, {"bot": PAIR})
    path.chmod(mode)
    with pytest.raises(TokenFileUnsafe, match=f"chmod 600 {path}") as caught:
        load_tokens(path)
    assert "access-x" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"tokens": []}', '{"tokens": {"bot": {}}}', '{"tokens": {"bot": "refresh-x"}}', "\x00"]
)
def test_a_broken_file_is_named_and_never_quoted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(TokenFileBroken, match="holds no tokens") as caught:
        load_tokens(path)
    assert "refresh-x" not in str(caught.value)


def test_a_write_that_fails_leaves_the_old_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    save_tokens(path, {"bot": PAIR})
    with pytest.raises(TypeError):
        save_tokens(path, {"bot": TokenPair(access=b"bytes", refresh="r")})  # type: ignore[arg-type] # what cannot be written
    assert load_tokens(path) == {"bot": PAIR}
    assert [file.name for file in tmp_path.iterdir()] == ["tokens.json"]


def test_a_pair_does_not_show_its_tokens_when_printed() -> None:
    assert "access-x" not in repr(PAIR)
    assert "refresh-x" not in repr(PAIR)
