"""In which order an entry finds the combinations that it is in: the other windows are probed one after another (MJoin).

A step binds one more input: it is found by the keys that it shares with inputs bound before, and by a range if there is
one; then whatever can be decided now is checked.
"""

from dataclasses import dataclass

from joinfold.physical.combining import PairCondition
from joinfold.physical.stage import Body

IndexName = tuple[tuple[int, ...], int | None]  # the key classes and the range that an index is asked for


@dataclass(frozen=True, slots=True)
class Step:
    """Binds an input: by key classes and one range, then by the other ranges and conditions that it completes."""

    ordinal: int
    classes: tuple[int, ...]
    range: int | None
    checked: tuple[int, ...]
    conditions: tuple[PairCondition, ...]

    @property
    def index(self) -> IndexName:
        """The index that this step asks."""
        return self.classes, self.range


def steps_from(body: Body, order: tuple[int, ...], first: int) -> tuple[Step, ...]:
    """The steps that bind all inputs, from an entry of the first: those that share a key come before others."""
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
    """The ranges that join a place with what is bound."""
    return tuple(
        number
        for number, join in enumerate(body.combining.ranges)
        if ordinal in (join.value_input, join.bound_input) and {join.value_input, join.bound_input} <= {*bound, ordinal}
    )
