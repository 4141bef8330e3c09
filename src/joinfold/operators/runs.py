"""Rows sorted by a number, such as their cell or the time at which they leave.

Rows that are added together are sorted and form a *run*. A range of numbers is then a slice of each run, however many
rows and numbers it has. The last ``many`` runs become one when they are of about one length. So there are few runs,
and a row is seldom moved.

    run              2 2 5 7            of a micro-batch
    run                  5   8 9        of the next one
    from 5 to 8          5 7 + 5        returned as 5 5 7: rows of one number stay in the order in which they came
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from joinfold.operators.entries import Integers


class Columns(Protocol):
    """Rows as several columns."""

    def __len__(self) -> int:
        """The number of rows."""

    def take(self, rows: Integers | slice) -> Self:
        """Some of the rows."""


Kind = TypeVar("Kind", bound=Columns)


class Run(Generic[Kind]):
    """Sorted rows. Those before ``start`` have been dropped."""

    __slots__ = ("first", "last", "numbers", "rows", "start")

    def __init__(self, rows: Kind, numbers: Integers) -> None:
        self.rows = rows
        self.numbers = numbers
        self.start = 0
        self.first, self.last = int(numbers[0]), int(numbers[-1])

    def __len__(self) -> int:
        return len(self.numbers) - self.start

    @property
    def held(self) -> Kind:
        """The rows that have not been dropped."""
        return self.rows.take(slice(self.start, None)) if self.start else self.rows


class Runs(ABC, Generic[Kind]):
    """All rows, sorted by their numbers; rows of one number are in the order in which they came."""

    many: ClassVar[int]

    def __init__(self) -> None:
        self.runs: list[Run[Kind]] = []

    @abstractmethod
    def numbers_of(self, rows: Kind) -> Integers:
        """The number of each row, by which rows are sorted."""

    @abstractmethod
    def together(self, parts: Sequence[Kind]) -> Kind:
        """The rows of all parts as one."""

    @property
    def held(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.runs))

    def all(self) -> list[Kind]:
        """All rows, run by run."""
        return [run.held for run in self.runs]

    def replace(self, pieces: Iterable[Kind]) -> None:
        """Replaces the rows of all runs; the new rows have the same numbers."""
        self.runs = [Run(rows, self.numbers_of(rows)) for rows in pieces]

    def add(self, rows: Kind) -> None:
        """Adds rows. Cost: each row is sorted once and then moved O(log n) times; the base of the log is ``many``."""
        if not len(rows):
            return
        self._append(rows)
        last = self.runs[-self.many :]
        while len(last) == self.many and max(map(len, last)) <= 2 * len(last[-1]):
            del self.runs[-self.many :]
            self._append(self.together([run.held for run in last]))
            last = self.runs[-self.many :]

    def between(self, first: int, end: int) -> Kind | None:
        """The rows with first ≤ number < end, sorted; None where there are none. Cost: O(rows + runs · log n)."""
        found = []
        for run in self.runs:
            if first <= run.last and run.first < end:
                low, high = run.numbers.searchsorted((first, end)).tolist()
                if high > max(low, run.start):
                    found.append(run.rows.take(slice(max(low, run.start), high)))
        if len(found) < 2:
            return found[0] if found else None
        return self._in_order(self.together(found))

    def drop_before(self, first: int) -> None:
        """Drops the rows with smaller numbers."""
        self.runs = [run for run in self.runs if run.last >= first]
        for number, run in enumerate(self.runs):
            if run.first < first:
                run.start = max(run.start, int(run.numbers.searchsorted(first)))
            if 2 * run.start > len(run.numbers):  # frees the memory of rows that were dropped
                kept = np.arange(run.start, len(run.numbers))
                self.runs[number] = Run(run.rows.take(kept), run.numbers[kept])

    def _append(self, rows: Kind) -> None:
        rows = self._in_order(rows)
        self.runs.append(Run(rows, self.numbers_of(rows)))

    def _in_order(self, rows: Kind) -> Kind:
        numbers = self.numbers_of(rows)
        return rows if (numbers[1:] >= numbers[:-1]).all() else rows.take(np.argsort(numbers, kind="stable"))
