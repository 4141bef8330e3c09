"""What may be chosen for a stage that joins: the method, where to aggregate early, and the structure of each window.

Whatever is chosen, the answers and the stored state are the same.
"""

from dataclasses import dataclass
from typing import Literal

from joinfold.physical.stage import Body, FoldAtInstants, JoiningStage, StatefulStage, is_plain

MethodName = Literal["pc", "ic", "tc"]
WindowKind = Literal["sets", "sums", "structures"]


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

    ``order`` has the inputs in the order in which they are probed, each after the one whose entry arrives. Windows are
    hashed aggregation sets that are multiplied, sums over ranges, or structures in which combinations are found one by
    one. What a plain join by window ids finds is shared by the result windows, or found for each.
    """

    method: MethodName
    early: frozenset[int]
    indexes: tuple[Index, ...]
    order: tuple[int, ...]
    windows: WindowKind = "structures"
    shares: bool = True


NO_CHOICE = FoldChoice("ic", frozenset(), (), ())
"""For stages that have nothing to choose."""


def usual_choice(stage: StatefulStage) -> FoldChoice:
    """The choice where nothing is known of the data."""
    if not isinstance(stage, JoiningStage):
        return NO_CHOICE
    body = stage.body
    ordinals = range(len(body.inputs))
    windows: WindowKind = "sets" if can_fuse(stage) else "sums" if can_sum(stage) else "structures"
    index = SUMS if windows == "sums" else finding_index(body)
    counted = body.is_open_ended and body.extremes  # extremes are counted, combination by combination
    early = frozenset(() if counted else ordinals)
    return FoldChoice("ic", early, (index,) * len(ordinals), tuple(ordinals), windows)


def finding_index(body: Body) -> Index:
    """The usual structure of windows in which combinations are found one by one."""
    return TREE if body.combining.ranges or not body.bucket_classes else HASH


def can_fuse(stage: JoiningStage) -> bool:
    """Whether aggregation sets by key answer the query: equal keys are all that joins, and every input has them.

    With more than two inputs: no extremes, no floating sums, groups of two inputs at most. Where nobody knows when
    entries will leave, extremes cannot be charged.
    """
    body = stage.body
    if body.combining or is_plain(stage) or (body.is_open_ended and body.extremes):
        return False
    if len(body.inputs) == 2:
        return True
    grouped = sum(bool(spec.groups) for spec in body.inputs)
    return body.has_one_key and grouped <= 2 and not body.extremes and not body.real_products


def can_sum(stage: JoiningStage) -> bool:
    """Whether sums over ranges answer the query: one range, nothing that looks at combinations, no extremes.

    With bounds on both ends the sum is a difference, which integers survive and floating numbers may not.
    """
    body = stage.body
    combining = body.combining
    if len(body.inputs) != 2 or len(combining.ranges) != 1 or body.extremes or is_plain(stage):
        return False
    (join,) = combining.ranges
    rounds = bool(join.low and join.high and body.inputs[join.bound_input].reals)
    return not (combining.conditions or combining.values or rounds)


def can_follow(stage: StatefulStage) -> bool:
    """Whether there is anything to follow while a query runs: where sets by key answer, no plan is ever cheaper."""
    return isinstance(stage, FoldAtInstants) and not (stage.body.views or can_fuse(stage))
