"""What may be chosen for a stage that joins: the method, the early inputs, and the structure of each window.

Answers and stored state are the same under every choice.
"""

from dataclasses import dataclass
from typing import Literal

from joinfold.physical.stage import Body, FoldAtArrivals, FoldAtInstants, JoiningStage, StatefulStage, is_plain

MethodName = Literal["pc", "ic", "tc"]
WindowKind = Literal["sets", "sums", "structures"]


@dataclass(frozen=True, slots=True)
class Index:
    """A structure of `kernels.structures`, or ``sums`` for sums over ranges, with parameters that replace defaults."""

    structure: str
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.structure}({parameters})" if parameters else self.structure


HASH, TREE, SUMS = Index("hash"), Index("btree"), Index("sums")


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """A method for sums, the inputs that are aggregated early, and an index for the window of each input.

    ``order`` is the order in which an entry probes the windows of the other inputs. ``windows`` are hashed aggregation
    sets that are multiplied ('sets'), sums over ranges ('sums'), or structures in which combinations are found one by
    one ('structures'). With ``shares``, a plain join under SYNC ON WINDOW ID finds a pair of sub-windows once for all
    result windows, else again for each.
    """

    method: MethodName
    early: frozenset[int]
    indexes: tuple[Index, ...]
    order: tuple[int, ...]
    windows: WindowKind = "structures"
    shares: bool = True


NO_CHOICE = FoldChoice("ic", frozenset(), (), ())
"""The choice of a stage that has nothing to choose."""


def usual_choice(stage: StatefulStage) -> FoldChoice:
    """The choice to take where nothing is known about the data."""
    if not isinstance(stage, JoiningStage):
        return NO_CHOICE
    body = stage.body
    ordinals = range(len(body.inputs))
    windows: WindowKind = "sets" if can_fuse(stage) else "sums" if can_sum(stage) else "structures"
    index = SUMS if windows == "sums" else finding_index(body)
    counted = body.is_open_ended and body.extremes  # then extremes are counted combination by combination
    early = frozenset(() if counted else ordinals)
    return FoldChoice("ic", early, (index,) * len(ordinals), tuple(ordinals), windows)


def finding_index(body: Body) -> Index:
    """The usual structure of windows in which combinations are found one by one."""
    return TREE if body.combining.ranges or not body.bucket_classes else HASH


def can_fuse(stage: JoiningStage) -> bool:
    """Whether aggregation sets by key can answer the query.

    Equal keys must be the only join condition. With more than two inputs, all must have the same keys, at most two may
    have groups, and there may be no extremes and no double-double products. Extremes also need windows that tell when
    entries leave.
    """
    body = stage.body
    if body.combining or is_plain(stage) or (body.is_open_ended and body.extremes):
        return False
    if len(body.inputs) == 2:
        return True
    grouped = sum(bool(spec.groups) for spec in body.inputs)
    return body.has_one_key and grouped <= 2 and not body.extremes and not body.real_products


def can_sum(stage: JoiningStage) -> bool:
    """Whether sums over ranges can answer the query.

    It must have two inputs, one range join, no other condition or value over both inputs, and no extremes. A range with
    two bounds is a difference of two sums, so floating sums are excluded there: they would lose precision.
    """
    body = stage.body
    combining = body.combining
    if len(body.inputs) != 2 or len(combining.ranges) != 1 or body.extremes or is_plain(stage):
        return False
    (join,) = combining.ranges
    rounds = bool(join.low and join.high and body.inputs[join.bound_input].reals)
    return not (combining.conditions or combining.values or rounds)


def can_follow(stage: StatefulStage) -> bool:
    """Whether a running query may change its choice. If sets by key can answer it, no other choice is ever cheaper."""
    return isinstance(stage, FoldAtInstants) and not (stage.body.views or can_fuse(stage))


def can_loop(stage: StatefulStage, choice: FoldChoice) -> bool:
    """Whether many arrivals are answered in one compiled loop: two inputs as aggregation sets, without extremes."""
    if not isinstance(stage, FoldAtArrivals) or choice.windows != "sets":
        return False
    return len(stage.body.inputs) == 2 and not stage.body.extremes
