"""What PACK, FOLD and FINISH agree on: the columns of frames, entries and totals.

    frame    a row of an input as Spark hands it over: time, whether it passes the filters, keys, groups and values
    entry    all rows of one cell with equal keys, groups and carried values: int64 sums (the first counts rows),
             double-double sums, extremes
    totals   per group, the sums over all live combinations: products of a column of each place

A sum over A×B factors into a sum over A times a sum over B, so a product names a column of each input. What reads
several inputs at once does not factor: its columns are *carried* in the entries and it is computed for every
combination. Such values form one more place behind the inputs, the *pair*: a frame of one row for each combination,
whose sums are those of single rows. A product has a column for it too, and for most of them that is the count, 1.

Sums of exact numbers are kept in *limbs* of 32 bits, balanced about zero: a limb's sum does not overflow, small numbers
have no upper limbs, and the exact value is put together when an answer is finished.

Inputs that have no key in common take several folds, a *chain*. The totals of a fold are then a *view*, an input of a
later fold: its entries are totals by group, and a row of a group takes the place of the row before.

The layout follows from the query alone, and with it what is stored. Every stage gets it pickled; none knows the query.
"""

from dataclasses import dataclass, replace
from typing import Literal

from joinfold.algebra import Monomial
from joinfold.logical.expressions import Expression
from joinfold.operators.timeline import Timeline
from joinfold.types import DataType

LIMB_BITS = 32
CONSTANT_ROW = -1  # what feeds the second input of a query over one stream

FactorKind = Literal["integer", "decimal", "floating", "condition"]
SpecialKind = Literal["nan", "inf", "-inf", "positive", "negative", "zero"]


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of a frame that is summed: a number, or a condition that must be true."""

    name: str
    kind: FactorKind
    limbs: int = 1


@dataclass(frozen=True, slots=True)
class Limb:
    """A limb of a number, from the lowest on."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """Whether a floating number is nan, inf or -inf, zero, or a finite number of a sign."""

    kind: SpecialKind


@dataclass(frozen=True, slots=True)
class Bit:
    """A bit of an integer in two's complement, from the lowest on."""

    number: int


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """An int64 column of an entry: the sum of a part of a monomial.

    That is a limb of its number, the count where all its exponents are 0; or how often its number is special, or has a
    bit set.
    """

    monomial: Monomial
    part: Limb | Special | Bit = Limb()

    @property
    def counts(self) -> bool:
        """Whether it counts rows; else it sums a number."""
        return not isinstance(self.part, Limb) or self.monomial.is_count


@dataclass(frozen=True, slots=True)
class Extreme:
    """A column of an entry: the smallest or largest value of a frame's column where its conditions are true.

    With ``by`` it is the value where the column ``by`` is smallest or largest: a struct of both. Of equal ones the
    value decides, NULL after all others.
    """

    column: str
    largest: bool
    conditions: tuple[str, ...]
    by: str | None = None


@dataclass(frozen=True, slots=True)
class InputLayout:
    """The frame and the entries of one input; ``reals`` are summed in double-double.

    ``classes`` has the number of the key class for each key: inputs join where their keys of one class are equal.
    ``exact`` has the reals of a view that are sums of integers, and exact while they are below 2^100.
    """

    keys: tuple[str, ...]
    classes: tuple[int, ...]
    groups: tuple[str, ...]
    carried: tuple[str, ...]
    factors: tuple[Factor, ...]
    integers: tuple[IntegerSum, ...]
    reals: tuple[Monomial, ...]
    extremes: tuple[Extreme, ...]
    exact: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        assert self.integers[0] == IntegerSum(Monomial()) and len(self.keys) == len(self.classes)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns in which all rows of an entry are equal, besides the cell."""
        return tuple(dict.fromkeys((*self.keys, *self.groups, *self.carried)))


@dataclass(frozen=True, slots=True)
class Bound:
    """A carried column of another input that bounds a value."""

    column: str
    inclusive: bool


@dataclass(frozen=True, slots=True)
class RangeJoin:
    """A carried value of one input lies between bounds of another; at least one bound is there."""

    value_place: int
    value: str
    bound_place: int
    low: Bound | None
    high: Bound | None

    def __post_init__(self) -> None:
        assert self.value_place != self.bound_place and (self.low or self.high)


@dataclass(frozen=True, slots=True)
class PairCondition:
    """A condition on combinations, over carried columns named as ``Column(place, column)``."""

    expression: Expression
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Combining:
    """What has to look at combinations: ranges, conditions, and the values of the pair's frame, name by name.

    Functions of the calendar read timestamps in the ``zone``, which is the session's.
    """

    ranges: tuple[RangeJoin, ...] = ()
    conditions: tuple[PairCondition, ...] = ()
    values: tuple[tuple[str, Expression], ...] = ()
    zone: str = "UTC"

    def __bool__(self) -> bool:
        return bool(self.ranges or self.conditions or self.values)


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
    """An extreme of the query: a column of the valued place, and the count that each other place must have."""

    place: int
    index: int
    partners: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FoldLayout:
    """One fold, for most queries the only one; a query over one input has a second one of one constant row.

    ``feeds`` says where the entries of each input come from: a stream by its number, or a view, whose number is that of
    the fold that makes it, counted from the number of streams on. A fold that ``is_view`` makes one itself. The stage
    that ``is_numbering`` has no inputs, and is fed with the order of streams whose windows count rows. A stage with a
    ``partition`` has one, and makes a view of its last ``partition_rows`` for each value of these columns.
    """

    timeline: Timeline
    delays_us: tuple[int, ...]
    inputs: tuple[InputLayout, ...]
    pair: InputLayout
    integer_products: tuple[tuple[int, ...], ...]
    real_products: tuple[tuple[ColumnRef, ...], ...]
    extremes: tuple[ExtremeFold, ...]
    aggregates: tuple[AggregateLayout, ...]
    changes: bool
    on_arrival: bool = False
    is_plain: bool = False
    combining: Combining = Combining()
    feeds: tuple[int, ...] = ()
    is_view: bool = False
    is_numbering: bool = False
    partition: tuple[str, ...] = ()
    partition_rows: int = 0

    def __post_init__(self) -> None:
        assert self.is_numbering or self.partition or (len(self.inputs) >= 2 and not any(self.integer_products[0]))
        if not self.feeds:
            everything = range(len(self.inputs))
            feeds = tuple(place if place < self.streams else CONSTANT_ROW for place in everything)
            object.__setattr__(self, "feeds", feeds)

    def in_zone(self, zone: str) -> "FoldLayout":
        """The same where timestamps are read in a time zone."""
        return replace(self, combining=replace(self.combining, zone=zone))

    @property
    def streams(self) -> int:
        """How many streams the query has: all of them move time, whichever the inputs are."""
        return len(self.delays_us)

    @property
    def has_constant_row(self) -> bool:
        """Whether the last input is the constant row."""
        return self.feeds[-1] == CONSTANT_ROW

    @property
    def views(self) -> tuple[int, ...]:
        """The inputs that are views."""
        return tuple(place for place, feed in enumerate(self.feeds) if feed >= self.streams)

    @property
    def is_open_ended(self) -> bool:
        """Whether there are entries of which nobody knows when they will leave: later rows decide."""
        return bool(self.views) or any(feed in self.timeline.open_ended for feed in self.feeds)

    def input_of(self, stream: int) -> InputLayout:
        """The layout of the input that a stream is."""
        return self.inputs[self.feeds.index(stream)]

    def place_of(self, feed: int) -> int | None:
        """The input that a stream or a view is, if it is one of this fold."""
        return self.feeds.index(feed) if feed in self.feeds else None

    @property
    def places(self) -> tuple[InputLayout, ...]:
        """The inputs, and the pair behind them."""
        return (*self.inputs, self.pair)

    @property
    def bucket_classes(self) -> frozenset[int]:
        """The key classes that rows are distributed by: those that every input has, or else the most common one."""
        own = [set(side.classes) for side, feed in zip(self.inputs, self.feeds, strict=True) if feed != CONSTANT_ROW]
        common = set.intersection(*own)
        if not common and any(own):
            every = sorted({number for classes in own for number in classes})
            common = {max(every, key=lambda number: sum(number in classes for classes in own))}
        return frozenset(common)

    def is_replicated(self, place: int) -> bool:
        """Whether every bucket gets all entries of an input: it has no key to be distributed by, and is not the first.

        Without any key the first input is distributed by its values, so that every combination is in one bucket.
        """
        classes = self.bucket_classes
        if classes:
            return not classes <= set(self.inputs[place].classes)
        return place > 0 and self.is_distributed

    @property
    def is_distributed(self) -> bool:
        """Whether there is use for more than one bucket."""
        return bool(self.bucket_classes or self.combining or self.is_plain)

    def is_largest(self, extreme: ExtremeFold) -> bool:
        """Whether an extreme is a MAX."""
        return self.places[extreme.place].extremes[extreme.index].largest

    @property
    def is_global(self) -> bool:
        """A query without groups answers at every instant, also where nothing matches."""
        return not any(side.groups for side in self.places)
