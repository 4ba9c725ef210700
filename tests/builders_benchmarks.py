"""Small invented benchmarks in the schemas of the public ones, and a memory opened as the benchmarks open it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.hash_embedder import HashEmbedder

from bot.app import make_folder
from memory import Clock, Memory, MemorySettings, open_memory
from replays.benchmarks.feeding import CHANNEL
from replays.benchmarks.journal import Journal


@asynccontextmanager
async def opener(folder: Path, clock: Clock) -> AsyncIterator[Memory]:
    make_folder(folder)
    settings = MemorySettings(data_dir=folder)
    async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(), clock=clock) as memory:
        yield memory


def a_journal(folder: Path, **run: str) -> Journal:
    return Journal(folder, {"benchmark": "test", **run})


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def a_turn(dia_id: str, speaker: str, text: str, **more: str) -> dict[str, Any]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, **more}


def a_question(text: str, *evidence: str, category: int = 4, **more: object) -> dict[str, Any]:
    return {"question": text, "evidence": list(evidence), "category": category, **more}


def a_sample(*questions: dict[str, Any], **changes: object) -> dict[str, Any]:
    conversation = {
        "speaker_a": "Noemi",
        "speaker_b": "Tobias",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            a_turn("D1:1", "Noemi", "I adopted a ferret called Pixel yesterday"),
            a_turn("D1:2", "Tobias", "Lovely! I planted forty tulips by the garage", blip_caption="red tulips"),
            a_turn("D1:3", "Noemi", "The weather was grey all week"),
        ],
        "session_2_date_time": "8:00 am on 9 June, 2023",
        "session_2": [
            a_turn("D2:1", "Tobias", "My violin exam went badly"),
            a_turn("D2:2", "Noemi", "I moved to Lisbon for a new job"),
        ],
        "session_3_date_time": "8:00 am on 9 July, 2023",
        **changes,
    }
    return {"sample_id": "conv-1", "conversation": conversation, "qa": list(questions)}


def an_instance(question_id: str = "q1", **changes: object) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "What is the name of my ferret?",
        "answer": "Pixel",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s1", "s2", "s3"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21", "2023/06/01 (Thu) 02:21"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I adopted a ferret, my ferret is called Pixel", "has_answer": True},
                {"role": "assistant", "content": "Congratulations! " * 60},
            ],
            [{"role": "user", "content": "Which tulips grow in shade?"}, {"role": "assistant", "content": "Few of them."}],
            [{"role": "user", "content": "my ferret is called Sooty now"}],
        ],
        **changes,
    }


def a_belief(id_: str, content: str, *, scope: str = "domain:code", **changes: object) -> dict[str, Any]:
    return {
        "_id": id_,
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": id_,
        "aliases": [],
        "content": content,
        "scope": [scope],
        "pinned": False,
        "created_at": "2026-03-01T00:00:00Z",
        **changes,
    }


def a_case(id_: str, query: str, *, expect: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {"caseId": id_, "category": "kind", "scope": ["domain:code"], "query": query, "expect": expect, **changes}


def a_precision_folder(folder: Path, cases: list[dict[str, Any]], *, turns: list[dict[str, Any]] | None = None) -> Path:
    beliefs = [
        a_belief("kubernetes", "Services are deployed to a Kubernetes cluster"),
        a_belief("linting", "Biome is used for linting", pinned=True),
        a_belief("undecided", "Sessions or tokens for login", pinned=True, type="open_question"),
        a_belief("novel", "The Kubernetes of the novel is a ship", scope="domain:writing"),
        a_belief("brief", "Prefers short answers", scope="user:universal"),
    ]
    write(folder / "beliefs.seed.json", beliefs)
    write(folder / "retrieval.cases.json", cases)
    write(folder / "session-retrieval.cases.json", [{"caseId": "s", "turns": turns or []}])
    return folder
