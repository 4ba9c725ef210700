"""What viewers say about others: kept apart, shown as theirs, and erased with either. Through the memory's front door."""

from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, asked, opened
from builders_recall import NOON, a_viewer
from builders_told import everything_in, facts, items, line, past

from memory import CorrectRequest, Deletion, Document, ForgetRequest, Item, Limits, Memory, Recipe

CARLA = a_viewer("303", "Carla")
SEEN = line("m0", "ciao a tutti", user=BOB, after=-8500)  # a name is somebody's once they have written


async def claims(memory: Memory, viewer_id: str = "202") -> list[Document]:
    return await memory.claims(viewer_id)


async def told(memory: Memory, *texts: str) -> None:
    await past(memory, SEEN, *(line(f"m{n}", text, after=-8000 + 100 * n) for n, text in enumerate(texts, start=1)))


def claimed(found: list[Item]) -> list[Item]:
    return [item for item in found if item.kind == "claim"]


async def test_what_one_says_of_another_is_a_claim_and_nobodys_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce")
        (claim,) = await claims(memory)
        assert (claim.kind, claim.subject, claim.author, claim.provenance) == ("claim", "202", "101", ("m1",))
        assert await claims(memory, "101") == [claim]
        for viewer in ("101", "202"):
            assert await facts(memory, viewer) == []
            assert await memory.facts(viewer) == []
            assert all(one.kind == "message" for one in await memory.documents_of(viewer))
        assert (await memory.held("202")).claims == 1
        assert claim in (await memory.export("101"))["memories"]
        assert claim in (await memory.export("202"))["memories"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@bob ha un cane di nome Fido", "pet"),
        ("a Bob piace la pizza", "like"),
        ("Bob works at the library", "workplace"),
        ("ragazzi Bob fa il cuoco", "profession"),
    ],
)
async def test_the_rules_for_oneself_read_what_is_said_of_others(tmp_path: Path, text: str, said: str) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, text)
        assert [one.predicate.split(":")[0] for one in await memory.fact_history("202")] == [said]


@pytest.mark.parametrize(
    "text",
    [
        "Bob vive a Lecce?",
        "se Bob vive a Lecce ci andiamo",
        "Bob dice che vive a Lecce",
        "Bob è il moderatore",
        "Dario vive a Lecce",
        "Alice vive a Lecce",
        "Bob is the owner of the bot",
        "scherzo, Bob vive a Lecce",
    ],
)
async def test_what_is_asked_supposed_reported_or_claims_a_role_is_no_claim(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, text)
        assert await claims(memory) == []
        assert await claims(memory, "101") == []


async def test_a_claim_answers_where_the_viewers_own_memory_has_nothing_and_names_who_said_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce")
        (item,) = claimed(await items(memory, "dove vive Bob?", user=CARLA))
        assert (item.subject, item.author, item.section) == ("202", "101", "episode")
        assert "Alice" in item.text
        assert claimed(await items(memory, "che lavoro fa Bob?", user=CARLA)) == []


async def test_what_a_viewer_says_of_themselves_outranks_what_others_say(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, SEEN, line("m1", "Bob vive a Lecce"), line("m2", "vivo a Torino", user=BOB, after=-6000))
        found = await items(memory, "dove vive Bob?", user=CARLA)
        assert claimed(found) == []
        assert any("Torino" in item.text for item in found)


async def test_who_asks_about_themselves_is_not_told_what_others_say_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce")
        assert claimed(await items(memory, "dove vivo?", user=BOB)) == []


async def test_claims_can_be_switched_off(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=Recipe(limits=Limits(claim_hits=0))) as memory:
        await told(memory, "Bob vive a Lecce")
        assert claimed(await items(memory, "dove vive Bob?", user=CARLA)) == []


async def test_a_newer_claim_of_the_same_speaker_ends_the_older_and_others_claims_stand(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(
            memory,
            SEEN,
            line("m1", "Bob vive a Lecce", after=-8000),
            line("m2", "Bob vive a Udine", user=CARLA, after=-7900),
            line("m3", "Bob si è trasferito a Roma", after=-7800),
        )
        assert sorted(one.provenance for one in await claims(memory)) == [("m2",), ("m3",)]


@pytest.mark.parametrize("whose", ["101", "202"])
async def test_forgetting_either_of_the_two_erases_the_claim(tmp_path: Path, whose: str) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce")
        (claim,) = await claims(memory)
        await memory.forget(ForgetRequest(scope="viewer", at=NOON, viewer_id=whose))
        assert await claims(memory) == []
        await memory.run_jobs()
        assert (claim.text.split("\n")[1] in everything_in(tmp_path)) is False
        assert ("Lecce" in everything_in(tmp_path)) is (whose == "202")  # the message is Alice's


async def test_a_claim_about_who_was_forgotten_does_not_come_back_when_its_line_is_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce e ci sta bene")
        await memory.forget(ForgetRequest(scope="viewer", at=NOON, viewer_id="202"))
        await memory.run_jobs()
        await memory.correct(CorrectRequest(at=NOON, viewer_id="101", old="bene", new="benissimo"))
        await memory.run_jobs()
        assert await claims(memory) == []


async def test_of_who_opted_out_nothing_is_claimed(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, SEEN)
        await memory.opt_out("202", NOON)
        await past(memory, line("m1", "@bob vive a Lecce", after=30))
        assert await claims(memory) == []


async def test_a_deleted_message_takes_its_claim_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce", "Bob si è trasferito a Roma")
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m2"))
        assert [one.provenance for one in await claims(memory)] == [("m1",)]


async def test_an_answer_to_somebody_speaks_to_them_and_not_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, SEEN, line("m1", "@bob vive a Lecce", reply_to="m0"))
        assert await claims(memory) == []
        assert (await memory.recall(asked("dove vive Bob?", user=ALICE))).block.items == ()


async def test_words_of_a_claim_are_forgotten_with_the_words_of_whom_it_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce", "Bob fa il cuoco")
        await memory.forget(ForgetRequest(scope="words", at=NOON, viewer_id="202", words="il cuoco"))
        assert [one.provenance for one in await claims(memory)] == [("m1",)]


async def test_after_forgetting_everything_no_table_holds_a_word(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await told(memory, "Bob vive a Lecce", "vivo a Verona", "mi sono trasferita a Udine")
        await memory.forget(ForgetRequest(scope="everything", at=NOON))
        await memory.run_jobs()
        held = everything_in(tmp_path).casefold()
        assert [word for word in ("lecce", "verona", "udine") if word in held] == []
        assert 'insert into "decision"' not in held
        assert 'insert into "edge"' not in held
