"""One place of many combinations: what is needed of its entry in each, row by row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.entries import Doubles, Entries, Ids, Integers


@dataclass(slots=True)
class Side:
    """``wear`` has weight and turnover of each real; codes int64[n, extremes] are those that this place has."""

    group: Ids
    carried: Ids
    leaves: Integers
    integers: Integers
    reals: Doubles
    wear: Doubles
    codes: Integers
    has: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.group)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Side":
        """Some of the rows."""
        return Side(
            self.group[rows],
            self.carried[rows],
            self.leaves[rows],
            self.integers[rows],
            self.reals[rows],
            self.wear[rows],
            self.codes[rows],
            self.has[rows],
        )


def side_of(entries: Entries, leaves: Integers) -> Side:
    """Entries that enter or leave, as the side of combinations that they are in."""
    rows = len(entries)
    extremes = entries.extremes
    weight = np.abs(entries.reals[:, 0::2])
    wear = np.repeat(weight, 2, axis=1)
    return Side(
        entries.group,
        entries.carried,
        leaves,
        entries.integers,
        entries.reals,
        wear,
        np.stack([codes for codes, _ in extremes], axis=1) if extremes else np.zeros((rows, 0), np.int64),
        np.stack([has for _, has in extremes], axis=1) if extremes else np.zeros((rows, 0), np.bool_),
    )
