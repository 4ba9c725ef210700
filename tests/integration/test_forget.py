"""Forgetting through the memory's front door: at once out of reach, then out of every file."""

import asyncio
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from builders_forget import LATER, an_item, an_older_turn, everything_held, files_with, forgetting, moment, said
from builders_memory import BOB, a_past_stream, asked, opened, shown, tell
from builders_recall import NOON, a_batch, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from memory import (
    BotReply,
    CachedEmbedder,
    Deletion,
    EmbeddingCache,
    ForgetRequest,
    InvalidRow,
    Memory,
    Plan,
    Recall,
    Said,
    StateCall,
    Turn,
    Vectors,
    Window,
)
from memory.model import Block
from memory.store import stems

CAT = asked("come si chiama il mio gatto?")


def files_holding(directory: Path, content: bytes) -> list[str]:
    return [path.name for path in sorted(directory.rglob("*")) if path.is_file() and content in path.read_bytes()]


ALL_OF_ALICE = forgetting("viewer", viewer_id="101")


async def two_streams(memory: Memory) -> None:
    """Birba and Nerone in a past stream, Alice and Bob in this one, and what the bot said to both."""
    await a_past_stream(memory)
    answer = Said(state="sent", text="Zorro, che nome!", at=NOON, in_reply_to=("m3",), reply_id="r1")
    batch = a_batch(a_message("m3", "e il cane si chiama Zorro", after=1), a_message("m4", "ma dai", user=BOB, after=2))
    await tell(memory, batch, said=answer)
    await memory.run_jobs()


async def test_a_forgotten_viewer_is_out_of_reach_when_the_call_returns(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        receipt = await memory.forget(ALL_OF_ALICE)
        assert (receipt.lines, receipt.replies, receipt.viewer_id) == (2, 1, "101")
        assert receipt.documents >= 3
        held = await everything_held(memory)
        assert not [word for word in ("Birba", "Zorro") if word in held]
        assert "Nerone" in held
        await memory.run_jobs()
        held = await everything_held(memory)
        assert not [word for word in ("Birba", "Zorro") if word in held]
        assert "Nerone" in held
        assert "ma dai" in held


@pytest.mark.parametrize("by", ["order", "moderation"])
async def test_no_word_that_was_forgotten_is_left_in_the_memory_of_the_process(tmp_path: Path, by: str) -> None:
    def remembered(word: str) -> bool:
        before = stems._stems_of.cache_info().hits
        stems.word_stems(word)
        return stems._stems_of.cache_info().hits > before

    async with opened(tmp_path) as memory:
        await two_streams(memory)
        assert remembered("birba")
        if by == "order":
            await memory.forget(ALL_OF_ALICE)
        else:
            await memory.delete("s0", Deletion(at=NOON, scope="user", user_id="101"))
        await memory.run_jobs()
        assert not remembered("birba")


async def test_what_others_wrote_in_the_same_turn_is_found_again_after_the_purge(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        recall = await memory.recall(asked("prima Bob cosa ha detto del gatto nella scorsa live?", user=BOB))
        assert any("Nerone" in text for text in shown(recall))
        assert (await memory.health()).problems == ()


async def test_forgetting_twice_does_no_more_and_what_is_said_later_is_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        await memory.forget(ALL_OF_ALICE)
        await tell(memory, said("m9", "ora ho un pappagallo che si chiama Gino", after=25))
        again = await memory.forget(ALL_OF_ALICE)
        assert again.total == 0
        assert "Gino" in await everything_held(memory)
        assert len(await memory.audit()) == 1


async def test_an_old_log_played_again_does_not_bring_a_forgotten_viewer_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        await tell(memory, said("m1", "il mio gatto si chiama Birba", after=-7000, stream_id="s0"))
        await tell(memory, said("m77", "di Birba non ho mai detto tutto", after=-6000, stream_id="s0"))
        assert "Birba" not in await everything_held(memory)


async def test_words_take_only_the_lines_that_hold_them_in_a_row(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, said("m1", "abito in Via dei Tigli 4"), said("m2", "i tigli sono belli"), said("m3", "Viadei tigli"))
        await tell(memory, said("m4", "anch'io abito in via dei tigli", user=BOB))
        receipt = await memory.forget(forgetting("words", viewer_id="101", words="via DEI tìgli"))
        assert receipt.lines == 1
        held = [document.provenance for document in await memory.documents_of("101")]
        assert held == [("m3",), ("m2",)]
        assert len(await memory.documents_of("202")) == 1


async def test_words_are_forgotten_wherever_in_a_long_line_they_stand(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, said("m1", f"{'bla ' * 2000}abito in via dei Tigli"), said("m2", "bla " * 2000))
        assert (await memory.forget(forgetting("words", viewer_id="101", words="via dei tigli"))).lines == 1
        assert [document.provenance for document in await memory.documents_of("101")] == [("m2",)]


@pytest.mark.parametrize("name", ["message", "memory", "prefix"])
async def test_one_item_goes_by_the_id_of_its_message_or_memory(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        document = (await memory.documents_of("101"))[0].id
        receipt = await memory.forget(
            forgetting("item", id={"message": "m1", "memory": document, "prefix": document[:8]}[name])
        )
        assert (receipt.lines, receipt.viewer_id) == (1, "101")
        held = await everything_held(memory)
        assert "Birba" not in held
        assert "Nerone" in held


async def test_a_viewer_can_forget_nothing_of_somebody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        for request in (
            forgetting("item", id="m2", only="101"),
            forgetting("item", id="r1", only="101"),
            forgetting("viewer", viewer_id="202", only="101"),
            forgetting("words", viewer_id="202", words="Nerone", only="101"),
            forgetting("everything", only="101"),
        ):
            receipt = await memory.forget(request)
            assert (receipt.refused, receipt.total) == (True, 0)
        assert "Nerone" in await everything_held(memory)
        assert await memory.audit() == []


async def test_the_last_message_is_ones_own_or_for_moderators_anybodys(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        mine = await memory.forget(forgetting("last", stream_id="s1", only="101"))
        assert (mine.lines, mine.viewer_id) == (1, "101")
        anybodys = await memory.forget(forgetting("last", stream_id="s1"))
        assert (anybodys.lines, anybodys.viewer_id) == (1, "202")
        assert (await memory.forget(forgetting("last", stream_id="s1"))).total == 0


async def test_an_unknown_or_ambiguous_id_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, said("aaaaaaaa-1", "uno"), said("aaaaaaaa-2", "due"))
        for id_ in ("aaaaaaaa", "zzzzzzzzz", "aaa", "lore:x"):
            assert (await memory.forget(forgetting("item", id=id_))).total == 0
        assert len(await memory.documents_of("101")) == 2


@pytest.mark.parametrize(
    "request_", [forgetting("viewer"), forgetting("words", viewer_id="101", words="?!"), forgetting("item"), forgetting("last")]
)
async def test_a_request_that_names_nothing_is_refused(tmp_path: Path, request_: ForgetRequest) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidRow, match="needs"):
            await memory.forget(request_)


async def test_everything_leaves_the_canon_and_the_streams_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        await memory.apply_state(StateCall(at=NOON, tool="note_set", arguments={"id": "n1", "text": "ricordare il pane"}))
        receipt = await memory.forget(forgetting("everything"))
        assert (receipt.lines, receipt.replies, receipt.records) == (4, 1, 1)
        await memory.run_jobs()
        health = await memory.health()
        assert (health.viewers, health.documents, health.streams, health.messages) == (0, 0, 2, 0)
        assert memory.named("Alice") == ()
        await tell(memory, said("m9", "si ricomincia", after=25))
        assert [document.text for document in await memory.documents_of("101")] == ["si ricomincia"]
        assert [viewer.name for viewer in memory.named("alice")] == ["Alice"]
    assert files_with(tmp_path, "Birba", "Nerone", "Zorro", "pane") == []


class GatedEmbedder(HashEmbedder):
    """Answers questions only when it is let go."""

    def __init__(self) -> None:
        super().__init__(dimension=32)
        self.gate = asyncio.Event()
        self.asked_now = asyncio.Event()

    async def embed_query(self, text: str) -> Vectors:
        self.asked_now.set()
        await self.gate.wait()
        return await super().embed_query(text)


async def test_a_recall_under_way_does_not_bring_out_what_was_forgotten_meanwhile(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    async with opened(tmp_path, embedder) as memory:
        await a_past_stream(memory)
        recalling = asyncio.create_task(memory.recall(CAT))
        await embedder.asked_now.wait()
        await memory.forget(ALL_OF_ALICE)
        embedder.gate.set()
        assert "Birba" not in (await recalling).block.text


async def test_a_reply_made_from_a_forgotten_memory_goes_whoever_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        batch = said("m5", "che gatto ha Alice?", user=BOB)
        recalled = Recall(
            plan=Plan(),
            window=Window(stream_id="s1"),
            block=Block(items=(an_item("m1"),)),
        )
        answer = Said(state="sent", text="Birba", at=NOON, in_reply_to=("m5",), reply_id="r1")
        await memory.observe(batch)
        await memory.record(Turn(batch=batch, recall=recalled, said=answer))
        assert (await memory.forget(ALL_OF_ALICE)).replies == 1
        await memory.run_jobs()
        held = await everything_held(memory)
        assert "Birba" not in held
        assert "che gatto ha Alice?" in held  # Bob's own words stay his


async def test_an_answer_recorded_after_its_question_was_forgotten_keeps_no_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        batch = said("m1", "il mio gatto si chiama Birba")
        await memory.observe(batch)
        await memory.forget(ALL_OF_ALICE)
        answer = Said(state="sent", text="Birba è un bel nome", at=LATER, in_reply_to=("m1",))
        await memory.record(Turn(batch=batch, recall=None, said=answer))
        await memory.record_reply("s1", BotReply(at=LATER, text="di nuovo Birba", in_reply_to=("m1",), id="r2"))
        await memory.run_jobs()
        assert "Birba" not in await everything_held(memory, streams=("s1",))
    assert files_with(tmp_path, "Birba") == []


async def test_state_about_a_forgotten_viewer_goes_and_a_joke_stays_the_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        for tool, arguments in (
            ("request_open", {"id": "q1", "viewer": "101", "text": "torta"}),
            ("relation_set", {"id": "l1", "subject": "202", "relation": "cugini", "object": "101"}),
            ("joke_add", {"id": "j1", "text": "la teglia", "participants": ["101", "202"]}),
            ("note_set", {"id": "n1", "text": "per tutti"}),
        ):
            await memory.apply_state(StateCall(at=NOON, tool=tool, arguments=arguments))
        assert (await memory.held("101")).records == 3
        assert (await memory.forget(ALL_OF_ALICE)).records == 3
        assert (await memory.held("101")).records == 0
        assert [record.id for record in (await memory.export("202"))["records"]] == ["j1"]


def words_in(text: str) -> list[str]:
    return [f"{word}{number}" for number in range(8) for word in text.split()]


async def test_no_byte_of_what_was_forgotten_is_left_in_any_file(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    directory.mkdir()
    cache = EmbeddingCache(directory / "embeddings.db")
    embedder = CachedEmbedder(HashEmbedder(dimension=32), cache, symmetric=True)
    secrets = ["zzgattobirba", "zzcanezorro", "zzperchézza"]
    async with opened(directory, embedder) as memory:
        await memory.begin_stream(a_stream("s0", after=-7200))
        for number in range(60):
            mine = a_message(
                f"a{number}", f"{' '.join(secrets)} numero {number} {'lungo ' * (number % 9)}", after=-7000 + number
            )
            others = [
                a_message(f"b{number}-{n}", f"chiacchiere {n} {number}", user=BOB, after=-7000 + number) for n in range(3)
            ]
            answer = Said(state="sent", text=f"{secrets[0]} capito", at=moment(-7000), in_reply_to=(mine.id,))
            await tell(memory, a_batch(mine, *others, stream_id="s0"), said=answer)
            if number % 20 == 0:
                await memory.run_jobs()
        await memory.start_worker()
        await asyncio.sleep(0.1)
        await memory.end_stream("s0", NOON - timedelta(seconds=60))
        await memory.begin_stream(a_stream("s1"))
        await memory.recall(asked(secrets[0]))
        assert "memory.db" in "".join(files_with(directory, *secrets))
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        assert await memory.jobs(state="dead") == []
        assert files_with(directory, *secrets, "zzgattobirb", "zzcanezorr", "zzperchezza", "zzperchezz") == []
        assert len(await memory.documents_of("202")) == 180
    assert files_with(directory, *secrets, "zzgattobirb", "zzcanezorr", "zzperchezza", "zzperchezz") == []
    await embedder.close()


async def test_vectors_of_forgotten_words_leave_the_cache_of_embeddings_behind_whatever_stands_before_it(
    tmp_path: Path,
) -> None:
    texts = ["ho una gatta grigia", "anche la mia gatta è grigia"]
    embedder = CachedEmbedder(HashEmbedder(dimension=32), EmbeddingCache(tmp_path / "embeddings.db"), symmetric=True)
    async with opened(tmp_path, embedder) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", texts[0], after=1), a_message("m2", texts[1], user=BOB, after=2)))
        await memory.run_jobs()
        before = embedder.misses
        await embedder.embed(texts)
        assert embedder.misses == before
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        before = embedder.misses
        await embedder.embed(texts)
        assert embedder.misses == before + 1  # both spellings of hers have one vector; what Bob said stays
    await embedder.close()


async def test_the_old_vector_of_a_shared_turn_leaves_the_files_with_the_words_it_was_made_of(tmp_path: Path) -> None:
    embedder = HashEmbedder(dimension=32)
    texts = ["ho una gatta grigia", "anche la mia gatta è grigia"]
    async with opened(tmp_path, embedder) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", texts[0], after=1), a_message("m2", texts[1], user=BOB, after=2)))
        await an_older_turn(memory, "m1", "m2")
        await memory.run_jobs()
        mean = (await embedder.embed(texts)).sum(axis=0) / 2
        old = (mean / np.linalg.norm(mean)).astype("<f4").tobytes()[:12]
        assert files_holding(tmp_path / "chroma", old) != []
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        assert files_holding(tmp_path / "chroma", old) == []
        assert len((await memory.recall(asked("cosa si è detto prima della gatta?", user=BOB))).plan.requests) > 0


async def test_the_copy_that_an_upgrade_left_goes_with_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "memory-before-0001.db").write_text("Birba")
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
    assert files_with(tmp_path, "Birba") == []


async def test_a_viewer_who_was_forgotten_leaves_an_audit_without_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await two_streams(memory)
        await memory.forget(forgetting("words", viewer_id="101", words="Zorro", by="303"))
        [entry] = await memory.audit(viewer_id="303")
        assert (entry.verb, entry.by, entry.viewer_id, entry.lines, entry.replies, entry.at) == (
            "forget",
            "303",
            "101",
            1,
            1,
            LATER,
        )
        assert await memory.audit(viewer_id="202") == []


async def test_the_nightly_cleaning_takes_out_the_bytes_that_moderation_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        nightly = memory._parts.upkeep._background.purger.clean_if_needed
        await nightly()  # nothing was purged yet
        await memory.delete("s0", Deletion(at=LATER, scope="message", message_id="m1"))
        await memory.run_jobs()
        await nightly()
        assert files_with(tmp_path, "Birba", "birb") == []
        assert files_with(tmp_path, "Nerone") != []
