"""What PACK, FOLD and FINISH agree on: the columns of frames, entries and totals.

    frame    a row of an input as Spark hands it over: time, whether it passes the filters, keys, groups and values
    entry    all rows of one cell, key and group: int64 sums (the first counts rows), double-double sums, extremes
    totals   per group, the sums over all live combinations: products of a column of each input

A sum over A×B factors into a sum over A times a sum over B, so a product names two columns. Sums of exact numbers are
kept in *limbs* of 32 bits, balanced about zero: a limb's sum does not overflow, small numbers have no upper limbs, and
the exact value is put together when an answer is finished.

The layout follows from the query alone. Every stage gets it pickled; none of them knows the query.
"""

from dataclasses import dataclass
from typing import Literal

from joinfold.algebra import Monomial
from joinfold.operators.timeline import Timeline
from joinfold.types import DataType

LIMB_BITS = 32

FactorKind = Literal["integer", "decimal", "floating", "condition"]


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of a frame that is summed: a number, or a condition that must be true."""

    name: str
    kind: FactorKind
    limbs: int = 1


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """An int64 column of an entry: the sum of one limb of a monomial; the count where all its exponents are 0.

    ``special`` counts the rows whose floating factor is nan, inf or -inf instead.
    """

    monomial: Monomial
    limb: int = 0
    special: str | None = None


@dataclass(frozen=True, slots=True)
class Extreme:
    """A column of an entry: the smallest or largest value of a frame's column where its conditions are true."""

    column: str
    largest: bool
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputLayout:
    """The frame and the entries of one input; ``reals`` are summed in double-double."""

    keys: tuple[str, ...]
    groups: tuple[str, ...]
    factors: tuple[Factor, ...]
    integers: tuple[IntegerSum, ...]
    reals: tuple[Monomial, ...]
    extremes: tuple[Extreme, ...]

    def __post_init__(self) -> None:
        assert self.integers[0] == IntegerSum(Monomial())


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A sum of an input: the number of its integer or of its real column."""

    is_integer: bool
    index: int


@dataclass(frozen=True, slots=True)
class MomentSum:
    """A moment in the totals: products that add up with these shifts of bits, and the scale of a decimal."""

    limbs: tuple[tuple[ColumnRef, int], ...]
    scale: int = 0


@dataclass(frozen=True, slots=True)
class AggregateLayout:
    """Where the parts of an aggregate are: its moments, counts of special values by kind, or its extreme."""

    function: str
    type: DataType
    is_exact: bool = True
    moments: tuple[MomentSum, ...] = ()
    specials: tuple[tuple[str, ColumnRef], ...] = ()
    extreme: int | None = None


@dataclass(frozen=True, slots=True)
class ExtremeFold:
    """An extreme of the query: a column of the valued input, and the count that a partner in the other must have."""

    place: int
    index: int
    partner: int


@dataclass(frozen=True, slots=True)
class FoldLayout:
    """The whole machine for one query over two inputs; a query over one has a second input of one constant row."""

    timeline: Timeline
    delays_us: tuple[int, ...]
    inputs: tuple[InputLayout, InputLayout]
    integer_products: tuple[tuple[int, int], ...]
    real_products: tuple[tuple[ColumnRef, ColumnRef], ...]
    extremes: tuple[ExtremeFold, ...]
    aggregates: tuple[AggregateLayout, ...]
    changes: bool
    on_arrival: bool = False

    def __post_init__(self) -> None:
        assert self.integer_products[0] == (0, 0)

    @property
    def streams(self) -> int:
        """How many inputs have time; the constant row has none."""
        return len(self.delays_us)

    def is_largest(self, extreme: ExtremeFold) -> bool:
        """Whether an extreme is a MAX."""
        return self.inputs[extreme.place].extremes[extreme.index].largest

    @property
    def is_global(self) -> bool:
        """A query without groups answers at every instant, also where nothing matches."""
        return not self.inputs[0].groups and not self.inputs[1].groups
