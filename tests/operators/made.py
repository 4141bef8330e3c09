"""Entries of one key, made by hand."""

from itertools import pairwise

import numpy as np

from joinfold.operators.entries import Entries, Payload


def entries(cells: list[int], first: int = 0, reals: list[float] | None = None) -> Entries:
    """Entries of one key, with numbers from ``first`` on for counts."""
    rows = len(cells)
    nothing = np.zeros(rows, np.int32)
    payload = Payload.zeros(rows, 1, 0 if reals is None else 1, 0)
    payload.ints[:, 0] = np.arange(first, first + rows)
    if reals is not None:
        payload.reals[:, 0] = reals
    return Entries(np.array(cells, np.int64), nothing, nothing[:, None], nothing, nothing, payload)


def pairs_of(some: Entries | None) -> list[tuple[int, int]]:
    """The cells and numbers of entries."""
    return [] if some is None else list(zip(some.cells.tolist(), some.payload.ints[:, 0].tolist(), strict=True))


def pieces(everything: Entries, lengths: list[int]) -> list[Entries]:
    """Entries in parts of these lengths."""
    ends = np.cumsum([0, *lengths]).tolist()
    parts = [everything.take(slice(start, end)) for start, end in pairwise(ends)]
    return [part for part in parts if len(part)]


def payload(seed: int, rows: int, integers: int, reals: int, extremes: int, with_drift: bool = False) -> Payload:
    """Any payload of a shape."""
    chance = np.random.default_rng(seed)
    drift = chance.random((rows, 2 * reals)) if with_drift else None
    return Payload(
        chance.integers(-5, 5, (rows, integers)),
        chance.normal(size=(rows, 2 * reals)),
        drift,
        chance.integers(-5, 5, (rows, extremes)),
        chance.integers(0, 2, (rows, extremes)).astype(np.bool_),
    )
