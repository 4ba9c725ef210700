"""What every embedder shares: cleaning before the model, checking and scaling after it. No I/O."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from memory.embed.clean import clean
from memory.errors import ModelUnavailable
from memory.ports import Vectors

_TINY = 1e-12
Call = Callable[[Sequence[str]], Awaitable[Vectors]]


async def embed_cleaned(texts: Sequence[str], dimension: int, call: Call, *, batch: int) -> Vectors:
    """Return one row a text: cleaned texts go to `call`, `batch` at a time, so that a question need not wait for a long list.

    A text of which nothing is left gets a zero row; the model does not see it.
    """
    cleaned = [clean(text) for text in texts]
    filled = [row for row, text in enumerate(cleaned) if text]
    vectors = np.zeros((len(texts), dimension), dtype=np.float32)
    for start in range(0, len(filled), batch):
        rows = filled[start : start + batch]
        vectors[rows] = await call([cleaned[row] for row in rows])
    return vectors


def unit_rows(vectors: ArrayLike, *, model: str, count: int, dimension: int | None) -> Vectors:
    """Return `count` finite rows of unit length; a zero row stays zero. `dimension` None: whatever the model gives.

    Raises:
        ModelUnavailable: the model gave another shape, or numbers that are none.
    """
    try:
        rows = np.array(vectors, dtype=np.float32)
    except (ValueError, TypeError) as error:
        msg = f"The embedding model {model} gave rows of different lengths, or no numbers; check the model and its server."
        raise ModelUnavailable(msg) from error
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1] or (dimension is not None and rows.shape[1] != dimension):  # noqa: PLR2004  a matrix
        msg = (
            f"The embedding model {model} gave {rows.shape} instead of ({count}, {dimension or 'any'}); check the model's name."
        )
        raise ModelUnavailable(msg)
    if not np.isfinite(rows).all():
        msg = f"The embedding model {model} gave numbers that are not finite; check the model and its server."
        raise ModelUnavailable(msg)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > _TINY, rows / np.maximum(lengths, _TINY), 0.0).astype(np.float32)
