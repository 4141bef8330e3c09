"""What the structures of a window cost by themselves: kernels on arrays, with no query around them.

A window of so many rows is probed by equality, ten rows to a key, or by a band that holds a hundredth of the rows; then
it slides, a row out and a row in. Every structure gets the same operations in the same order, and what it finds is
compared with what the list finds, which cannot be wrong in an interesting way.
"""

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.structures import STRUCTURES
from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, Operations, Structure

Integers = NDArray[np.int64]
JoinKind = Literal["equality", "band"]
JOINS: tuple[JoinKind, ...] = ("equality", "band")

ROWS_PER_KEY = 10
BAND_SHARE = 0.01
CODES = 10**9
TOUCHES = 20_000_000  # members that a repeat looks at, so that slow probes are few
MOST_PROBES = 500_000
SLIDES = 200_000
COMPARED = 50
SEED = 7


@dataclass(frozen=True, slots=True)
class StructureRun:
    """One structure over a window of some rows: medians of the repeats."""

    join: JoinKind
    structure: str
    rows: int
    probes_per_second: float
    slides_per_second: float
    bytes_per_row: float


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows of a window, and what comes after them; ``width`` is that of the band."""

    join: JoinKind
    keys: Integers
    codes: Integers
    width: int

    @staticmethod
    def drawn(join: JoinKind, rows: int) -> "_Window":
        draw, count = np.random.default_rng(SEED), rows + SLIDES
        if join == "equality":
            return _Window(join, draw.integers(0, max(1, rows // ROWS_PER_KEY), count), np.zeros(count, np.int64), 0)
        return _Window(join, np.zeros(count, np.int64), draw.integers(0, CODES, count), round(BAND_SHARE * CODES))

    @property
    def rows(self) -> int:
        return len(self.keys) - SLIDES

    def filled(self) -> Operations:
        """The first rows enter."""
        members = np.arange(self.rows)
        kinds = np.full(self.rows, INSERT, np.int8)
        return _operations(kinds, self.keys[: self.rows], self.codes[: self.rows], 0, members)

    def probes(self, count: int) -> Operations:
        """Rows of another stream, drawn as these are."""
        draw = np.random.default_rng(SEED + 1)
        keys = draw.choice(self.keys, count)
        lows = draw.integers(0, CODES - self.width, count) if self.width else np.zeros(count, np.int64)
        return _operations(np.full(count, PROBE, np.int8), keys, lows, self.width, np.zeros(count, np.int64))

    def slides(self) -> Operations:
        """The oldest row leaves and another one enters, under its number."""
        kinds = np.tile(np.array([EXPIRE, INSERT], np.int8), SLIDES)
        keys, codes = (np.repeat(column[self.rows :], 2) for column in (self.keys, self.codes))
        return _operations(kinds, keys, codes, 0, np.repeat(np.arange(SLIDES) % self.rows, 2))


def measure_structures(join: JoinKind, rows: int, repeats: int) -> tuple[list[StructureRun], bool]:
    """All structures that serve the join, and whether they found the same."""
    window = _Window.drawn(join, rows)
    runs, found = [], []
    for name, kind in STRUCTURES.items():
        if kind.needs_key and join == "band":
            continue
        structure = _full(kind, window)
        found.append(_matches(structure, window))
        probes = window.probes(_affordable(structure, window))
        probe_seconds = [_seconds(structure, probes) for _ in range(repeats)]
        slide_seconds = [_seconds(_full(kind, window), window.slides()) for _ in range(repeats)]
        runs.append(
            StructureRun(
                join,
                name,
                rows,
                len(probes) / median(probe_seconds),
                SLIDES / median(slide_seconds),
                structure.bytes_held / rows,
            )
        )
    return runs, all(other == found[0] for other in found)


def _affordable(structure: Structure, window: _Window) -> int:
    """How many probes look at about as many members as a repeat should, from what a few of them look at."""
    before = structure.touched
    structure.apply(window.probes(COMPARED))
    return min(MOST_PROBES, max(COMPARED, COMPARED * TOUCHES // max(1, structure.touched - before)))


def _matches(structure: Structure, window: _Window) -> list[tuple[int, int]]:
    found = structure.apply(window.probes(COMPARED))
    return sorted(zip(found.probe.tolist(), found.member.tolist(), strict=True))


def _full(kind: type[Structure], window: _Window) -> Structure:
    structure = kind()
    structure.apply(window.filled())
    return structure


def _seconds(structure: Structure, operations: Operations) -> float:
    """How long the operations take; no matches are kept."""
    start = perf_counter()
    for _ in structure.matches(operations):
        pass
    return perf_counter() - start


def _operations(kinds: NDArray[np.int8], keys: Integers, lows: Integers, width: int, members: Integers) -> Operations:
    return Operations(kinds, keys.astype(np.int32), lows, lows + width, members)
