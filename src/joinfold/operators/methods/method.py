"""The interface of all methods."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.entries import Integers
from joinfold.operators.windows.added_totals import AddedTotals
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body

Flags = NDArray[np.bool_]


class Method(ABC):
    """Keeps the totals of all groups up to date, from the values of combinations that begin and end.

    ``joins_leaving``: the method also needs the combinations of entries that leave. ``by_leave``: what becomes of a
    combination depends on when it ends, so entries may be merged only if they leave together.
    """

    joins_leaving: ClassVar[bool]
    by_leave: ClassVar[bool]

    def __init__(self, body: Body, only_changed: bool) -> None:
        self.body = body
        self.totals = AddedTotals(body, only_changed)

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of what is kept of combinations."""
        return self.totals.totals.bytes_held

    @classmethod
    @abstractmethod
    def takes_back(cls, body: Body) -> bool:
        """Whether combinations can be taken back before they end."""

    @abstractmethod
    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations that begin."""

    def subtract(self, values: PairValues) -> None:
        """Subtracts combinations that end. It is called only for methods that have ``joins_leaving``."""
        raise AssertionError(f"{type(self).__name__} does not join what leaves")

    def take_back(self, values: PairValues, now: int) -> None:
        """Lets combinations that have begun not be. It is called only if the method `takes_back`."""
        raise AssertionError(f"{type(self).__name__} does not take back")

    @abstractmethod
    def advance(self, now: int) -> None:
        """Brings the totals to ``now``. It is called after entries have left and entered, before totals are read."""

    @abstractmethod
    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
