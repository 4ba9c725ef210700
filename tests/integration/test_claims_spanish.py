"""A third language speaks of others by a file alone: claims in Spanish, through the memory's front door."""

from pathlib import Path

import pytest
from builders_memory import BOB
from builders_recall import CHANNEL, a_clock
from builders_told import facts, line, past
from fakes.hash_embedder import HashEmbedder

from memory import MemorySettings, open_memory

SEEN = line("m0", "hola a todos", user=BOB, after=-8500)


async def claimed(directory: Path, text: str) -> list[tuple[str, str]]:
    settings = MemorySettings(data_dir=directory, languages=("it", "en", "es"))
    async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=a_clock()) as memory:
        await past(memory, SEEN, line("m1", text, after=-8000))
        assert await facts(memory) == []
        assert await facts(memory, "202") == []
        return [(one.predicate, one.object) for one in await memory.fact_history("202") if one.speaker == "101"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bob vive en Sevilla", [("home", "Sevilla")]),
        ("Bob ya no vive en Bilbao", [("not:home", "Bilbao")]),
        ("Bob trabaja en un museo", [("workplace", "museo")]),
        ("Bob es enfermero", [("profession", "enfermero")]),
        ("Bob tiene un gato", [("pet", "gato")]),
        ("Bob toca la guitarra", [("instrument", "guitarra")]),
        ("a Bob le encantan los churros", [("like", "churros")]),
        ("@bob habla catalán", [("language", "catalán")]),
        ("¿Bob vive en Sevilla?", []),
        ("si Bob vive en Sevilla vamos", []),
        ("Bob es el moderador", []),
        ("Darío vive en Sevilla", []),
    ],
)
async def test_what_is_said_of_others_in_spanish_is_their_authors_claim(
    tmp_path: Path, text: str, expected: list[tuple[str, str]]
) -> None:
    assert await claimed(tmp_path, text) == expected
