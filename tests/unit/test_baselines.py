"""The baselines: everything in one archive, and the whole chat in the prompt."""

from datetime import UTC, datetime

from fakes.hash_embedder import HashEmbedder

from memory import (
    Batch,
    BotIdentity,
    BotReply,
    Deletion,
    Event,
    HistoryLine,
    Message,
    Notice,
    StateCall,
    StreamEvent,
    Viewer,
    Window,
)
from replays.baselines import TOP, ChatSoFar, FullContext, SingleArchive

AT = datetime(2026, 3, 1, 20, tzinfo=UTC)
ANNA, BRUNO = Viewer(id="1", login="anna", name="Anna"), Viewer(id="2", login="bruno", name="Bruno")
BOT = BotIdentity(id="9", login="memobot", name="Memo")
EMPTY = Window(stream_id="s1")


def message(id_: str, text: str, user: Viewer = ANNA) -> Message:
    return Message(id=id_, at=AT, user=user, text=text)


def online(stream_id: str = "s1") -> StreamEvent:
    return StreamEvent(at=AT, event="online", stream_id=stream_id, bot=BOT)


def chat_of(*events: Event) -> ChatSoFar:
    chat = ChatSoFar()
    for event in (online(), *events):
        chat.see(event)
    return chat


def asked(text: str) -> Batch:
    return Batch(stream_id="s1", lines=(message("q1", text),), closed_at=AT)


def ids(chat: ChatSoFar) -> list[str]:
    return [line.id for line in chat.lines]


async def test_the_archive_finds_the_nearest_lines_whoever_wrote_them() -> None:
    chat = chat_of(
        message("m1", "abito a Vicenza da tre anni"),
        message("m2", "il gatto dorme sul divano", BRUNO),
        message("m3", "abito a Padova da tre anni", BRUNO),
        *(message(f"c{n}", f"giro numero {n}") for n in range(20)),
    )
    recall = await SingleArchive(HashEmbedder()).recall(asked("dove abito da tre anni?"), EMPTY, chat)
    items = recall.block.items
    assert len(items) == TOP
    assert {items[0].provenance, items[1].provenance} == {("m1",), ("m3",)}
    assert {item.provenance: item.subject for item in items}["m3",] == "2"
    assert [item.score for item in items] == sorted((item.score for item in items), reverse=True)
    assert recall.block.tokens == sum(item.tokens for item in items)
    assert recall.block.text.splitlines()[0] == items[0].text


async def test_the_archive_embeds_every_line_once() -> None:
    embedder, chat = HashEmbedder(), chat_of(message("m1", "uno"), message("m2", "due"))
    archive = SingleArchive(embedder)
    await archive.recall(asked("uno"), EMPTY, chat)
    chat.see(message("m3", "tre"))
    await archive.recall(asked("uno"), EMPTY, chat)
    assert sorted(embedder.calls) == ["due", "tre", "uno", "uno", "uno"]


async def test_an_empty_archive_finds_nothing() -> None:
    recall = await SingleArchive(HashEmbedder()).recall(asked("uno"), EMPTY, chat_of())
    assert recall.block.items == ()
    assert not recall.block.abstained


async def test_full_context_shows_every_line_that_the_history_does_not() -> None:
    chat = chat_of(message("m1", "uno"), message("m2", "due"), online("s2"), message("m3", "tre"))
    window = Window(stream_id="s2", lines=(HistoryLine(id="m3", at=AT, kind="message", author=ANNA, text="tre"),))
    recall = await FullContext().recall(asked("?"), window, chat)
    assert [item.provenance for item in recall.block.items] == [("m1",), ("m2",)]
    assert {item.section for item in recall.block.items} == {"episode"}
    assert recall.window == window


def test_the_chat_holds_what_was_said_by_anybody_and_nothing_else() -> None:
    notice = Notice(id="n1", at=AT, kind="resub", user=BRUNO, text="due anni!")
    silent = Notice(id="n2", at=AT, kind="sub", user=BRUNO)
    call = StateCall(at=AT, tool="note_set", arguments={"id": "n"})
    chat = chat_of(message("m1", "uno"), BotReply(id="r1", at=AT, text="certo"), notice, silent, call)
    assert ids(chat) == ["m1", "r1", "n1"]
    assert [(line.author, line.name) for line in chat.lines] == [("1", "Anna"), ("9", "Memo"), ("2", "Bruno")]


def test_moderation_takes_lines_out_of_the_chat() -> None:
    before: list[Event] = [message("m1", "uno"), online("s2"), message("m2", "due"), message("m3", "tre", BRUNO)]
    one = Deletion(at=AT, scope="message", message_id="m3")
    assert ids(chat_of(*before, one)) == ["m1", "m2"]
    assert ids(chat_of(*before, Deletion(at=AT, scope="user", user_id="1"))) == ["m1", "m3"]
    assert ids(chat_of(*before, Deletion(at=AT, scope="chat"))) == ["m1", "m2", "m3"]
