"""`ricordo memory show --as-of --known-at`, `history`, `undo`, `rollback`, on a small memory, run in this process."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from builders_cli import Run
from builders_memory import BOB, opened
from builders_recall import CHANNEL
from builders_told import line, past

from bot.app import remember_channel
from memory import UseEmbedder


def a_memory(folder: Path) -> Path:
    async def build() -> None:
        embedder = UseEmbedder()
        async with opened(folder, embedder) as memory:
            await past(
                memory,
                line("m1", "vivo a Torino", after=-90_000),
                line("m2", "mi sono trasferita a Bologna"),
                line("m3", "adoro il gelato", user=BOB),
            )
        await embedder.close()
        remember_channel(folder, CHANNEL)

    asyncio.run(build())
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_memory(tmp_path_factory.mktemp("memory") / "m")


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


def history(run: Run, viewer: str = "alice") -> list[dict[str, object]]:
    code, shown, _ = run("memory", "history", viewer, "--json")
    assert code == 0
    found: list[dict[str, object]] = json.loads(shown)
    return found


@pytest.mark.usefixtures("data")
def test_both_axes_of_time_can_be_asked(run: Run) -> None:
    code, shown, _ = run("memory", "show", "alice", "--as-of", "2026-03-01T01:00:00Z")
    assert code == 0
    assert "facts, as of 2026-03-01" in shown
    assert "vivo a Torino" in shown
    assert "Bologna" not in shown
    _, before, _ = run("memory", "show", "alice", "--as-of", "2026-03-01", "--known-at", "2026-02-01")
    assert "facts, as of" in before
    assert "none" in before


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("option", ["--as-of", "--known-at"])
def test_what_is_no_date_is_said(run: Run, option: str) -> None:
    code, _, told = run("memory", "show", "alice", option, "ieri")
    assert code == 2
    assert f"{option} 'ieri' is no date" in told


@pytest.mark.usefixtures("data")
def test_a_history_tells_four_times_what_replaced_it_and_by_which_step(run: Run) -> None:
    old, new = history(run)
    assert old["superseded_by"] == new["id"]
    code, shown, _ = run("memory", "history", "alice", "--slot", "home")
    assert code == 0
    assert f"replaced by {new['id']}" in shown
    assert "assert (new)" in shown
    assert "end (time)" in shown
    assert "from m1" in shown
    assert "there are home" in run("memory", "history", "alice", "--slot", "pet")[1]


@pytest.mark.usefixtures("data")
def test_undo_and_its_own_undo_change_what_is_shown(run: Run) -> None:
    _, new = history(run)
    code, shown, _ = run("memory", "undo", str(new["id"])[:10])
    assert code == 0
    assert "taken back: 2 facts" in shown
    assert "vivo a Torino" in run("memory", "show", "alice")[1].split("messages")[0]
    act = shown.split("undo ")[1].split("`")[0]
    assert run("memory", "undo", act)[0] == 0
    assert "Torino" not in run("memory", "show", "alice")[1].split("messages")[0]
    assert run("memory", "undo", "act-none")[0] == 2
    assert "nothing was changed" in run("memory", "undo", "act-999")[1]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("what", ["act-999", "no-such-fact"])
def test_taking_back_what_there_is_not_fails_and_says_where_to_look(run: Run, what: str) -> None:
    code, shown, told = run("memory", "undo", what)
    assert code == 1
    assert "nothing was changed" in shown
    assert "ricordo memory history" in told
    code, shown, told = run("memory", "undo", what, "--json")
    assert (code, json.loads(shown)["documents"]) == (1, 0)


@pytest.mark.usefixtures("data")
def test_a_rollback_of_nothing_fails(run: Run) -> None:
    code, _, told = run("memory", "rollback", "alice", "--since", "2999-01-01")
    assert (code, "stated nothing since then" in told) == (1, True)


@pytest.mark.usefixtures("data")
def test_a_rollback_takes_one_authors_facts_back_and_is_in_the_audit(run: Run) -> None:
    code, shown, _ = run("memory", "rollback", "alice", "--since", "2026-03-01", "--json")
    assert code == 0
    assert json.loads(shown)["documents"] == 2
    assert "facts: 1" in run("memory", "show", "bob")[1]
    assert "vivo a Torino" in run("memory", "show", "alice")[1].split("messages")[0]
    assert "rollback of 101" in run("audit")[1]


@pytest.mark.usefixtures("data")
def test_the_shares_of_the_steps_are_counted(run: Run) -> None:
    assert "1 settled: time 1 (100%)" in run("memory", "stats")[1]
    assert json.loads(run("memory", "stats", "--json")[1])["settled_conflicts"]["time"] == 1


@pytest.mark.usefixtures("data")
def test_a_moment_that_is_none_is_refused_as_it_was_written(run: Run) -> None:
    code, _, told = run("memory", "rollback", "alice", "--since", "garbage")
    assert code == 2
    assert "--since 'garbage' is no date" in told
