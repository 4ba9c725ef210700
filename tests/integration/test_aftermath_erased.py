"""What was deleted is not even read to judge what stands before or behind it."""

from pathlib import Path

from builders_recall import NOON, a_batch, a_clock, a_message, a_stream, a_viewer

from memory.events import Deletion
from memory.model import Said, Turn
from memory.record import Recorder
from memory.store import outbox
from memory.store.database import Database
from memory.store.reader import Reader
from memory.store.viewers import ViewerBook


async def test_a_deleted_line_is_behind_nothing_and_answered_by_nothing(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    recorder = Recorder(database, enqueue=outbox.enqueue, clock=a_clock(), book=ViewerBook())
    await recorder.begin_stream(a_stream())
    batch = a_batch(
        a_message("m1", "dove hai messo la tenda?", after=1),
        a_message("m2", "il mio segreto", user=a_viewer("202", "Bob"), after=2),
        a_message("m3", "in cantina", after=3),
    )
    await recorder.observe(batch)
    await recorder.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
    reader = Reader(database)
    assert (await reader.aftermath(["m1"]))["m1"]["other"] == "il mio segreto"
    assert await reader.answered(["m3"]) == {"m3": ("il mio segreto", False)}
    await recorder.delete("s1", Deletion(at=NOON, scope="message", message_id="m2"))
    assert await reader.aftermath(["m1"]) == {"m1": {"own": "in cantina", "answer": "", "other": ""}}
    assert await reader.answered(["m3"]) == {}
    await database.close()
