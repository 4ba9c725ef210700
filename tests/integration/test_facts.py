"""Messages become facts: through the memory's front door, on the real store."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from builders_memory import BOB, asked, opened, shown, tell
from builders_recall import BOT_VIEWER, NOON, a_batch, a_clock, a_stream
from builders_told import current, everything_in, facts, items, line, past, said_of

from memory import BotReply, CorrectRequest, Deletion, Viewer
from memory.consolidate import Consolidator
from memory.extract.rules import Spoken, rule_extractor
from memory.statements import Statement
from memory.store.database import Database

OPEN = "cosa ricordi di me?"


async def test_what_a_viewer_says_of_themselves_becomes_their_fact_with_its_way_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "ciao! vivo a Torino da ottobre"), line("m2", "e che si fa stasera?", user=BOB))
        (fact,) = await facts(memory)
        assert (fact.subject, fact.author, fact.provenance, fact.invalid_at) == ("101", "101", ("m1",), None)
        assert fact.text.startswith("vivo a Torino da ottobre\n(")
        assert fact.valid_at is not None
        assert fact.valid_at.isoformat() == "2025-10-01T00:00:00+00:00"
        assert await facts(memory, "202") == []
        assert (await memory.health()).jobs["ready"] == 0


async def test_a_fact_stands_in_the_profile_and_says_nothing_twice(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "ho un gatto di nome Birba"))
        found = await items(memory, OPEN)
        assert {item.section for item in found} == {"profile"}
        assert sorted(source for item in found for source in item.provenance) == ["m1", "m2"]
        (only,) = [item for item in await items(memory, "dove abito?") if "Torino" in item.text]
        assert only.subject == "101"


async def test_a_question_of_one_kind_gets_no_fact_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "ho un gatto di nome Birba"))
        assert {source for item in await items(memory, "in che città vivo?") for source in item.provenance} == {"m1"}


async def test_what_is_no_statement_becomes_no_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        texts = ("dove vivi?", "vivo sulla luna, scherzo", "se vivessi a Roma...", "sono il moderatore", "Bob vive a Lecce")
        action = replace(line("m9", "vive a Mordor"), is_action=True)
        await past(memory, *(line(f"m{n}", text) for n, text in enumerate(texts)), action)
        assert await facts(memory) == []
        assert await facts(memory, "202") == []


async def test_a_newer_statement_supersedes_and_its_message_is_past_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino", after=-8000), line("m2", "mi sono trasferita a Bologna"))
        assert await current(tmp_path) == ["mi sono trasferita a Bologna"]
        old = next(one for one in await facts(memory) if one.provenance == ("m1",))
        assert old.invalid_at == NOON - timedelta(seconds=7000)
        assert (await said_of(memory))["m1"].invalid_at == old.invalid_at
        assert (await said_of(memory))["m2"].invalid_at is None
        for question in (OPEN, "dove vivo?"):
            assert all("Torino" not in item.text for item in await items(memory, question))
        assert any("Bologna" in item.text for item in await items(memory, "dove vivo?"))


async def test_a_message_that_says_something_else_too_is_not_past(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(
            memory, line("m1", "vivo a Torino e ho un gatto di nome Birba", after=-8000), line("m2", "ora vivo a Bologna")
        )
        assert (await said_of(memory))["m1"].invalid_at is None
        assert any("Birba" in item.text for item in await items(memory, "come si chiama il mio gatto?"))


async def test_a_question_about_an_earlier_moment_gets_what_was_true_then(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino", after=-8000), line("m2", "mi sono trasferita a Bologna"))
        then = NOON - timedelta(seconds=7500)
        block = (await memory.recall(asked("dove vivo?"), as_of=then)).block.text
        assert "Torino" in block
        assert "Bologna" not in block
        assert await current(tmp_path, as_of=then) == ["vivo a Torino"]


async def test_an_ended_fact_is_over_without_a_new_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "faccio il cuoco", after=-8000), line("m2", "ho lasciato il lavoro"))
        assert await current(tmp_path) == ["ho lasciato il lavoro"]


async def test_said_again_it_is_one_fact_that_weighs_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "io vivo a torino!!"))
        (fact,) = await facts(memory)
        assert fact.provenance == ("m1", "m2")
        connection = sqlite3.connect(tmp_path / "memory.db")
        weights = connection.execute("SELECT salience FROM fact").fetchall()
        connection.close()
        assert weights == [(0.9 * 0.75,)]


async def test_a_correction_a_line_later_replaces_what_was_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Como", after=-7000), line("m2", "anzi no, Varese", after=-6990))
        assert await current(tmp_path) == ["anzi no, Varese"]
        assert all("Como" not in item.text for item in await items(memory, "dove vivo?"))


async def test_a_short_answer_to_the_bots_question_is_a_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream("s0", after=-9000))
        await memory.record_reply("s0", BotReply(at=NOON - timedelta(seconds=7100), text="E tu di dove sei?", id="r1"))
        await tell(memory, a_batch(line("m1", "Torino", reply_to="r1"), stream_id="s0"))
        await memory.run_jobs()
        (fact,) = await facts(memory)
        assert fact.text.startswith("Torino\n(origine")
        assert fact.provenance == ("m1",)


async def test_the_bot_other_bots_and_held_viewers_have_no_facts(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        robot = replace(line("m2", "vivo a Bari", user=Viewer(id="303", login="robot", name="Robot")), is_bot=True)
        await past(memory, line("m1", "vivo a Torino", user=BOT_VIEWER), robot)
        await past(memory, line("m3", "vivo a Lecce"), held=["101"])
        assert [await facts(memory, id_) for id_ in ("101", "303", BOT_VIEWER.id)] == [[], [], []]


async def test_an_erased_message_takes_its_fact_along_and_what_it_had_ended_is_true_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino", after=-8000), line("m2", "ora vivo a Bologna"))
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m2"))
        assert await current(tmp_path) == ["vivo a Torino"]
        assert (await said_of(memory))["m1"].invalid_at is None
        assert any("Torino" in item.text for item in await items(memory, "dove vivo?"))
        await memory.run_jobs()
        assert "Bologna" not in everything_in(tmp_path)


async def test_in_a_chain_an_erased_link_is_closed_by_the_next(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        lines = (("m1", "vivo a Torino", -8000), ("m2", "ora vivo a Bologna", -7500), ("m3", "ora vivo a Lecce", -7000))
        await past(memory, *(line(id_, text, after=after) for id_, text, after in lines))
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m2"))
        assert await current(tmp_path) == ["ora vivo a Lecce"]
        old = next(one for one in await facts(memory) if one.provenance == ("m1",))
        assert old.invalid_at == NOON - timedelta(seconds=7000)


async def test_a_fact_whose_first_words_are_erased_is_told_by_the_next_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino, in un bugigattolo"), line("m2", "vivo a Torino"))
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m1"))
        assert await facts(memory) == []  # nothing of the erased words is left at any moment
        await memory.run_jobs()
        (fact,) = await facts(memory)
        assert fact.provenance == ("m2",)
        assert "bugigattolo" not in fact.text


async def test_a_fact_that_a_correction_takes_away_is_told_by_who_said_it_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "io vivo a Torino sai"))
        order = CorrectRequest(at=NOON, new="Trento", old="Torino sai", viewer_id="101", by="101", command_id="c1")
        assert (await memory.correct(order)).lines == 1
        await memory.run_jobs()
        assert {one.provenance for one in await facts(memory)} == {("m1",), ("m2", "c1")}
        assert await current(tmp_path) == ["io vivo a Trento"]


class Counting:
    """Reads as the rules do, and notes what it was given."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        self.read += [one.id for one in lines]
        return rule_extractor(("it", "en")).extract(lines)


async def test_the_same_job_again_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "ora vivo a Bologna"), line("m3", "vivo a Bologna"))
        before = await memory.documents_of("101")
        counting = Counting()
        database = await Database.open(tmp_path / "memory.db")
        consolidator = Consolidator(database, lambda: counting, a_clock())
        await consolidator.consolidate([{"lines": ["m1", "m2", "m3"]}, {"turn": "unknown"}])
        await consolidator.consolidate([{"turn": "unknown"}, {"lines": ["m0"]}])
        await database.close()
        assert counting.read == ["m1", "m2", "m3"]
        assert await memory.documents_of("101") == before


async def test_a_message_erased_while_it_is_understood_leaves_no_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream("s0", after=-9000))
        await tell(memory, a_batch(line("m1", "vivo a Torino"), stream_id="s0"))
        database = await Database.open(tmp_path / "memory.db")

        class Erasing(Counting):
            def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
                connection = sqlite3.connect(tmp_path / "memory.db")
                connection.execute("DELETE FROM document WHERE kind = 'message'")
                connection.commit()
                connection.close()
                return super().extract(lines)

        await Consolidator(database, Erasing, a_clock()).consolidate([{"lines": ["m1"]}])
        await database.close()
        assert await facts(memory) == []


async def test_facts_are_found_by_the_question_and_shown_with_whose_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "suono il violoncello"), line("m2", "suono la tromba", user=BOB))
        (text,) = shown(await memory.recall(asked("che strumento suona Bob?")))
        assert "Bob" in text
        assert "tromba" in text
