"""What the structures of a window cost alone: kernels on arrays, without a query.

A full window is probed by equality, with ten rows per key, or by a band that holds a hundredth of the rows. Then it
slides: one row leaves, one row enters. Every structure gets the same operations in the same order. Its matches are
compared with those of the list, which is too simple to be wrong.
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
TOUCHES = 20_000_000  # members that a repeat visits: the more members a probe visits, the fewer probes there are
MOST_PROBES = 500_000
SLIDES = 200_000
COMPARED = 50
SEED = 7


@dataclass(frozen=True, slots=True)
class StructureRun:
    """One structure over a window of ``rows`` rows: medians of the repeats."""

    join: JoinKind
    structure: str
    rows: int
    probes_per_second: float
    slides_per_second: float
    bytes_per_row: float


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows of a window and the rows that enter after them; ``width`` is the width of the band."""

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
        """Operations that insert the first rows, until the window is full."""
        members = np.arange(self.rows)
        kinds = np.full(self.rows, INSERT, np.int8)
        return _operations(kinds, self.keys[: self.rows], self.codes[: self.rows], 0, members)

    def probes(self, count: int) -> Operations:
        """Operations that probe with rows of another stream, drawn from the same distribution."""
        draw = np.random.default_rng(SEED + 1)
        keys = draw.choice(self.keys, count)
        lows = draw.integers(0, CODES - self.width, count) if self.width else np.zeros(count, np.int64)
        return _operations(np.full(count, PROBE, np.int8), keys, lows, self.width, np.zeros(count, np.int64))

    def slides(self) -> Operations:
        """Operations that replace the oldest row by a new one, again and again. The new row gets its number."""
        kinds = np.tile(np.array([EXPIRE, INSERT], np.int8), SLIDES)
        keys, codes = (np.repeat(column[self.rows :], 2) for column in (self.keys, self.codes))
        return _operations(kinds, keys, codes, 0, np.repeat(np.arange(SLIDES) % self.rows, 2))


def measure_structures(join: JoinKind, rows: int, repeats: int) -> tuple[list[StructureRun], bool]:
    """Measures all structures that can serve the join. Also returns whether they found the same matches."""
    window = _Window.drawn(join, rows)
    runs, matches = [], []
    for name, kind in STRUCTURES.items():
        if kind.needs_key and join == "band":
            continue
        structure = _full(kind, window)
        matches.append(_matches(structure, window))
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
    return runs, all(other == matches[0] for other in matches)


def _affordable(structure: Structure, window: _Window) -> int:
    """The number of probes that visit about ``TOUCHES`` members, estimated from a few probes."""
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
    """The seconds that the operations take. Matches are discarded."""
    start = perf_counter()
    for _ in structure.matches(operations):
        pass
    return perf_counter() - start


def _operations(kinds: NDArray[np.int8], keys: Integers, lows: Integers, width: int, members: Integers) -> Operations:
    return Operations(kinds, keys.astype(np.int32), lows, lows + width, members)
