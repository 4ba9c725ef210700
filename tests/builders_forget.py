"""Orders to forget and to correct, and a look into every byte of a data directory."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from builders_memory import ALICE, BOB
from builders_recall import NOON, a_batch, a_message
from builders_record import put_older_turn
from sqlalchemy import Connection

from memory import Batch, CorrectRequest, ForgetRequest, Item, Memory, Viewer
from memory.store import outbox

LATER = NOON + timedelta(seconds=20)


def forgetting(scope: str, **more: Any) -> ForgetRequest:  # noqa: ANN401 - any field
    return ForgetRequest(**{"scope": scope, "at": LATER, **more})


def correcting(new: str, **more: Any) -> CorrectRequest:  # noqa: ANN401 - any field
    return CorrectRequest(**{"new": new, "at": LATER, **more})


def said(id_: str, text: str, *, user: Viewer = ALICE, after: float = 1, stream_id: str = "s1") -> Batch:
    return a_batch(a_message(id_, text, user=user, after=after), stream_id=stream_id)


def an_item(*provenance: str) -> Item:
    return Item(
        section="recall",
        source="viewer:101:recall",
        subject="101",
        author="101",
        text="x",
        provenance=provenance,
        tokens=1,
        score=1.0,
    )


async def an_older_turn(memory: Memory, *line_ids: str) -> None:
    """Give a turn one document for all its lines too, as older memories have it; the next jobs bring it into the index."""

    def write(connection: Connection) -> None:
        document = put_older_turn(connection, *line_ids)
        payload = {"documents": [document.id]}
        outbox.enqueue(connection, kind="index", key=f"index:older:{document.id}", payload=payload, now=NOON)

    await memory._parts.recorder._database.write(write)


async def everything_held(memory: Memory, *viewers: Viewer, streams: tuple[str, ...] = ("s0", "s1")) -> str:
    """Every text that can be read back, by every door."""
    texts: list[str] = []
    for viewer in viewers or (ALICE, BOB):
        texts += [document.text for document in await memory.documents_of(viewer.id)]
        texts.append(str(await memory.export(viewer.id)))
    for stream_id in streams:
        recall = await memory.recall(a_batch(a_message("look", "@ricordo cosa sai di me?", after=30), stream_id=stream_id))
        texts += [line.text for line in recall.window.lines] + [recall.block.text]
    return "\n".join(texts)


def files_with(directory: Path, *words: str) -> list[str]:
    """The files below `directory` in which a word stands, in UTF-8 or UTF-16, whatever its case."""
    found = []
    for path in sorted(one for one in directory.rglob("*") if one.is_file()):
        content = path.read_bytes()
        forms = [form for word in words for form in _forms(word)]
        found += [path.relative_to(directory).as_posix()] if any(form in content for form in forms) else []
    return found


def _forms(word: str) -> list[bytes]:
    spelled = {word, word.lower(), word.upper(), word.title()}
    return [one.encode(coding) for one in spelled for coding in ("utf-8", "utf-16-le", "utf-16-be")]


def moment(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)
