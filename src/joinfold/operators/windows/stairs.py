"""MIN and MAX by group. A combination is charged to the member that leaves first (Wang's TC).

An extreme cannot be subtracted, so nothing is undone when a cell leaves. Instead every combination goes into the
staircase of its group with the instant at which its first member leaves. The group's value is the highest step that has
not left yet. The input with the value also keeps a staircase for each key and group; of the other input only the entry
that stays longest counts.
"""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.charging import charge_leaves, charge_valued
from joinfold.kernels.grouping import group_rows, largest
from joinfold.kernels.identity import IdTable
from joinfold.kernels.staircase import GroupStairs, LatestLeave, StairSet
from joinfold.physical.payload import ExtremeFold

Integers = NDArray[np.int64]
Ids = NDArray[np.int32]


class ExtremeStairs:
    """One extreme of the query."""

    def __init__(self, extreme: ExtremeFold) -> None:
        self.extreme = extreme
        self.valued = StairSet()
        self.partners = LatestLeave()
        self.groups = GroupStairs()

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.valued.bytes_held + self.partners.bytes_held + self.groups.bytes_held

    def enter_values(
        self, key: Ids, group: Ids, leaves: Integers, codes: Integers, mode: int, pairs: IdTable | None, now: int
    ) -> None:
        """Lets entries of the input with the value enter; each stays until its time in ``leaves``."""
        charge_valued(key, group, leaves, codes, self.partners, mode, pairs, self.groups, now)
        self.valued.insert(key, group, leaves, codes, now)

    def enter_partners(
        self, key: Ids, group: Ids, leaves: Integers, mode: int, pairs: IdTable | None, now: int
    ) -> None:
        """Lets entries of the other input enter. Of those with one key and group, only the last to leave matters."""
        if len(leaves) and leaves.min() < leaves.max():
            number, first = group_rows(np.stack([key, group]).astype(np.int64))
            leaves, _ = largest(number, len(first), leaves, np.ones(len(leaves), np.bool_))
            key, group = key[first], group[first]
        charge_leaves(key, group, leaves, self.partners, self.valued, mode, pairs, self.groups, now)
        self.partners.insert(key, group, leaves, now)

    def heads(self, instant: int) -> tuple[Integers, NDArray[np.bool_]]:
        """The code of each group at an instant, and whether it has one."""
        has, codes = self.groups.heads(instant)
        return codes, has

    def expire(self, instant: int) -> None:
        """Frees the memory of keys and groups of which everything has left."""
        self.valued.expire(instant)
        self.partners.expire(instant)
