"""The projection of questions, and how it is fitted."""

from pathlib import Path

import numpy as np
import pytest

from memory.embed.fit import PAIRS, Embedded, fit, found_among, read_pairs
from memory.embed.projection import FITTED, Projection
from memory.errors import ModelUnavailable, PairsInvalid
from memory.ports import Vectors

MODEL = "use-m3/0.2.1"


def directions(count: int, dimension: int, *, seed: int = 0) -> Vectors:
    """Unit vectors that point anywhere."""
    drawn = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def a_projection(dimension: int = 32, model: str = "toy/1") -> Projection:
    chance = np.random.default_rng(5)
    turned = np.eye(dimension) + chance.normal(scale=0.1, size=(dimension, dimension))
    return Projection(
        model=model,
        matrix=turned.astype(np.float32),
        offset=chance.normal(scale=0.1, size=dimension).astype(np.float32),
    )


def toy_pairs(*, seed: int = 0, count: int = 24, dimension: int = 16) -> Embedded:
    """Answers lie where a fixed turn takes their questions; of each pair one other line lies where the question itself is."""
    questions = directions(count, dimension, seed=seed)
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((dimension, dimension)))[0].astype(np.float32)
    return Embedded(questions=questions, answers=questions @ turn, others=questions, owner=np.arange(count))


def nearness(questions: Vectors, answers: Vectors) -> float:
    return float(np.mean(np.sum(questions * answers, axis=1)))


def test_the_fitted_one_gives_unit_vectors_and_leaves_an_empty_question_at_zero() -> None:
    questions = np.vstack([directions(5, 512), np.zeros((1, 512), dtype=np.float32)])
    moved = Projection.load(model=MODEL).of(questions)
    assert moved.shape == questions.shape
    assert moved.dtype == np.float32
    assert np.linalg.norm(moved[:-1], axis=1) == pytest.approx(1.0, abs=1e-5)
    assert not moved[-1].any()


def test_one_that_is_written_is_read_again_and_half_precision_costs_less_than_a_thousandth(tmp_path: Path) -> None:
    exact = a_projection()
    exact.save(tmp_path / "p.npz")
    read = Projection.load(tmp_path / "p.npz", model="toy/1")
    questions, lines = directions(40, 32, seed=1), directions(40, 32, seed=2)
    assert np.abs(read.of(questions) @ lines.T - exact.of(questions) @ lines.T).max() < 1e-3


def test_one_of_another_model_is_refused_with_both_names(tmp_path: Path) -> None:
    a_projection(model="toy/1").save(tmp_path / "p.npz")
    with pytest.raises(ModelUnavailable, match=r"toy/1.*toy/2.*fit_projection"):
        Projection.load(tmp_path / "p.npz", model="toy/2")


def _flipped(content: bytes) -> bytes:
    return content[:5000] + bytes([content[5000] ^ 255]) + content[5001:]


@pytest.mark.parametrize(
    "content",
    [b"", b"no projection", FITTED.read_bytes()[:1000], FITTED.read_bytes()[:-200], _flipped(FITTED.read_bytes())],
    ids=["empty", "text", "begun", "no end", "one byte wrong"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"p\.npz, cannot be read.*Reinstall"):
        Projection.load(tmp_path / "p.npz", model=MODEL)


@pytest.mark.parametrize(
    "held",
    [
        {"matrix": np.eye(3)},
        {"matrix": np.ones((2, 3)), "offset": np.ones(3)},
        {"matrix": np.ones((3, 3)), "offset": np.float32(1)},
        {"matrix": np.array(["a"]), "offset": np.ones(1)},
    ],
    ids=["no offset", "not square", "no vector", "no numbers"],
)
def test_a_file_that_holds_no_projection_is_refused(tmp_path: Path, held: dict[str, np.ndarray]) -> None:
    np.savez(tmp_path / "p.npz", model=np.array("toy/1"), **held)  # type: ignore[arg-type] # numpy's stub takes its flag for one
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        Projection.load(tmp_path / "p.npz", model="toy/1")


def test_an_array_alone_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        Projection.load(tmp_path / "missing.npz", model="toy/1")
    np.save(tmp_path / "p.npy", np.eye(3))
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        Projection.load(tmp_path / "p.npy", model="toy/1")


def test_fitting_draws_questions_nearer_to_their_answers_than_to_what_only_looks_like_them() -> None:
    pairs = toy_pairs()
    moved = fit(pairs, model="toy/1").of(pairs.questions)
    assert nearness(moved, pairs.answers) > nearness(pairs.questions, pairs.answers) + 0.2
    assert nearness(moved, pairs.answers) > nearness(moved, pairs.others)
    assert found_among(pairs, moved)[0] > found_among(pairs, pairs.questions)[0]


def test_fitting_is_the_same_each_time() -> None:
    first, second = (fit(toy_pairs(count=6, dimension=8), model="toy/1") for _ in range(2))
    assert np.array_equal(first.matrix, second.matrix)
    assert np.array_equal(first.offset, second.offset)


def test_a_part_of_the_pairs_keeps_their_other_lines() -> None:
    questions = directions(3, 4)
    pairs = Embedded(questions=questions, answers=questions, others=directions(4, 4, seed=3), owner=np.array([0, 1, 1, 2]))
    part = pairs.part(np.array([2, 1]))
    assert np.array_equal(part.questions, questions[[2, 1]])
    assert np.array_equal(part.others, pairs.others[[1, 2, 3]])
    assert part.owner.tolist() == [1, 1, 0]


def test_every_pair_of_the_project_can_be_read() -> None:
    pairs = read_pairs()
    written = [line for file in PAIRS.glob("*.jsonl") for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(pairs) == len(written) > 0
    assert all(pair.question and pair.answer for pair in pairs)


@pytest.mark.parametrize(
    "line", ['{"q": "who?"', '{"q": "who?", "a": "me"}', '["who?"]', '{"q": "who?", "a": "me", "n": 3}', ""]
)
def test_a_line_that_is_no_pair_is_named_by_file_and_number(tmp_path: Path, line: str) -> None:
    good = '{"q": "who?", "a": "me", "n": []}'
    (tmp_path / "a.jsonl").write_text(f"{good}\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(f"{good}\n{line}\n{good}\n", encoding="utf-8")
    with pytest.raises(PairsInvalid, match=r"b\.jsonl:2 is no pair"):
        read_pairs(tmp_path)
