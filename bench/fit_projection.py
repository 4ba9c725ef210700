"""Fits the projection of questions: `python -m bench.fit_projection [--check]`; half a minute, three with `--check`."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from bot.cli.shell import clear_errors
from memory.embed.fit import PAIRS, Pair, cross_validated, embedded, fit, found_among, read_pairs
from memory.embed.projection import FITTED
from memory.embed.use import UseEmbedder


async def fit_projection(pairs: Sequence[Pair], *, check: bool) -> None:
    """Write the projection; with `check` write nothing, and tell what it brings for questions that it has not seen."""
    embedder = UseEmbedder()
    try:
        vectors = await embedded(pairs, embedder)
    finally:
        await embedder.close()
    if not check:
        fit(vectors, model=embedder.name).save(FITTED)
        return
    for label, (first, few) in (
        ("without it", found_among(vectors, vectors.questions)),
        ("with it, questions it has not seen", cross_validated(vectors, model=embedder.name)),
    ):
        print(f"{len(pairs)} pairs, {label}: first {first:.3f}, among the first three {few:.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and write, or check; what is wrong with the pairs is one message and an exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.fit_projection", description="Fit the projection of questions.")
    parser.add_argument("--pairs", type=Path, default=PAIRS, help="folder of pairs (default: those of the project)")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what it brings for unseen questions")
    options = parser.parse_args(arguments)
    with clear_errors(debug=False):
        asyncio.run(fit_projection(read_pairs(options.pairs), check=options.check))


if __name__ == "__main__":
    main()
