"""Entries as FOLD holds them: keys, groups and carried values as ids, extremes as codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.layout import FoldLayout

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Ids = NDArray[np.int32]


@dataclass(slots=True)
class Entries:
    """Entries of an input.

    ``key`` is the id of all keys together, ``parts`` int32[n, keys] those of each key within its class; ``carried`` is
    the id of the carried values.
    """

    cells: Integers
    key: Ids
    parts: Ids
    group: Ids
    carried: Ids
    integers: Integers
    reals: Doubles
    extremes: list[tuple[Integers, NDArray[np.bool_]]]

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: Integers | slice) -> "Entries":
        """Some of the entries."""
        return Entries(
            self.cells[rows],
            self.key[rows],
            self.parts[rows],
            self.group[rows],
            self.carried[rows],
            self.integers[rows],
            self.reals[rows],
            [(codes[rows], has[rows]) for codes, has in self.extremes],
        )


def joined(many: Sequence[Entries]) -> Entries:
    """Entries of one input, one after another."""
    columns = zip(*(entries.extremes for entries in many), strict=True)
    return Entries(
        np.concatenate([entries.cells for entries in many]),
        np.concatenate([entries.key for entries in many]),
        np.concatenate([entries.parts for entries in many]),
        np.concatenate([entries.group for entries in many]),
        np.concatenate([entries.carried for entries in many]),
        np.concatenate([entries.integers for entries in many]),
        np.concatenate([entries.reals for entries in many]),
        [(np.concatenate([codes for codes, _ in one]), np.concatenate([has for _, has in one])) for one in columns],
    )


def constant_entries(layout: FoldLayout) -> Entries:
    """The one row of the input that a query over one stream is joined with."""
    side = layout.inputs[1]
    assert not side.reals and not side.keys
    nothing: Ids = np.zeros(1, np.int32)
    return Entries(
        np.zeros(1, np.int64),
        nothing,
        np.zeros((1, 0), np.int32),
        nothing,
        nothing,
        np.ones((1, len(side.integers)), np.int64),
        np.zeros((1, 0)),
        [(np.zeros(1, np.int64), np.zeros(1, np.bool_)) for _ in layout.extremes],
    )
