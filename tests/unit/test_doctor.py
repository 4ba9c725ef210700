import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from string import Formatter

import pytest
from aiohttp import web
from builders_cli import Run
from builders_memory import a_past_stream, opened
from builders_recall import CHANNEL
from fakes.llm_server import FakeLlmServer
from pydantic import SecretStr

from bot.app import remember_channel
from bot.cli import checks
from bot.cli.checks import check_embedder, check_folder, check_llm, check_memory
from bot.cli.doctor_texts import TEXTS, THINGS
from bot.cli.findings import Finding
from bot.cli.memory import size
from bot.cli.place import Place
from config.sections import Embedding, Llm
from config.settings import Settings


def test_a_fresh_machine_is_well_and_is_told_what_is_not_set_up(run: Run) -> None:
    code, shown, _ = run("doctor")
    assert code == 0
    assert "ok    configuration: can be used" in shown
    assert "ok    data directory: data will be made at the first start" in shown
    assert "ok    embedder: use-m3" in shown
    assert "note  language model: none configured" in shown
    assert "note  Twitch: no account: twitch.client_id, twitch.channel missing" in shown


def test_it_speaks_the_language_of_the_configuration_unless_another_is_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ricordo.toml").write_text('[commands]\nlanguage = "it"\n')
    code, shown, _ = run("doctor")
    assert code == 0
    for line in (
        "ok    configurazione: si può usare", "ok    cartella dei dati: data nascerà al primo avvio",
        "nota  modello linguistico: nessuno configurato",
        "nota  Twitch: nessun account: manca twitch.client_id, twitch.channel",
        "`ricordo setup` ne collega uno",
    ):  # fmt: skip
        assert line in shown
    assert "none configured" not in shown
    assert "ok    configuration: can be used" in run("doctor", "--language", "en")[1]
    assert json.loads(run("doctor", "--json")[1])[0]["what"] == "configurazione"


def test_it_says_the_same_things_of_the_same_values_in_both_languages() -> None:
    for name, said in TEXTS.items():
        assert name.partition(".")[0] in THINGS
        english, italian = (
            [{field for _, field, _, _ in Formatter().parse(part) if field} for part in said[language]]
            for language in ("en", "it")
        )
        assert english == italian, name
        assert [bool(part) for part in said["en"]] == [bool(part) for part in said["it"]], name


def test_a_wrong_configuration_is_named_and_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ricordo.toml").write_text("[storrage]\n")
    code, shown, _ = run("doctor", "--json")
    assert code == 1
    (finding,) = json.loads(shown)
    assert finding["state"] == "wrong"
    assert "storage" in finding["text"]


async def _a_memory(folder: Path) -> Place:
    async with opened(folder) as memory:
        await a_past_stream(memory)
    remember_channel(folder, CHANNEL)
    return Place(folder=folder, channel=CHANNEL)


async def test_a_sound_memory_is_ok_and_another_model_is_wrong(tmp_path: Path) -> None:
    place = await _a_memory(tmp_path / "m")
    assert [finding.state for finding in await check_memory(place, None)][:2] == ["ok", "ok"]
    index = (await check_memory(place, "other (8)"))[1]
    assert index.state == "wrong"
    assert "ricordo reindex" in index.advice


def test_numbers_and_sizes_have_the_marks_of_the_language() -> None:
    held = {"title": "casa", "messages": 12_345, "viewers": 1, "size": partial(size, 1_200 << 20)}
    sound = Finding(name="memory.sound", state="ok", values=held)
    assert [part in sound.told("it").text for part in ("12.345 messaggi", "1,2 GiB")] == [True, True]
    assert [part in sound.text for part in ("12,345 messages", "1.2 GiB")] == [True, True]
    assert (size(1, "it"), size(0)) == ("1 byte", "0 bytes")


async def test_missing_vectors_waiting_and_dead_jobs_are_told(tmp_path: Path) -> None:
    place = await _a_memory(tmp_path / "m")
    _change(place, "UPDATE document SET indexed_model = NULL WHERE kind = 'line'")
    _change(place, "UPDATE memory_job SET state = 'ready', created_at = 0")
    _, index, _, jobs = await check_memory(place, None)
    assert (index.state, jobs.state) == ("note", "note")
    assert "without a vector yet" in index.text
    _change(place, "UPDATE memory_job SET state = 'dead'")
    jobs = (await check_memory(place, None))[3]
    assert jobs.state == "wrong"
    assert "ricordo jobs --state dead" in jobs.advice
    told = jobs.told("it")
    assert (told.what, "morti; ritardo: nessuno" in told.text) == ("lavori", True)


async def test_an_index_that_was_compared_lately_says_when_and_one_that_is_gone_says_so(tmp_path: Path) -> None:
    place = await _a_memory(tmp_path / "m")
    drift = (await check_memory(place, None))[2]
    assert (drift.what, drift.state) == ("last comparison", "note")
    _change(place, "UPDATE memory_job SET kind = 'drift', state = 'done' WHERE id = (SELECT min(id) FROM memory_job)")
    drift = (await check_memory(place, None))[2]
    assert (drift.state, "was compared with the database" in drift.text) == ("ok", True)
    assert re.search(r"e corretto, il \d+ [a-z]{3} \d{4}$", drift.told("it").text)
    shutil.rmtree(place.folder / "chroma")
    index = (await check_memory(place, None))[1]
    assert (index.state, "ricordo reindex" in index.advice) == ("wrong", True)


async def test_an_empty_memory_has_nothing_to_compare(tmp_path: Path) -> None:
    async with opened(tmp_path / "m"):
        pass
    drift = (await check_memory(Place(folder=tmp_path / "m", channel=CHANNEL), None))[2]
    assert (drift.state, drift.text) == ("ok", "nothing to compare yet")


def _change(place: Place, statement: str) -> None:
    connection = sqlite3.connect(place.folder / "memory.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


async def test_a_damaged_database_is_wrong(tmp_path: Path) -> None:
    place = await _a_memory(tmp_path / "m")
    _change(place, "PRAGMA journal_mode=DELETE")
    whole = bytearray((tmp_path / "m" / "memory.db").read_bytes())
    for page in range(3, len(whole) // 4096 - 1):
        whole[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    (tmp_path / "m" / "memory.db").write_bytes(whole)
    (finding,) = await check_memory(place, None)
    assert finding.state == "wrong"
    (tmp_path / "m" / "memory.db").write_bytes(b"no database" * 1000)
    assert "no SQLite database" in (await check_memory(place, None))[0].text


def test_a_folder_that_cannot_be_written_and_a_full_disk_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    assert [finding.state for finding in check_folder(tmp_path / "file" / "data")] == ["wrong", "ok"]
    assert check_folder(tmp_path)[0].text.endswith("can be written")
    monkeypatch.setattr(checks, "LITTLE_ROOM", 1 << 62)
    assert check_folder(tmp_path)[1].state == "wrong"


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ('{"data": [{"id": "m:latest"}]}', "ok"),
        ('{"data": [{"id": "m"}, {"id": "n"}]}', "ok"),
        ('{"data": [{"id": "n"}]}', "wrong"),
        ('{"data": 3}', "ok"),
        ("no JSON", "ok"),
    ],
)
async def test_a_model_that_its_server_does_not_list_is_wrong(body: str, state: str) -> None:
    async with a_server(200, body) as url:
        found = await check_llm(Settings(llm=Llm(base_url=url, model="m")))
    assert found.state == state
    assert ("such as n" in found.advice) == (state == "wrong")


async def test_an_embedder_that_does_not_answer_is_wrong() -> None:
    settings = Settings(embedding=Embedding(kind="openai", base_url="http://127.0.0.1:9/v1", model="m", timeout_seconds=1))
    finding, model = await check_embedder(settings)
    assert (finding.state, model) == ("wrong", None)


async def test_a_language_model_that_answers_is_ok_and_one_that_does_not_is_wrong() -> None:
    async with FakeLlmServer() as server:
        found = await check_llm(Settings(llm=Llm(base_url=server.url, model="m")))
    assert found.state == "ok"
    found = await check_llm(Settings(llm=Llm(base_url="http://127.0.0.1:9/v1", model="m")))
    assert found.state == "wrong"
    assert "does not answer" in found.text


@asynccontextmanager
async def a_server(status: int, body: str = "") -> AsyncIterator[str]:
    """A server that answers every question for its models so."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_get("/v1/models", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(("status", "told"), [(401, "refuses the key"), (503, "a fault of its own"), (404, "answers")])
async def test_the_status_of_a_language_model_is_understood(status: int, told: str) -> None:
    async with a_server(status) as url:
        found = await check_llm(Settings(llm=Llm(base_url=url, model="m", api_key=SecretStr("k"))))
    assert told in found.text
    assert (found.state == "ok") == (status == 404)
