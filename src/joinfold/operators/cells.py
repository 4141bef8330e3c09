"""The entries of an input by cell, and the cells that enter and leave when a window moves."""

from collections.abc import Sequence

import numpy as np

from joinfold.operators.entries import Entries, Integers, joined
from joinfold.operators.runs import Runs


def cells_gone(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window has lost since ``before``; all of them where it moved back (``MOD k``)."""
    return (before[0], min(now[0], before[1])) if now[0] >= before[0] else before


def cells_new(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window has gained since ``before``; all of its cells where it moved back."""
    return (max(now[0], before[1]), now[1]) if now[0] >= before[0] else now


class Cells(Runs[Entries]):
    """The entries of an input, sorted by cell. A cell may hold one entry or very many."""

    many = 8

    def __len__(self) -> int:
        return len(self.occupied)

    @property
    def occupied(self) -> Integers:
        """The cells that have entries, ascending."""
        cells = [run.numbers[run.start :] for run in self.runs]
        firsts = [run[np.flatnonzero(np.concatenate([[True], run[1:] != run[:-1]]))] for run in cells]
        return np.unique(np.concatenate([np.empty(0, np.int64), *firsts]))

    def numbers_of(self, rows: Entries) -> Integers:
        """The cell of each entry."""
        return rows.cells

    def together(self, parts: Sequence[Entries]) -> Entries:
        """The entries of all parts, one part after another."""
        return joined(parts)
