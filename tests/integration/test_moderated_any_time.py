"""What moderation removes is erased whenever it comes: before the words, while they wait, are answered, worked on, after."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from builders_forget import files_with
from builders_live import at, message
from builders_obey import MOD
from builders_told import everything_in
from builders_tools import Talk, a_talk, asks, to_bot
from fakes.llm_server import Fault, says

from memory import Deletion

SECRETS = ("Zzbirbina", "Zzvillaggio", "Zzviola", "Zzrisata")
STEMS = ("zzbirbin", "zzvillagg", "zzviol", "zzrisat")
WISH = to_bot("segna che porto Zzviola da bere", seconds=30)
HERS = (
    message("il mio gatto si chiama Zzbirbina", seconds=28, message_id="h1"),
    message("Bob vive a Zzvillaggio", seconds=29, message_id="h2"),
)
NOTE = asks("note_set", text="porta Zzviola")
SAYS = says("Zzrisata! Segnato.")
Scope = Literal["message", "user"]
Told = Callable[[Talk, Scope], Awaitable[None]]


async def removed(talk: Talk, scope: Scope) -> None:
    """Moderation takes back all three messages, or times their author out."""
    orders = [Deletion(at=at(40), scope="message", message_id=one.id) for one in (*HERS, WISH)]
    orders = orders if scope == "message" else [Deletion(at=at(40), scope="user", user_id="id-alice")]
    for one in orders:
        await talk.chat.loop.delete(one)


async def heard(talk: Talk) -> None:
    """She says it, in a turn of its own: what a tool is called for is no fact beside its record."""
    await talk.hears(*HERS)
    await talk.hears(WISH)


async def before_they_arrive(talk: Talk, scope: Scope) -> None:
    await removed(talk, scope)
    await talk.hears(*HERS, WISH)


async def while_they_wait_in_the_batch(talk: Talk, scope: Scope) -> None:
    await talk.chat.play(*HERS, WISH)
    await removed(talk, scope)
    await talk.chat.loop.flush("end")


async def while_the_model_answers(talk: Talk, scope: Scope) -> None:
    talk.server.script[:] = [Fault("slow", seconds=0.5, then=NOTE), SAYS]
    await answered_meanwhile(talk, scope, requests=1)


async def while_the_model_answers_after_its_tool_ran(talk: Talk, scope: Scope) -> None:
    talk.server.script[:] = [NOTE, Fault("slow", seconds=0.5, then=SAYS)]
    await answered_meanwhile(talk, scope, requests=2)


async def answered_meanwhile(talk: Talk, scope: Scope, *, requests: int) -> None:
    await talk.hears(*HERS)
    await talk.chat.play(WISH)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.chat.loop.flush("end"))
        for _ in range(requests):
            await talk.server.arrived.wait()
            talk.server.arrived.clear()
        await removed(talk, scope)


async def while_its_jobs_wait(talk: Talk, scope: Scope) -> None:
    await heard(talk)
    await removed(talk, scope)


async def while_its_jobs_run(talk: Talk, scope: Scope) -> None:
    await heard(talk)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.chat.memory.run_jobs())
        await asyncio.sleep(0.02)
        await removed(talk, scope)


async def after_consolidation(talk: Talk, scope: Scope) -> None:
    await heard(talk)
    await talk.chat.memory.run_jobs()
    held = everything_in(directory_of(talk))
    assert [word for word in SECRETS if word not in held] == []
    assert [len(await talk.chat.memory.facts("id-alice")), len(await talk.chat.memory.claims("id-bob"))] == [2, 1]
    await removed(talk, scope)


MOMENTS: tuple[Told, ...] = (
    before_they_arrive,
    while_they_wait_in_the_batch,
    while_the_model_answers,
    while_the_model_answers_after_its_tool_ran,
    while_its_jobs_wait,
    while_its_jobs_run,
    after_consolidation,
)


def directory_of(talk: Talk) -> Path:
    return talk.chat.memory._parts.upkeep._database.path.parent


@pytest.mark.parametrize("scope", ["message", "user"])
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
async def test_what_moderation_removes_is_nowhere_whenever_it_comes(tmp_path: Path, moment: Told, scope: Scope) -> None:
    async with a_talk(tmp_path, NOTE, SAYS) as talk:
        memory, said = talk.chat.memory, len(talk.chat.heard)
        await memory.run_jobs()
        await moment(talk, scope)
        await memory.run_jobs()
        late = moment in {while_its_jobs_wait, while_its_jobs_run, after_consolidation}
        assert talk.chat.heard[said:] == (["Zzrisata! Segnato."] if late else [])  # what was said before cannot be unsaid
        assert await talk.records() == []
        gone = "Birba" if scope == "user" else "nothing of hers before"
        held = everything_in(tmp_path)
        assert [word for word in (*SECRETS, gone) if word.lower() in held.lower()] == []
        assert await memory.claims("id-bob") == []
        assert [fact.provenance for fact in await memory.facts("id-alice")] == ([] if scope == "user" else [("a1",)])
        assert await memory.jobs(state="dead") == []
        await memory._parts.upkeep._background.purger.clean_if_needed()
        assert files_with(tmp_path, *SECRETS, *STEMS) == []
        assert "Nerone" in everything_in(tmp_path)  # what others wrote stays
        await talk.hears(*HERS, WISH)  # a retry, or the log played again
        await memory.run_jobs()
        assert files_with(tmp_path, *SECRETS) == []


async def test_a_cleared_chat_is_out_of_sight_and_stays_in_memory(tmp_path: Path) -> None:
    async with a_talk(tmp_path, NOTE, SAYS, says("Zzrisata?")) as talk:
        memory = talk.chat.memory
        await heard(talk)
        await talk.chat.loop.delete(Deletion(at=at(40), scope="chat"))
        await memory.run_jobs()
        await talk.hears(to_bot("chi sono?", by="carl", seconds=60))
        asked = str(talk.server.requests[-1]["messages"])
        assert "Zzbirbina" not in asked
        assert [fact.object for fact in await memory.fact_history("id-alice")] != []
        assert len(await talk.records()) == 1


async def test_a_moderators_order_and_the_platforms_own_add_up(tmp_path: Path) -> None:
    async with a_talk(tmp_path, NOTE, SAYS) as talk:
        await heard(talk)
        await talk.chat.play(message("!forget #h1", by="mara", seconds=35, badges=MOD, message_id="o1"))
        await removed(talk, "message")
        await removed(talk, "user")
        await talk.chat.memory.run_jobs()
        held: Any = everything_in(tmp_path)
        assert [word for word in SECRETS if word.lower() in held.lower()] == []
