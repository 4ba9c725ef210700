"""The projection of questions: carries a question's vector to where its answers lie.

A model of meaning puts a question next to other questions. What is stored are statements, which often share no word with what
asks for them. The projection is linear, u = (M q + b) / |M q + b|, so that stored vectors stay as they are: only questions pass
through it. `memory.embed.fit` makes it from pairs of a question and a line that answers it, written for this project.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelUnavailable
from memory.ports import Vectors

FITTED = Path(__file__).parent / "projection.npz"
_UNREADABLE = (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError)  # what numpy makes of a damaged file


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A fitted projection of one model's questions."""

    model: str  # whose vectors it is for
    matrix: NDArray[np.float32]  # (dimension, dimension), to be multiplied from the right: q M
    offset: NDArray[np.float32]  # (dimension,)

    @classmethod
    def load(cls, file: Path = FITTED, *, model: str) -> Self:
        """Return the projection in `file`.

        Raises:
            ModelUnavailable: the file is missing or damaged, or was fitted for another model.
        """
        try:
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as held:
                found = cls(
                    model=str(held["model"]),
                    matrix=held["matrix"].astype(np.float32),
                    offset=held["offset"].astype(np.float32),
                )
            found._measure()
        except _UNREADABLE as error:
            msg = f"The projection of questions, {file.name}, cannot be read: {error}. Reinstall Ricordo."
            raise ModelUnavailable(msg) from error
        if found.model != model:
            msg = (
                f"The projection of questions was fitted for {found.model}, not for {model}: `python -m bench.fit_projection`."
            )
            raise ModelUnavailable(msg)
        return found

    def _measure(self) -> None:
        if self.offset.ndim != 1 or self.matrix.shape != self.offset.shape * 2:
            msg = f"a matrix of {self.matrix.shape} and an offset of {self.offset.shape} do not fit together"
            raise ValueError(msg)

    def save(self, file: Path = FITTED) -> None:
        """Write it, in half precision: what that costs in a cosine is below a thousandth."""
        np.savez(file, model=self.model, matrix=self.matrix.astype(np.float16), offset=self.offset.astype(np.float16))

    def of(self, questions: Vectors) -> Vectors:
        """Return where the answers to these questions lie, as unit vectors; a zero vector, of an empty question, stays zero."""
        moved: Vectors = questions @ self.matrix + self.offset
        length = np.linalg.norm(moved, axis=1, keepdims=True)
        empty = ~np.any(questions, axis=1, keepdims=True)
        return np.where(empty, np.float32(0), moved / np.maximum(length, np.finfo(np.float32).tiny))
