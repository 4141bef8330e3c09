"""Rows in the order of a number against a list that is sorted: few runs, and rows that are moved seldom."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.cells import Cells
from joinfold.operators.entries import Integers
from joinfold.operators.runs import Runs
from tests.operators.made import entries


@dataclass
class Named:
    """Rows of a number and a name."""

    number: Integers
    name: Integers

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: Integers | slice) -> "Named":
        return Named(self.number[rows], self.name[rows])


class NamedRuns(Runs[Named]):
    many = 2

    def numbers_of(self, rows: Named) -> Integers:
        return rows.number

    def together(self, parts: Sequence[Named]) -> Named:
        return Named(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("number", "name")))


def named(rows: Named | None) -> list[tuple[int, int]]:
    return [] if rows is None else list(zip(rows.number.tolist(), rows.name.tolist(), strict=True))


numbers = st.integers(-9, 9)
steps = st.lists(st.tuples(st.lists(numbers, max_size=5), numbers, st.integers(0, 9), numbers), max_size=20)


@given(steps)
def test_a_range_has_its_rows_in_order_and_those_of_one_number_as_they_came(
    steps: list[tuple[list[int], int, int, int]],
) -> None:
    runs, expected, came = NamedRuns(), list[tuple[int, int]](), 0
    for come, first, length, drop in steps:
        runs.add(Named(np.array(come, np.int64), np.arange(came, came + len(come))))
        expected = sorted([*expected, *zip(come, range(came, came + len(come)), strict=True)])
        came += len(come)
        assert named(runs.between(first, first + length)) == [
            row for row in expected if first <= row[0] < first + length
        ]
        runs.drop_before(drop)
        expected = [row for row in expected if row[0] >= drop]
        assert runs.held == len(expected) == sum(map(len, runs.all()))
        assert named(runs.between(-99, 99)) == expected
        runs.replace(runs.all())
        assert named(runs.between(-99, 99)) == expected


def test_what_is_gone_does_not_hold_memory() -> None:
    """A run of which most has been dropped is copied, so that its rows are as many as are left."""
    runs = NamedRuns()
    runs.add(Named(np.arange(10), np.arange(10)))
    for first, kept in ((5, 10), (6, 4), (9, 1)):
        runs.drop_before(first)
        assert [len(run.rows) for run in runs.runs] == [kept] and runs.held == 10 - first
    runs.drop_before(10)
    assert runs.runs == [] and runs.between(0, 10) is None


def test_runs_are_few_and_entries_move_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand micro-batches leave a dozen runs, and of each entry three copies were made on the way."""
    moved: list[int] = []
    together = Cells.together
    monkeypatch.setattr(
        Cells, "together", lambda cells, parts: moved.append(sum(map(len, parts))) or together(cells, parts)
    )
    cells = Cells()
    for start in range(1000):
        cells.add(entries(list(range(start, start + 10))))
        assert len(cells.runs) <= 4 * Cells.many
    assert sum(moved) <= 3 * 10_000
