"""A chat with a real memory and a language model that calls tools, over real HTTP."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders_live import message
from builders_obey import Chat, a_chat
from fakes.llm_server import Answer, FakeLlmServer, Fault

from bot.llm import LanguageModel
from bot.llm_values import LlmSettings
from bot.persona import RICORDO
from bot.prompt import PromptLimits
from bot.reply import LlmResponder
from bot.tool_rounds import ToolLimits
from bot.tools import Toolbox
from memory import DOMAINS, Message, StateRecord


def asks(name: str, /, **arguments: Any) -> Answer:  # noqa: ANN401 - any JSON
    """The model calls one tool."""
    return calls_all((name, arguments))


def calls_all(*pairs: tuple[str, dict[str, Any] | str]) -> Answer:
    """The model calls several tools at once, with null content; arguments may be broken JSON."""
    made = tuple((name, given if isinstance(given, str) else json.dumps(given)) for name, given in pairs)
    return Answer(text=None, tool_calls=made, finish_reason="tool_calls")


def to_bot(text: str, *, by: str = "alice", seconds: float = 30, **more: Any) -> Message:  # noqa: ANN401 - any field
    return message(f"ricordo_bot {text}", by=by, seconds=seconds, message_id=f"q{seconds}-{by}", **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A chat, and the server behind the bot."""

    chat: Chat
    server: FakeLlmServer

    async def hears(self, *messages: Message) -> list[str]:
        """Play messages to their end; return what the bot said."""
        before = len(self.chat.heard)
        await self.chat.play(*messages)
        await self.chat.loop.flush("end")
        return self.chat.heard[before:]

    async def records(self) -> list[StateRecord]:
        return await self.chat.memory.state(DOMAINS, self.chat.clock.now())

    def results(self) -> list[dict[str, Any]]:
        """What the model was told of its calls, in the last conversation."""
        sent = self.server.requests[-1]["messages"]
        return [json.loads(one["content"]) for one in sent if one["role"] == "tool"]


@asynccontextmanager
async def a_talk(
    directory: Path,
    *script: Answer | Fault,
    quirks: Sequence[str] = (),
    limits: ToolLimits | None = None,
    timeout_seconds: float = 20.0,
    stream: bool = False,
    **more: Any,  # noqa: ANN401 - what `a_chat` takes
) -> AsyncIterator[Talk]:
    async with FakeLlmServer(script, quirks=quirks) as server:
        settings = LlmSettings(
            base_url=server.url, model="fake-1", retries=0, timeout_seconds=timeout_seconds, stream=stream, temperature=0
        )
        async with LanguageModel(settings) as model:

            def responder(memory: Any, addressing: Any, deleted: Any) -> LlmResponder:  # noqa: ANN401 - as `a_chat` gives them
                box = Toolbox(
                    memory,
                    able=lambda: model.capabilities.tools,
                    taken_back=lambda scene: deleted.touches(scene.batch, None),
                    forgetme="!dimenticami",
                )
                return LlmResponder(
                    model,
                    persona=RICORDO,
                    addressing=addressing,
                    limits=PromptLimits(),
                    tools=box,
                    tool_limits=limits or ToolLimits(),
                )

            async with a_chat(directory, responder=responder, **more) as chat:
                await chat.loop.flush("end")
                server.requests.clear()
                yield Talk(chat=chat, server=server)
