"""What Chroma writes to disk without having set it: nothing of vectors that were dropped."""

import platform
from pathlib import Path

import numpy as np
import pytest

from memory.ports import Vectors
from memory.recipes import IndexRun
from memory.store.chroma import ChromaIndex

ROUNDS = 25  # without overwriting, one round in four leaves vectors of the dropped collection in the new one's files


def some(random: np.random.Generator, rows: int) -> Vectors:
    vectors = random.standard_normal((rows, 32)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator, which cannot be asked")
@pytest.mark.parametrize("own_process", [False, True])
async def test_the_files_of_a_new_collection_hold_no_vector_of_a_dropped_one(tmp_path: Path, *, own_process: bool) -> None:
    random = np.random.default_rng(1)
    index = await ChromaIndex.open(tmp_path, run=IndexRun(own_process=own_process))
    for number in range(ROUNDS):
        dropped, kept = some(random, 60), some(random, 3)
        await index.upsert_many([("viewer-1", [f"d{n}" for n in range(60)], dropped)])
        await index.search("viewer-1", dropped[:1], 1)
        await index.drop("viewer-1")
        before = set((tmp_path / "chroma").rglob("*"))
        await index.upsert_many([("viewer-2", ["a", "b", "c"], kept)])
        await index.search("viewer-2", kept[:1], 1)
        files = [path for path in set((tmp_path / "chroma").rglob("*")) - before if path.is_file()]
        assert files
        secrets = [row.astype("<f4").tobytes()[:12] for row in dropped]
        found = [path.name for path in files if any(secret in path.read_bytes() for secret in secrets)]
        assert found == [], f"round {number}"
        await index.drop("viewer-2")
        if not own_process:  # opened again its process would be another one, with a new heap
            await index.close()
            index = await ChromaIndex.open(tmp_path)
    await index.close()
