"""What is computed for combinations of rows: range joins, other conditions, and values of several inputs."""

from dataclasses import dataclass

from joinfold.logical.expressions import Expression


@dataclass(frozen=True, slots=True)
class Bound:
    """A carried column of another input that bounds a value."""

    column: str
    inclusive: bool


@dataclass(frozen=True, slots=True)
class RangeJoin:
    """A condition that a carried value of one input lies between bounds of another input. It has at least one bound."""

    value_input: int
    value: str
    bound_input: int
    low: Bound | None
    high: Bound | None

    def __post_init__(self) -> None:
        assert self.value_input != self.bound_input and (self.low or self.high)


@dataclass(frozen=True, slots=True)
class PairCondition:
    """A condition on combinations of the inputs ``ordinals``.

    It reads carried columns as ``Column(pair_column(ordinal), name)``.
    """

    expression: Expression
    ordinals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Combining:
    """The ranges and conditions that combinations must satisfy, and the values of the pair with their names."""

    ranges: tuple[RangeJoin, ...] = ()
    conditions: tuple[PairCondition, ...] = ()
    values: tuple[tuple[str, Expression], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.conditions or self.values)


NOTHING_COMBINED = Combining()
