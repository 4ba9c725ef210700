"""What every embedder keeps: the fake, the default, e5 in its worker, and an OpenAI-compatible endpoint."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
from builders_index import HOSTILE, embeddings_server, use_model
from fakes.hash_embedder import HashEmbedder

from memory.embed.cached import CachedEmbedder
from memory.embed.e5 import E5Embedder, e5_problem
from memory.embed.openai import OpenAIEmbedder
from memory.embed.use import UseEmbedder
from memory.ports import Embedder
from memory.store.embedding_cache import EmbeddingCache


async def _embedder(kind: str, stack: AsyncExitStack, directory: str) -> Embedder:
    if kind == "e5":
        if (problem := e5_problem()) is not None:
            pytest.skip(problem)
        return E5Embedder()
    if kind == "openai":
        server = await stack.enter_async_context(embeddings_server())
        return OpenAIEmbedder(base_url=server.url, api_key="k", model="m")
    if kind == "cached":
        return CachedEmbedder(UseEmbedder(use_model()), EmbeddingCache(Path(directory) / "embeddings.db"), symmetric=True)
    return UseEmbedder(use_model()) if kind == "use" else HashEmbedder()


@pytest.fixture(params=["hash", "use", "e5", "openai", "cached"])
async def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedder]:
    async with AsyncExitStack() as stack:
        made = await _embedder(request.param, stack, str(tmp_path_factory.mktemp("cache")))
        stack.push_async_callback(made.close)
        yield made


async def test_texts_become_unit_rows(embedder: Embedder) -> None:
    rows = await embedder.embed(["mi piace il gatto", "I live in Rome", "lol"])
    assert rows.shape == (3, embedder.dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)


async def test_the_same_text_gives_the_same_bytes(embedder: Embedder) -> None:
    first, second = await embedder.embed(["ho due gatti"]), await embedder.embed(["ho due gatti"])
    assert first.tobytes() == second.tobytes()


async def test_a_batch_equals_its_single_texts(embedder: Embedder) -> None:
    texts = [f"messaggio numero {place} di prova" for place in range(21)]
    together = await embedder.embed(texts)
    for place, text in enumerate(texts):
        assert np.allclose(together[place], (await embedder.embed([text]))[0], atol=2e-3)


async def test_an_empty_text_gives_a_zero_row_among_full_ones(embedder: Embedder) -> None:
    rows = await embedder.embed(["ciao", "", " \n\t", "\u200b\u2060", "ciao"])
    assert not rows[1:4].any()
    assert np.array_equal(rows[0], rows[4])


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimension)


async def test_a_question_gives_one_row(embedder: Embedder) -> None:
    assert (await embedder.embed_query("dove abito?")).shape == (1, embedder.dimension)


async def test_a_question_is_nearer_to_its_answer_than_to_chatter(embedder: Embedder) -> None:
    question = await embedder.embed_query("che animali hai? hai un gatto?")
    answer, chatter = (await embedder.embed(["io ho un gatto nero", "stasera piove forte"])) @ question[0]
    assert answer > chatter


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_text_gives_finite_rows(embedder: Embedder, kind: str) -> None:
    rows = await embedder.embed([HOSTILE[kind], "ciao"])
    assert np.isfinite(rows).all()
    assert rows[1].any()
    assert np.isfinite(await embedder.embed_query(HOSTILE[kind])).all()


async def test_name_and_dimension_say_what_the_index_must_match(embedder: Embedder) -> None:
    await embedder.embed(["ciao"])
    assert "/" in embedder.name
    assert embedder.dimension > 0


async def test_closing_twice_is_fine(embedder: Embedder) -> None:
    await embedder.embed(["ciao"])
    await embedder.close()
    await embedder.close()
