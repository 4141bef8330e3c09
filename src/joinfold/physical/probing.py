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
    """Binds ``place``: by key classes and one range, then by other ranges and conditions that are complete with it."""

    place: int
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
        waiting = [place for place in order if place not in bound]
        place = next((place for place in waiting if _shared(body, bound, place)), None)
        if place is None:
            place = next((place for place in waiting if _ranges(body, bound, place)), waiting[0])
        ranges = _ranges(body, bound, place)
        bound.append(place)
        conditions = tuple(
            condition
            for condition in body.combining.conditions
            if place in condition.places and set(condition.places) <= set(bound)
        )
        steps.append(Step(place, _shared(body, bound[:-1], place), next(iter(ranges), None), ranges, conditions))
    return tuple(steps)


def _shared(body: Body, bound: list[int], place: int) -> tuple[int, ...]:
    known = {number for other in bound for number in body.inputs[other].classes}
    return tuple(number for number in body.inputs[place].classes if number in known)


def _ranges(body: Body, bound: list[int], place: int) -> tuple[int, ...]:
    """The ranges that join a place with what is bound."""
    return tuple(
        number
        for number, join in enumerate(body.combining.ranges)
        if place in (join.value_place, join.bound_place) and {join.value_place, join.bound_place} <= {*bound, place}
    )
