"""What is summed of an input, and how aggregates are made from totals.

A sum over A×B of a product of a value of A and a value of B is a sum over A times a sum over B. So a total is a sum of
products of one column of each input. An expression that reads several inputs does not factor. Entries *carry* the
columns that it reads, and it is computed for every combination. These values are one more factor after the inputs, the
*pair*. Most products take the count of the pair, which is 1.

Sums of exact numbers are kept in *limbs* of 32 bits, balanced about zero. The sum of a limb does not overflow, and
small numbers have no upper limbs. The exact value is put together when an answer is finished.
"""

from dataclasses import dataclass, field
from typing import Literal, assert_never

from joinfold.algebra import Monomial
from joinfold.physical.column_names import COUNT, DRAW, short
from joinfold.physical.source import InputSource
from joinfold.types import DataType

LIMB_BITS = 32

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
    """32 bits of an exact number, the lowest first; for a monomial without values, the count of rows."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """How many rows have a floating factor of this kind: nan, inf, -inf, zero, or finite with a sign."""

    kind: SpecialKind


@dataclass(frozen=True, slots=True)
class Bit:
    """How many rows have this bit of an integer set, in two's complement. Bit 0 is the lowest."""

    number: int


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """An int64 column of entries: a part of the sum of a monomial, or a count."""

    monomial: Monomial = field(default_factory=Monomial)
    part: Limb | Special | Bit = field(default_factory=Limb)

    @property
    def is_valued(self) -> bool:
        """Whether it sums numbers. Otherwise it counts rows."""
        return isinstance(self.part, Limb) and not self.monomial.is_count

    @property
    def name(self) -> str:
        """The name of the column, which says what it means."""
        if not self.monomial.powers:
            return COUNT
        match self.part:
            case Limb(number=number):
                what = _powers(self.monomial)
                return short(f"sum {what} limb {number}" if self.is_valued else f"count {what}")
            case Special(kind=kind):
                return short(f"count {kind} {_powers(self.monomial)}")
            case Bit(number=number):
                return short(f"count bit {number} {_powers(self.monomial)}")
            case _:
                assert_never(self.part)


@dataclass(frozen=True, slots=True)
class RealSum:
    """A double-double column of entries; ``exact`` if it sums products of integers, below 2^100."""

    monomial: Monomial = field(default_factory=Monomial)
    exact: bool = False

    @property
    def name(self) -> str:
        """The name of the column."""
        return short(f"sum {_powers(self.monomial)}")


@dataclass(frozen=True, slots=True)
class ViewSum:
    """A column of a view: the product of these columns, one of each input that the view joins. Counts are left out."""

    columns: tuple[str, ...] = ()
    exact: bool = False

    @property
    def name(self) -> str:
        """The name of the column."""
        return short(" × ".join(self.columns)) if self.columns else COUNT


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or largest value of a column of a frame, over rows for which its conditions are true.

    With ``by``, the value of the row in which the column ``by`` is smallest or largest, kept as a struct of both. If
    several rows are equal in ``by``, the extreme of their values counts; NULL only if there is no other.
    """

    column: str
    largest: bool
    conditions: tuple[str, ...] = ()
    by: str | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        what = f"{self.column} by {self.by}" if self.by is not None else self.column
        where = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return short(f"{'max' if self.largest else 'min'} {what}{where}")


def _powers(monomial: Monomial) -> str:
    return "·".join(factor if power == 1 else f"{factor}^{power}" for factor, power in monomial.powers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What is summed of an input, or of the pair, and by which groups. The first integer column counts rows."""

    groups: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()
    integers: tuple[IntegerSum | ViewSum, ...] = (IntegerSum(),)
    reals: tuple[RealSum | ViewSum, ...] = ()
    extremes: tuple[Extreme, ...] = ()
    integer_names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    real_names: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    extreme_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        integers = tuple(column.name for column in self.integers)
        reals = tuple((f"{column.name} high", f"{column.name} low") for column in self.reals)
        object.__setattr__(self, "integer_names", integers)
        object.__setattr__(self, "real_names", reals)
        object.__setattr__(self, "extreme_names", tuple(extreme.name for extreme in self.extremes))
        every = [*integers, *(name for names in reals for name in names), *self.extreme_names]
        assert integers[0] == COUNT and len(set(every)) == len(every), every

    @property
    def exact(self) -> frozenset[int]:
        """The numbers of the real columns that are exact: they sum products of integers."""
        return frozenset(number for number, column in enumerate(self.reals) if column.exact)

    @property
    def integer_columns(self) -> int:
        """How many int64 columns a payload has: the integers, and for each real a count of values that are not zero."""
        return len(self.integers) + len(self.reals)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec(Sums):
    """The frame and the entries of one input of a stage.

    ``classes`` has the number of the key class of each key. Inputs join if their keys of the same class are equal.
    ``order`` has the columns that order rows of the same time, if rows are counted. An input is ``open_ended`` if later
    rows decide when its entries leave. ``drawn_by`` has the columns whose hash decides which rows SHED keeps; without
    them, all rows are kept. ``replicate`` is the last of ``groups`` if the engine derives it from that hash.
    """

    name: str
    source: InputSource
    keys: tuple[str, ...] = ()
    classes: tuple[int, ...] = ()
    carried: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    open_ended: bool = False
    drawn_by: tuple[str, ...] = ()
    replicate: str | None = None

    def __post_init__(self) -> None:
        Sums.__post_init__(self)
        assert len(self.keys) == len(self.classes)
        assert self.replicate is None or (self.drawn_by and self.groups[-1] == self.replicate)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns in which all rows of an entry are equal, in addition to the cell."""
        return tuple(dict.fromkeys((*self.keys, *self.stored_groups, *self.carried)))

    @property
    def stored_identity(self) -> tuple[str, ...]:
        """The columns of stored entries in which all their rows are equal, in addition to the cell."""
        return (*self.identity, DRAW) if self.drawn_by else self.identity

    @property
    def stored_groups(self) -> tuple[str, ...]:
        """The columns of ``groups`` that entries have: all but the replicate."""
        return self.groups if self.replicate is None else self.groups[:-1]


NO_PAIR = Sums()
"""The pair of a query that computes nothing for combinations: it only counts them."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """Refers to a sum of an input: the index of an integer column, or of a real column."""

    is_integer: bool
    index: int


@dataclass(frozen=True, slots=True)
class ExtremeFold:
    """An extreme of the query: extreme ``index`` of the input ``ordinal``, or of the pair.

    ``partners`` has a count column for each input and the pair. It must not be 0 for the extreme to exist. The entry at
    ``ordinal`` itself is not read.
    """

    ordinal: int
    index: int
    partners: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MomentSum:
    """A moment in the totals: products with the bits that each is shifted by before they are added.

    ``scale`` is that of a decimal.
    """

    limbs: tuple[tuple[ColumnRef, int], ...]
    scale: int = 0


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """Where an aggregate finds its parts in the totals: its moments and counts of special values, or its extreme."""

    function: str
    type: DataType
    is_exact: bool = True
    moments: tuple[MomentSum, ...] = ()
    specials: tuple[tuple[str, ColumnRef], ...] = ()
    extreme: int | None = None
