"""What a plan may choose for FOLD: the method, where to aggregate early, and the structure of each window.

Whatever is chosen, the answers and the stored state are the same.
"""

from dataclasses import dataclass
from typing import Literal

from joinfold.operators.layout import FoldLayout

MethodName = Literal["pc", "ic", "tc"]


@dataclass(frozen=True, slots=True)
class Index:
    """A structure of `kernels.structures`, or ``sums`` for order statistics, with the parameters that are not usual."""

    structure: str
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.structure}({given})" if given else self.structure


HASH, TREE, SUMS = Index("hash"), Index("btree"), Index("sums")


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """A method for sums, the inputs whose windows are aggregation sets, and an index for the window of each input.

    ``order`` has the inputs in the order in which they are probed, each after the one whose entry arrives. What a plain
    join by window ids finds is shared by the result windows, or found for each.
    """

    method: MethodName
    early: frozenset[int]
    indexes: tuple[Index, ...]
    order: tuple[int, ...]
    is_fused: bool = False
    shares: bool = True

    @staticmethod
    def usual(layout: FoldLayout) -> "FoldChoice":
        """The choice where nothing is known of the data."""
        places = range(len(layout.inputs))
        index = SUMS if can_sum(layout) else finding_index(layout)
        early = (
            () if layout.is_open_ended and layout.extremes else places
        )  # extremes are counted, combination by combination
        return FoldChoice("ic", frozenset(early), (index,) * len(places), tuple(places), can_fuse(layout))


NO_CHOICE = FoldChoice("ic", frozenset(), (), ())  # for stages that have nothing to choose


def finding_index(layout: FoldLayout) -> Index:
    """The usual structure of windows in which combinations are found one by one."""
    return TREE if layout.combining.ranges or not layout.bucket_classes else HASH


def can_fuse(layout: FoldLayout) -> bool:
    """Whether aggregation sets by key answer the query: equal keys are all that joins, and every input has them.

    With more than two inputs: no extremes, no floating sums, groups of two inputs at most. Where nobody knows when
    entries will leave, extremes cannot be charged.
    """
    if layout.combining or layout.is_plain or (layout.is_open_ended and layout.extremes):
        return False
    if len(layout.inputs) == 2:
        return True
    common = len({frozenset(side.classes) for side in layout.inputs}) == 1
    grouped = sum(bool(side.groups) for side in layout.inputs)
    return common and grouped <= 2 and not layout.extremes and not layout.real_products


def can_sum(layout: FoldLayout) -> bool:
    """Whether sums over ranges answer the query: one range, nothing that looks at combinations, no extremes.

    With bounds on both ends the sum is a difference, which integers survive and floating numbers may not.
    """
    combining = layout.combining
    if len(layout.inputs) != 2 or len(combining.ranges) != 1 or layout.extremes or layout.is_plain:
        return False
    (join,) = combining.ranges
    rounds = bool(join.low and join.high and layout.inputs[join.bound_place].reals)
    return not (combining.conditions or combining.values or rounds)
