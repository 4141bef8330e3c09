"""The entries of an input by cell, and which cells come and go when a window moves."""

from collections.abc import Sequence

import numpy as np

from joinfold.operators.entries import Entries, Integers, joined
from joinfold.operators.runs import Runs


def cells_gone(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window no longer holds; all of them where it goes back."""
    return (before[0], min(now[0], before[1])) if now[0] >= before[0] else before


def cells_new(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window holds and did not hold before."""
    return (max(now[0], before[1]), now[1]) if now[0] >= before[0] else now


class Cells(Runs[Entries]):
    """The entries of an input in the order of their cells, whether these hold one or very many."""

    many = 8

    def __len__(self) -> int:
        return len(self.occupied)

    @property
    def occupied(self) -> Integers:
        """The cells that have entries, in order."""
        each = [run.numbers[run.start :] for run in self.runs]
        firsts = [own[np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))] for own in each]
        return np.unique(np.concatenate([np.empty(0, np.int64), *firsts]))

    def numbers_of(self, rows: Entries) -> Integers:
        """The cells of entries."""
        return rows.cells

    def together(self, parts: Sequence[Entries]) -> Entries:
        """Entries one after another."""
        return joined(parts)
