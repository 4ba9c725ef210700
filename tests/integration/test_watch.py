"""A running bot looked at: /metrics and /healthz over real HTTP, and the socket in its folder."""

import re
import socket
import stat
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog
from builders_live import Bench, message, online, run
from structlog.testing import capture_logs

from bot.watch import Watch
from bot.watch_server import WatchSettings, watched
from memory import Block, Health, Item, StoreUnavailable

LINE = re.compile(r'^ricordo_[a-z_]+(\{[a-z]+="[a-z0-9_]+"(,le="[0-9.+Inf]+")?\})? -?[0-9.e+-]+$')
HEALTH = Health(
    viewers=2, streams=1, messages=3, turns=1, documents=4, jobs={"ready": 5, "dead": 1}, lag_jobs=5, lag_seconds=2.5,
    embedder="none", dimension=0, problems=("collection viewer-id-alice is lost",),
)  # fmt: skip


class Seen:
    """A bot with a watch on it, and what was answered over the network."""

    def __init__(self, watch: Watch, socket_path: Path, port: int) -> None:
        self.watch = watch
        self.socket_path = socket_path
        self.port = port

    async def get(self, path: str, **more: Any) -> tuple[int, str]:  # noqa: ANN401 - any keyword of aiohttp
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}{path}", **more) as answer:
            return answer.status, await answer.text()

    async def glimpse(self) -> dict[str, Any]:
        connector = aiohttp.UnixConnector(path=str(self.socket_path))
        async with aiohttp.ClientSession(connector=connector) as session, session.get("http://bot/watch") as answer:
            found: dict[str, Any] = await answer.json()
            return found


def a_free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def looked_at(
    folder: Path, bench: Bench | None = None, *, health: Health | None = HEALTH, port: int | None = None
) -> AsyncIterator[Seen]:
    bench = bench or Bench()

    async def of_memory() -> Health:
        if health is None:
            msg = "the disk of alice is full"
            raise StoreUnavailable(msg)
        return health

    watch = Watch(bench.clock, of_memory)
    watch.follow(lambda: bench.loop.counts)
    for outcome in bench.outcomes:
        watch.turn(outcome)
    path = folder / "w.sock"
    async with watched(watch, WatchSettings(socket_path=path, port=a_free_port() if port is None else port)) as open_at:
        yield Seen(watch, path, open_at)


async def an_evening() -> Bench:
    item = Item(
        section="recall", source="viewer:id-alice:recall", subject="id-alice", author="id-alice", text="il gatto Nerone",
        provenance=("m0",), tokens=4, score=1.0,
    )  # fmt: skip
    bench = Bench()
    bench.memory.block = Block(text="il gatto Nerone", items=(item,), tokens=4)
    return await run(
        bench, online(), message("ricordino ciao", by="alice", seconds=1), message("bella", by="bruno", seconds=60)
    )


async def test_metrics_are_well_formed_and_count_what_happened(tmp_path: Path) -> None:
    async with looked_at(tmp_path, await an_evening()) as seen:
        status, text = await seen.get("/metrics")
    assert status == 200
    figures = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in figures if not LINE.match(line)] == []
    assert 'ricordo_events_total{type="message"} 2' in figures
    assert 'ricordo_turns_total{reply="sent"} 1' in figures
    assert 'ricordo_turns_total{reply="silent"} 1' in figures
    assert "ricordo_memories_total 2" in figures
    assert 'ricordo_turn_step_seconds_count{step="total"} 2' in figures
    assert 'ricordo_jobs{state="dead"} 1' in figures
    assert "ricordo_job_lag_seconds 2.5" in figures
    assert 'ricordo_posts_total{state="sent"} 1' in figures
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))


async def test_what_the_inbox_dropped_and_the_watchdog_did_is_in_the_metrics(tmp_path: Path) -> None:
    counted = Counter(dropped=3, repaired=2, repairs_failed=1, unsaid_rate_limited=4, post_failed=4)
    async with looked_at(tmp_path) as seen:
        seen.watch.follow(lambda: counted)
        _, text = await seen.get("/metrics")
        counts = (await seen.glimpse())["counts"]
    for figure in (
        "ricordo_events_dropped_total 3", "ricordo_hearing_repaired_total 2", "ricordo_hearing_repairs_failed_total 1",
        'ricordo_posts_total{state="failed"} 4', 'ricordo_posts_dropped_total{reason="rate_limited"} 4',
    ):  # fmt: skip
        assert figure in text.splitlines()
    assert counts == counted


async def test_no_name_id_or_word_of_chat_is_in_any_answer(tmp_path: Path) -> None:
    bench = await an_evening()
    outcome = bench.outcomes[0]
    recall = outcome.turn.recall
    assert recall is not None
    late = replace(recall, timed_out=("viewer:id-alice:recall",), failed=("lore",))
    said = replace(outcome.turn.said, reason="Alice said no")
    bench.outcomes[0] = replace(outcome, turn=replace(outcome.turn, recall=late, said=said))
    async with looked_at(tmp_path, bench) as seen:
        answers = "".join([(await seen.get("/metrics"))[1], (await seen.get("/healthz"))[1]])
        glimpse = str(await seen.glimpse())
    assert 'ricordo_sources_missing_total{source="recall"} 1' in answers
    assert 'reason="other"' in answers
    for private in ("alice", "Alice", "bruno", "Nerone", "m0", "ciao"):
        assert private not in answers
    assert "Nerone" not in glimpse
    assert "ciao" not in glimpse


async def test_health_is_ok_while_the_memory_answers_and_503_when_it_does_not(tmp_path: Path) -> None:
    async with looked_at(tmp_path) as seen:
        assert await seen.get("/healthz") == (
            200, '{"status": "ok", "problems": 1, "lag_seconds": 2.5, "dead_jobs": 1, "failures": 0}',
        )  # fmt: skip
    async with looked_at(tmp_path, health=None) as seen:
        failing = '{"status": "failing", "reason": "StoreUnavailable"}'
        assert await seen.get("/healthz") == (503, failing)
        assert await seen.get("/metrics") == (503, failing)


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("[::1]:9", 200), ("127.0.0.1:80", 200), ("evil.example", 403), ("evil.example:9", 403)],
)
async def test_a_page_whose_name_points_here_is_refused(tmp_path: Path, host: str, status: int) -> None:
    async with looked_at(tmp_path) as seen:
        assert (await seen.get("/healthz", headers={"Host": host}))[0] == status


async def test_without_a_port_nothing_listens_but_the_socket_of_its_owner(tmp_path: Path) -> None:
    async with looked_at(tmp_path, await an_evening(), port=0) as seen:
        assert seen.port == 0
        assert stat.S_IMODE(seen.socket_path.stat().st_mode) == 0o600
        glimpse = await seen.glimpse()
        turn = glimpse["turns"][-1]
        assert turn["memories"] == [{"section": "recall", "subject": "id-alice", "provenance": ["m0"]}]
        assert turn["asked"] == ["m1-alice"]
        assert glimpse["milliseconds"]["total"].keys() == {"p50", "p95"}
    assert not seen.socket_path.exists()


async def test_a_socket_left_by_a_killed_bot_is_taken_over(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "w.sock"))
    left.close()
    async with looked_at(tmp_path, port=0) as seen:
        assert (await seen.glimpse())["turns"] == []


async def test_a_port_that_is_taken_or_a_path_that_is_too_long_is_said_and_the_bot_goes_on(tmp_path: Path) -> None:
    structlog.reset_defaults()
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    async with looked_at(tmp_path) as first:
        with capture_logs() as logs:
            async with looked_at(deep, port=first.port) as seen:
                assert seen.port == 0
        assert {line["event"] for line in logs} == {"socket_not_opened", "metrics_not_served"}


async def test_only_the_newest_turns_are_kept(tmp_path: Path) -> None:
    bench = await an_evening()
    bench.outcomes *= 30
    async with looked_at(tmp_path, bench, port=0) as seen:
        assert len((await seen.glimpse())["turns"]) == 40


async def test_the_line_of_a_turn_says_what_was_planned_found_and_missing_and_what_it_cost() -> None:
    structlog.reset_defaults()
    with capture_logs() as logs:
        bench = await an_evening()
    line = next(line for line in logs if line["event"] == "turn_finished")
    assert line.keys() >= {"plan", "items", "block_tokens", "degraded", "missing", "model", "prompt_tokens", "total_ms"}
    assert (line["items"], line["said"], line["lines"]) == (1, "sent", 1)
    assert len([entry for entry in logs if entry["event"] == "turn_finished"]) == len(bench.outcomes)
