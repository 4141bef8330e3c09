"""The order in which an entry probes the other windows to find its combinations, one window after another (MJoin).

Each step binds one more input. It looks the input up by the keys that it shares with inputs bound before, and by a
range if there is one. Then it checks all conditions whose inputs are bound.
"""

from dataclasses import dataclass

from joinfold.physical.combining import PairCondition
from joinfold.physical.stage import Body

IndexName = tuple[tuple[int, ...], int | None]  # the key classes, and the range, that are looked up


@dataclass(frozen=True, slots=True)
class Step:
    """Binds an input: looks it up by key classes and a range, then checks the ranges and conditions it completes."""

    ordinal: int
    classes: tuple[int, ...]
    range: int | None
    checked: tuple[int, ...]
    conditions: tuple[PairCondition, ...]

    @property
    def index(self) -> IndexName:
        """The index that this step looks up."""
        return self.classes, self.range


def steps_from(body: Body, order: tuple[int, ...], first: int) -> tuple[Step, ...]:
    """The steps that bind all other inputs, for an entry of the input ``first``.

    Inputs that share a key with a bound one come first, then inputs with a range, then the rest, each in ``order``.
    """
    bound, steps = [first], []
    while len(bound) < len(body.inputs):
        waiting = [ordinal for ordinal in order if ordinal not in bound]
        ordinal = next((ordinal for ordinal in waiting if _shared(body, bound, ordinal)), None)
        if ordinal is None:
            ordinal = next((ordinal for ordinal in waiting if _ranges(body, bound, ordinal)), waiting[0])
        ranges = _ranges(body, bound, ordinal)
        bound.append(ordinal)
        conditions = tuple(
            condition
            for condition in body.combining.conditions
            if ordinal in condition.ordinals and set(condition.ordinals) <= set(bound)
        )
        steps.append(Step(ordinal, _shared(body, bound[:-1], ordinal), next(iter(ranges), None), ranges, conditions))
    return tuple(steps)


def _shared(body: Body, bound: list[int], ordinal: int) -> tuple[int, ...]:
    known = {number for other in bound for number in body.inputs[other].classes}
    return tuple(number for number in body.inputs[ordinal].classes if number in known)


def _ranges(body: Body, bound: list[int], ordinal: int) -> tuple[int, ...]:
    """The ranges that join an input with bound inputs."""
    return tuple(
        number
        for number, join in enumerate(body.combining.ranges)
        if ordinal in (join.value_input, join.bound_input) and {join.value_input, join.bound_input} <= {*bound, ordinal}
    )
