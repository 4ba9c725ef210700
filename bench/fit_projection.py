"""Fits the projection of questions: `python -m bench.fit_projection [--check]`; half a minute, three with `--check`."""

import argparse
import asyncio

from memory.embed.fit import cross_validated, embedded, fit, found_among, read_pairs
from memory.embed.projection import FITTED
from memory.embed.use import UseEmbedder


async def fit_projection(*, check: bool) -> None:
    """Write the projection; with `check` write nothing, and tell what it brings for questions that it has not seen."""
    embedder = UseEmbedder()
    try:
        pairs = await embedded(read_pairs(), embedder)
    finally:
        await embedder.close()
    if not check:
        fit(pairs, model=embedder.name).save(FITTED)
        return
    for label, (first, few) in (
        ("without it", found_among(pairs, pairs.questions)),
        ("with it, questions it has not seen", cross_validated(pairs, model=embedder.name)),
    ):
        print(f"{len(pairs.questions)} pairs, {label}: first {first:.3f}, among the first three {few:.3f}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="Fit the projection of questions.")
    options.add_argument("--check", action="store_true", help="write nothing, tell what it brings for unseen questions")
    asyncio.run(fit_projection(check=options.parse_args().check))
