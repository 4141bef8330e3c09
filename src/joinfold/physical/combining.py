"""What has to look at combinations of rows: ranges, conditions, and values of several inputs."""

from dataclasses import dataclass

from joinfold.logical.expressions import Expression


@dataclass(frozen=True, slots=True)
class Bound:
    """A carried column of another input that bounds a value."""

    column: str
    inclusive: bool


@dataclass(frozen=True, slots=True)
class RangeJoin:
    """A carried value of one input lies between bounds of another; at least one bound is there."""

    value_input: int
    value: str
    bound_input: int
    low: Bound | None
    high: Bound | None

    def __post_init__(self) -> None:
        assert self.value_input != self.bound_input and (self.low or self.high)


@dataclass(frozen=True, slots=True)
class PairCondition:
    """A condition on combinations, over carried columns named as ``Column(place, column)``."""

    expression: Expression
    ordinals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Combining:
    """The ranges and conditions that combinations must meet, and the values of the pair's frame, name by name."""

    ranges: tuple[RangeJoin, ...] = ()
    conditions: tuple[PairCondition, ...] = ()
    values: tuple[tuple[str, Expression], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.conditions or self.values)


NOTHING_COMBINED = Combining()
