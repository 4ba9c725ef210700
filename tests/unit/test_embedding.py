from pathlib import Path

import pytest

from memory import EmbedderKind, make_embedder


@pytest.mark.parametrize(("kind", "name"), [("use", "use"), ("e5", "e5"), ("openai", "tiny")])
async def test_every_kind_of_embedder_is_made_without_loading_or_asking_anything(
    kind: EmbedderKind, name: str, tmp_path: Path
) -> None:
    embedder = make_embedder(kind, data_dir=tmp_path, base_url="http://127.0.0.1:9/v1", model="tiny", api_key="none")
    assert name in embedder.name
    assert not (tmp_path / "embeddings.db").exists()
    await embedder.close()
    await embedder.close()
