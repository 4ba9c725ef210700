"""`ricordo memory`, `jobs` and `reindex` on a small memory, run in this process."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from builders_cli import Run
from builders_memory import BOB, a_past_stream, opened, tell
from builders_recall import CHANNEL, a_batch, a_message, a_viewer

from bot.app import remember_channel
from memory import Memory, UseEmbedder, WallClock, inspect_memory


async def _renamed(memory: Memory) -> None:
    await a_past_stream(memory)
    later = a_viewer("202", "Roberto")
    await tell(memory, a_batch(a_message("m3", "adesso mi chiamo Roberto", user=later, after=5), stream_id="s1"))
    twin = a_viewer("303", "Alice")
    await tell(memory, a_batch(a_message("m4", "sono \x1b[31mun'altra\u202e", user=twin, after=6), stream_id="s1"))
    await memory.run_jobs()


def a_memory(folder: Path) -> Path:
    async def build() -> None:
        async with opened(folder) as memory:
            await _renamed(memory)
        remember_channel(folder, CHANNEL)

    asyncio.run(build())
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_memory(tmp_path_factory.mktemp("memory") / "m")


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", ["202", "roberto", "@ROBERTO", "Bob"])
def test_a_viewer_is_found_by_id_login_display_name_and_former_name(run: Run, name: str) -> None:
    code, shown, _ = run("memory", "show", name)
    assert code == 0
    assert "Roberto · login roberto · id 202 · formerly" in shown
    assert "il mio gatto si chiama Nerone  [m2]" in shown
    assert "Birba" not in shown


def test_several_viewers_of_one_name_are_told_apart_by_id(run: Run, data: Path) -> None:
    code, _, told = run("memory", "show", "alice")
    assert code == 2
    assert "several viewers are called 'alice'" in told
    assert "303" in told
    assert run("memory", "show", "303", "--data", data)[0] == 0


@pytest.mark.usefixtures("data")
def test_an_unknown_viewer_is_answered_with_the_nearest_names(run: Run) -> None:
    code, _, told = run("memory", "show", "robertto")
    assert code == 1
    assert "nobody called 'robertto' is remembered; did you mean" in told


@pytest.mark.usefixtures("data")
def test_what_chat_wrote_cannot_command_the_terminal(run: Run) -> None:
    _, shown, _ = run("memory", "show", "303")
    assert "sono [31mun'altra" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.usefixtures("data")
def test_a_limit_shows_the_newest_and_says_that_there_is_more(run: Run) -> None:
    _, shown, _ = run("memory", "show", "202", "--limit", "1")
    assert "adesso mi chiamo Roberto" in shown
    assert "Nerone" not in shown.partition("messages remembered")[2]
    assert "add --limit 10" in shown


@pytest.mark.usefixtures("data")
def test_scripts_get_a_viewer_as_json(run: Run) -> None:
    _, shown, _ = run("memory", "show", "202", "--json")
    known = json.loads(shown)
    assert known["viewer"]["former"] == ["bob", "Bob"]
    assert [message["provenance"] for message in known["messages"]] == [["m3"], ["m2"]]
    assert known["messages"][0]["at"].endswith("+00:00")


@pytest.mark.usefixtures("data")
def test_a_search_finds_words_of_everybody_or_of_one_viewer(run: Run) -> None:
    _, shown, _ = run("memory", "search", "gatto", "Nerone")
    assert list(dict.fromkeys(line.split("[")[-1] for line in shown.splitlines())) == ["m2]", "m1]"]
    assert "Roberto: il mio gatto si chiama Nerone" in shown
    _, of_one, _ = run("memory", "search", "gatto", "--viewer", "101", "--json")
    assert {tuple(hit["provenance"]) for hit in json.loads(of_one)} == {("m1",)}


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("words", ["zebra", "???", '" OR collection:"viewer-202', "NEAR(", "*"])
def test_a_search_takes_whatever_is_typed_as_words(run: Run, words: str) -> None:
    code, shown, _ = run("memory", "search", words)
    assert code == 0
    assert "nothing holds these words" in shown


@pytest.mark.usefixtures("data")
def test_stats_count_what_is_there(run: Run) -> None:
    _, shown, _ = run("memory", "stats")
    assert f"memory of {CHANNEL.name}" in shown
    assert "viewers     3" in shown
    figures = json.loads(run("memory", "stats", "--json")[1])
    assert (figures["messages"], figures["turns"], figures["unindexed"]) == (4, 3, 0)
    assert figures["by_kind"]["message"] == 4


def test_jobs_are_listed_by_state_and_kind(run: Run, data: Path) -> None:
    _, shown, _ = run("jobs", "--state", "done", "--kind", "index")
    assert shown.count("index") == 5
    assert "consolidate" not in shown
    assert json.loads(run("jobs", "--state", "dead", "--json", "--data", data)[1]) == []
    assert run("jobs", "--state", "lost")[0] == 2


def test_jobs_are_buried_and_tried_again(run: Run, data: Path) -> None:
    _spoil(data)
    assert "buried by hand" not in run("jobs", "--state", "dead")[1]
    assert run("jobs", "bury", "1")[1] == "1 job buried\n"
    assert "buried by hand" in run("jobs", "--state", "dead")[1]
    assert "1 job due again" in run("jobs", "retry", "1")[1]
    code, _, told = run("jobs", "retry", "1", "999")
    assert code == 1
    assert "1 of 2 jobs due again" in told


def test_jobs_are_buried_and_tried_again_while_the_bot_runs(run: Run, data: Path) -> None:
    _spoil(data)

    async def with_a_bot() -> None:
        async with opened(data) as memory:
            assert (await asyncio.to_thread(run, "jobs", "bury", "1"))[0] == 0
            assert [job.id for job in await memory.jobs(state="dead")] == [1]
            assert (await asyncio.to_thread(run, "jobs", "retry", "1"))[0] == 0
            assert await memory.run_jobs() == 1

    asyncio.run(with_a_bot())


def test_jobs_say_what_why_since_when_and_when_they_are_tried_again(run: Run, data: Path) -> None:
    _change(
        data,
        "UPDATE memory_job SET state = 'ready', attempts = 3, created_at = 0, run_after = 4102444800000, "
        "last_error = 'ModelUnavailable: the endpoint is away', error_kind = 'temporary' WHERE id = 2",
    )
    _, shown, _ = run("jobs", "-n", "1")
    first = " ".join(shown.splitlines()[1].split())
    assert first.startswith("2 ")
    assert "ready 3 1970-01-01 00:00 2100-01-01 00:00 temporary: ModelUnavailable: the endpoint is away" in first
    assert "lag: 1 job waits, the oldest since" in shown


def test_what_jobs_wait_for_is_told_by_jobs_and_doctor(run: Run, data: Path) -> None:
    assert "out of order" not in run("jobs")[1]
    _change(
        data,
        'INSERT INTO meta (key, value) VALUES (\'outage:embedder\', \'{"since": "2026-03-01T20:00:00+00:00", '
        '"until": "2026-03-01T20:05:00+00:00", "kinds": ["drift", "index"], "why": "away"}\')',
    )
    expected = "embedder: out of order since 2026-03-01 20:00; drift, index jobs wait for it, tried again from 2026-03-01 20:05"
    assert expected in run("jobs")[1]
    assert expected in run("doctor")[1]


def test_draining_runs_what_is_due_and_says_what_is_left(run: Run, data: Path) -> None:
    assert run("reindex")[0] == 0
    _change(data, "UPDATE memory_job SET state = 'ready' WHERE kind = 'index'")
    code, shown, _ = run("jobs", "drain")
    assert code == 0
    assert shown == "5 jobs ran, 0 wait, 0 are dead\n"
    _change(data, "UPDATE memory_job SET state = 'ready', attempts = 1, run_after = 4102444800000 WHERE id = 1")
    code, shown, told = run("jobs", "drain")
    assert code == 1
    assert shown == "0 jobs ran, 1 waits, 0 are dead\n"
    assert "`ricordo jobs` says why" in told

    async def with_a_bot() -> int:
        async with opened(data, UseEmbedder()):
            return (await asyncio.to_thread(run, "jobs", "drain"))[0]

    assert asyncio.run(with_a_bot()) == 3


def _change(data: Path, statement: str) -> None:
    with sqlite3.connect(data / "memory.db") as connection:
        connection.execute(statement)
    connection.close()


def _spoil(data: Path) -> None:
    with sqlite3.connect(data / "memory.db") as connection:
        connection.execute("UPDATE memory_job SET state = 'ready' WHERE id = 1")
    connection.close()


def test_a_change_of_model_is_mended_by_reindex(run: Run, data: Path) -> None:
    code, shown, _ = run("reindex")
    assert code == 0
    assert f"documents of {CHANNEL.name} indexed anew" in shown
    assert "use-m3" in json.loads(run("memory", "stats", "--json")[1])["embedder"]
    (data / "channel.json").unlink()
    code, _, told = run("reindex")
    assert code == 1
    assert "channel.json" in told


def test_a_lost_index_is_built_anew_whole(run: Run, data: Path) -> None:
    assert run("reindex")[0] == 0
    for path in data.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    code, shown, _ = run("reindex", "--whole")
    assert code == 0
    assert shown.startswith("11 documents")


def test_without_a_memory_the_way_to_one_is_told(run: Run, tmp_path: Path) -> None:
    code, _, told = run("memory", "stats")
    assert code == 2
    assert "`ricordo run` makes one" in told
    shutil.copytree(a_memory(tmp_path / "built"), tmp_path / "out" / "demo" / "memory")
    assert "add --data out/demo/memory" in run("memory", "stats")[2]
    assert run("memory", "stats", "--data", "out/demo")[0] == 0


def test_several_channels_are_told_apart_by_login(run: Run, data: Path) -> None:
    other = Path(shutil.copytree(data, data.with_name("channel-77")))
    (other / "channel.json").write_text('{"id": "77", "login": "altra", "name": "Altra"}')
    code, _, told = run("memory", "stats")
    assert code == 2
    assert "several channels (altra, " in told
    assert "memory of Altra" in run("memory", "stats", "--channel", "#Altra")[1]
    assert run("memory", "stats", "--channel", "nessuno")[0] == 2


def test_a_memory_of_another_version_is_left_alone(run: Run, data: Path) -> None:
    with sqlite3.connect(data / "memory.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999_future'")
    connection.close()
    code, _, told = run("memory", "stats")
    assert code == 1
    assert "a newer version wrote it" in told
    with sqlite3.connect(data / "memory.db") as connection:
        connection.execute("DELETE FROM alembic_version")
    connection.close()
    assert "start the bot once" in run("jobs")[2]


async def test_reading_goes_on_while_the_bot_writes(tmp_path: Path) -> None:
    async with opened(tmp_path / "m") as memory:
        await a_past_stream(memory)
        async with inspect_memory(tmp_path / "m", WallClock()) as seen:
            before = await seen.figures()
            await tell(memory, a_batch(a_message("m9", "nuovo", user=BOB, after=7), stream_id="s1"))
            assert (await seen.figures()).messages == before.messages + 1
            assert [stream.id for stream in await seen.streams(5)] == ["s1", "s0"]
            assert await seen.faults() == []
