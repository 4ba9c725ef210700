"""Turns for the prompt and the responders, built from a few words."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fakes.llm_server import FakeLlmServer

from bot.addressing import Addressing
from bot.llm import LanguageModel
from bot.llm_values import ChatMessage, Completion, LlmSettings, Tool, ToolCall
from memory import (
    Batch,
    Block,
    BotIdentity,
    Channel,
    HistoryLine,
    Item,
    Message,
    Plan,
    Recall,
    Section,
    StepTrace,
    Stream,
    Viewer,
    Window,
)  # fmt: skip

NOW = datetime(2026, 2, 12, 20, 15, tzinfo=UTC)
PAST = datetime(2026, 2, 10, 19, 0, tzinfo=UTC)
BOT = BotIdentity(id="bot-1", login="ricordo", name="Ricordo", aliases=("centralino",))
MARTA = Viewer(id="1", login="marta", name="Marta")
ZENO = Viewer(id="2", login="zeno", name="Zeno")
STREAM = Stream(
    id="s1",
    channel=Channel(id="c", login="canale", name="Canale"),
    bot=BOT,
    started_at=NOW - timedelta(hours=1),
    title="Una serata al faro",
    category="Just Chatting",
)


def addressing() -> Addressing:
    return Addressing(BOT)


def message(text: str, user: Viewer = MARTA, id_: str = "m1", at: datetime = NOW) -> Message:
    return Message(id=id_, at=at, user=user, text=text)


def batch_of(*messages: Message) -> Batch:
    return Batch(stream_id="s1", lines=messages, closed_at=NOW)


def past_line(text: str, user: Viewer = ZENO, id_: str = "h1", *, reply: bool = False) -> HistoryLine:
    author = Viewer(id=BOT.id, login=BOT.login, name=BOT.name) if reply else user
    return HistoryLine(id=id_, at=NOW - timedelta(minutes=5), kind="reply" if reply else "message", author=author, text=text)


def item(
    words: str,
    section: Section = "recall",
    *,
    subject: Viewer | None = MARTA,
    author: Viewer | None = MARTA,
    kind: str = "message",
    current: bool = True,
    at: datetime = PAST,
) -> Item:  # fmt: skip
    by = f" secondo {author.name}:" if author and subject and author != subject else ""
    return Item(
        section=section,
        source=section,
        subject=subject.id if subject else None,
        author=author.id if author else None,
        text=f'- [{subject.name if subject else "live"} · 2026-02-10, 2 giorni fa]{by} "{words}"',
        provenance=(f"p-{words[:8]}",),
        tokens=10,
        score=0.5,
        at=at,
        current=current,
        kind=kind,
        words=words,
        subject_name=subject.name if subject else None,
        author_name=author.name if author else None,
    )


def recall_of(
    *items: Item,
    history: Sequence[HistoryLine] = (),
    plan: Plan | None = None,
    abstained: bool = False,
    late: tuple[str, ...] = (),
    text: str | None = None,
) -> Recall:  # fmt: skip
    lines = "\n".join(("<memory>", "## Richiamo memoria mirato", *(one.text for one in items), "</memory>"))
    block = Block(text=(lines if items else "") if text is None else text, items=items, tokens=10, abstained=abstained)
    return Recall(
        plan=plan or Plan(language="it"),
        window=Window(stream_id="s1", lines=tuple(history)),
        block=block,
        steps=(StepTrace(step="retrieve", state="timed_out" if late else "ok", seconds=0.1),),
        timed_out=late,
    )


SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = Tool(name="note_set", description="Keep a note.", parameters={"type": "object", "properties": {}})
ASK = (ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Hello?"))
ASKED_TOOL = (
    ChatMessage(role="user", content="note it"),
    ChatMessage(role="assistant", tool_calls=(ToolCall(id="c0", name="note_set", arguments={"id": "n"}),)),
    ChatMessage(role="tool", content="done", tool_call_id="c0"),
)


def model_of(server: FakeLlmServer, path: Path | None = None, **changes: object) -> LanguageModel:
    values: dict[str, Any] = {"timeout_seconds": 20.0, "retries": 1, "api_key": "sk-secret-0123456789", **changes}
    return LanguageModel(LlmSettings(base_url=server.url, model="fake-1", **values), capabilities_path=path)


async def ask(server: FakeLlmServer, **changes: object) -> Completion:
    async with model_of(server, None, **changes) as model:
        return await model.chat(ASK)
