"""The table ``AGGREGATES`` of aggregate functions.

An entry has the types, the components and the finisher of one function, and says what NULL, NaN and infinities do to
it. How the function is maintained follows from its components. A new aggregate is one more entry: the planner, the
operators and the tests read the table and mention no function by name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from joinfold.algebra import finishers
from joinfold.algebra.components import BitCounts, Component, Extremum, Moment, Summed, TruthCount
from joinfold.algebra.finishers import Finisher
from joinfold.types import BIGINT, BOOLEAN, DOUBLE, DataType, average_type, sum_type

ArgumentTypes: TypeAlias = tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class AggregateSignature:
    """The types that an aggregate function takes and returns.

    ``takes`` says whether one argument may have a type, ``gives`` is the type of the result, and ``noun`` names the
    arguments in messages, if not all types are taken.
    """

    takes: Callable[[DataType], bool]
    gives: Callable[[ArgumentTypes], DataType]
    noun: str = ""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function.

    ``arguments`` has the names of the arguments in the documentation. An extremum has one component, which is the
    answer itself. Any other function has a finisher that computes the answer from its components; the first component
    is then the number of rows in which no argument is NULL.

    The answer is NULL if there are fewer than ``fewest`` such rows. ``is_exact``: integers and decimals are computed
    without rounding. ``is_linear``: NaN and infinities follow the rules of floating addition; otherwise one of them
    makes the answer NaN. ``counts_rows``: the function can also be called with ``*``.
    """

    name: str
    arguments: tuple[str, ...]
    signature: AggregateSignature = field(repr=False)
    components: tuple[Component, ...]
    finisher: Finisher | None = field(default=None, repr=False)
    fewest: int = 1
    is_exact: bool = True
    is_linear: bool = True
    counts_rows: bool = False

    def __post_init__(self) -> None:
        assert self.name == self.name.lower() and self.components
        assert len(set(self.components)) == len(self.components)
        if self.extremum is None:
            rows, *_ = self.components
            assert isinstance(rows, Moment) and not any(rows.exponents), "the first component is the number of rows"
            assert self.finisher is not None

    @property
    def arities(self) -> tuple[int, ...]:
        """The numbers of arguments that a call may have: all, and also none if it counts rows."""
        count = len(self.arguments)
        return (0, count) if self.counts_rows else (count,)

    @property
    def extremum(self) -> Extremum | None:
        """The component if it is an extremum, otherwise None."""
        first, *_ = self.components
        return first if isinstance(first, Extremum) else None

    @property
    def summed(self) -> tuple[Summed, ...]:
        """The components that are sums or counts; for an extremum there are none."""
        return tuple(component for component in self.components if not isinstance(component, Extremum))

    @property
    def subtracts(self) -> bool:
        """Whether rows are removed by subtraction. An extremum is charged (TC) instead, or its values are counted."""
        return self.extremum is None

    @property
    def is_estimable(self) -> bool:
        """Whether a sample of the rows says something about all rows: it estimates sums, and bounds MIN and MAX."""
        extremum = self.extremum
        if extremum is not None:
            return not extremum.by
        return self.has_moments_only

    @property
    def has_moments_only(self) -> bool:
        """Whether it is computed from moments alone, which a sample scales."""
        return all(isinstance(component, Moment) for component in self.components)

    @property
    def is_count(self) -> bool:
        """Whether it is the number of rows."""
        return self.finisher is finishers.count

    @property
    def is_total(self) -> bool:
        """Whether it is the sum of its argument."""
        return self.finisher is finishers.total

    def is_number(self, argument: int) -> bool:
        """Whether it computes with the value of an argument, and does not only check for NULL, truth or order."""
        return any(_computes_with(component, argument) for component in self.components)

    def accepts(self, argument_types: ArgumentTypes) -> bool:
        """Whether it is defined for arguments of these types."""
        return len(argument_types) in self.arities and all(map(self.signature.takes, argument_types))

    def result_type(self, argument_types: ArgumentTypes) -> DataType:
        """The type of the answer for argument types that it accepts."""
        assert self.accepts(argument_types), f"{self.name}{argument_types}"
        return self.signature.gives(argument_types)


def _computes_with(component: Component, argument: int) -> bool:
    match component:
        case Moment(exponents=exponents):
            return exponents[argument] > 0
        case BitCounts():
            return True
        case TruthCount() | Extremum():
            return False


# --- types --------------------------------------------------------------------------------------------------------


def _any_type(argument: DataType) -> bool:
    return True


def _is_numeric(argument: DataType) -> bool:
    return argument.is_numeric


def _is_integer(argument: DataType) -> bool:
    return argument.is_integer


def _is_boolean(argument: DataType) -> bool:
    return argument == BOOLEAN


def _is_ordered(argument: DataType) -> bool:
    return argument.is_ordered


def _bigint(arguments: ArgumentTypes) -> DataType:
    return BIGINT


def _double(arguments: ArgumentTypes) -> DataType:
    return DOUBLE


def _sum_type(arguments: ArgumentTypes) -> DataType:
    return sum_type(arguments[0])


def _average_type(arguments: ArgumentTypes) -> DataType:
    return average_type(arguments[0])


def _first_type(arguments: ArgumentTypes) -> DataType:
    return arguments[0]


_COUNTS = AggregateSignature(_any_type, _bigint)
_PAIRS = AggregateSignature(_is_numeric, _bigint, "numbers")
_SUMS = AggregateSignature(_is_numeric, _sum_type, "numbers")
_AVERAGES = AggregateSignature(_is_numeric, _average_type, "numbers")
_STATISTICS = AggregateSignature(_is_numeric, _double, "numbers")
_EXTREMES = AggregateSignature(_is_ordered, _first_type, "values that have an order")
_TRUTHS = AggregateSignature(_is_boolean, _first_type, "conditions")
_BITS = AggregateSignature(_is_integer, _first_type, "integers")


# --- components ---------------------------------------------------------------------------------------------------


def _moments(*exponents: tuple[int, ...]) -> tuple[Moment, ...]:
    return tuple(map(Moment, exponents))


_ROWS = _moments((0,))
_TOTAL = _moments((0,), (1,))
_SPREAD = _moments((0,), (1,), (2,))
_SKEW = _moments((0,), (1,), (2,), (3,))
_TAILS = _moments((0,), (1,), (2,), (3,), (4,))
_PAIRED = _moments((0, 0))
_JOINT = _moments((0, 0), (1, 0), (0, 1), (1, 1))
_LINE = (*_JOINT, Moment((0, 2)))
_ELLIPSE = (*_JOINT, Moment((2, 0)), Moment((0, 2)))
_TRUE: tuple[Component, ...] = (*_ROWS, TruthCount())
_SET: tuple[Component, ...] = (*_ROWS, BitCounts())
_SMALLEST, _LARGEST = (Extremum(largest=False),), (Extremum(largest=True),)
_SMALLEST_BY, _LARGEST_BY = (Extremum(largest=False, by=True),), (Extremum(largest=True, by=True),)


def _statistic(name: str, moments: tuple[Moment, ...], finisher: Finisher, fewest: int = 1) -> AggregateFunction:
    """A statistic of numbers: computed in double-doubles for all types, and NaN if one of the numbers is not finite."""
    arguments = ("y", "x")[-len(moments[0].exponents) :]
    return AggregateFunction(name, arguments, _STATISTICS, moments, finisher, fewest, is_exact=False, is_linear=False)


AGGREGATES: dict[str, AggregateFunction] = {
    aggregate.name: aggregate
    for aggregate in (
        AggregateFunction("count", ("x",), _COUNTS, _ROWS, finishers.count, fewest=0, counts_rows=True),
        AggregateFunction("sum", ("x",), _SUMS, _TOTAL, finishers.total),
        AggregateFunction("avg", ("x",), _AVERAGES, _TOTAL, finishers.average),
        AggregateFunction("min", ("x",), _EXTREMES, _SMALLEST),
        AggregateFunction("max", ("x",), _EXTREMES, _LARGEST),
        AggregateFunction("min_by", ("x", "y"), _EXTREMES, _SMALLEST_BY),
        AggregateFunction("max_by", ("x", "y"), _EXTREMES, _LARGEST_BY),
        AggregateFunction("bool_and", ("x",), _TRUTHS, _TRUE, finishers.in_all),
        AggregateFunction("bool_or", ("x",), _TRUTHS, _TRUE, finishers.in_any),
        AggregateFunction("bit_and", ("x",), _BITS, _SET, finishers.bits_in_all),
        AggregateFunction("bit_or", ("x",), _BITS, _SET, finishers.bits_in_any),
        AggregateFunction("bit_xor", ("x",), _BITS, _SET, finishers.bits_in_odd),
        _statistic("var_pop", _SPREAD, finishers.variance_population),
        _statistic("var_samp", _SPREAD, finishers.variance_sample, fewest=2),
        _statistic("stddev_pop", _SPREAD, finishers.deviation_population),
        _statistic("stddev_samp", _SPREAD, finishers.deviation_sample, fewest=2),
        _statistic("skewness", _SKEW, finishers.skewness),
        _statistic("kurtosis", _TAILS, finishers.kurtosis),
        _statistic("covar_pop", _JOINT, finishers.covariance_population),
        _statistic("covar_samp", _JOINT, finishers.covariance_sample, fewest=2),
        _statistic("corr", _ELLIPSE, finishers.correlation),
        AggregateFunction("regr_count", ("y", "x"), _PAIRS, _PAIRED, finishers.count, fewest=0),
        _statistic("regr_r2", _ELLIPSE, finishers.determination),
        _statistic("regr_slope", _LINE, finishers.regression_slope),
        _statistic("regr_intercept", _LINE, finishers.regression_intercept),
    )
}
"""Every aggregate function by its name. Of arguments y and x, y is the dependent one, as in REGR_SLOPE(y, x)."""

ALIASES: dict[str, str] = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
}
"""Other names of the same functions, as in Spark."""
