"""The aggregate functions of joinfold, each with its types, its algebra and how it is finished.

The family is open: a new aggregate is one more entry of ``AGGREGATES``, and the tests hold it to the
laws. What an operator may do with an aggregate is its type: a ``MomentAggregate`` subtracts and
multiplies, an ``ExtremumAggregate`` does neither.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from joinfold.algebra import finishing
from joinfold.algebra.basis import Argument, Monomial
from joinfold.algebra.extremum import Extremum
from joinfold.algebra.finishing import Answer, Finisher
from joinfold.algebra.moments import Moments
from joinfold.algebra.number import Number
from joinfold.types import BIGINT, DOUBLE, DataType, average_type, sum_type

ArgumentTypes: TypeAlias = tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """Which types an aggregate's arguments may have, each by itself, and what it makes of them."""

    takes: Callable[[DataType], bool]
    gives: Callable[[ArgumentTypes], DataType]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function: a name, how many arguments it takes, and its types."""

    name: str
    arities: tuple[int, ...]
    signature: Signature = field(repr=False)

    def __post_init__(self) -> None:
        assert self.name == self.name.lower()
        assert self.arities
        assert self.arities == tuple(sorted(set(self.arities)))

    def accepts(self, argument_types: ArgumentTypes) -> bool:
        """Whether it is defined on arguments of these types, in number and in kind."""
        return len(argument_types) in self.arities and all(map(self.signature.takes, argument_types))

    def result_type(self, argument_types: ArgumentTypes) -> DataType:
        """The type of its answer for arguments that it accepts."""
        assert self.accepts(argument_types), f"{self.name}{argument_types}"
        return self.signature.gives(argument_types)


@dataclass(frozen=True, slots=True)
class MomentAggregate(Aggregate):
    """A function of moments: it adds, subtracts and multiplies.

    ``moments`` gives the exponents of the arguments, one tuple for each sum, the number of rows with no
    NULL among the arguments first. With fewer arguments the tuples end earlier: COUNT declares (0,), so
    COUNT(*) sums ().
    """

    moments: tuple[tuple[int, ...], ...]
    finisher: Finisher = field(repr=False)

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        assert all(len(exponents) == self.arities[-1] for exponents in self.moments)
        assert not any(self.moments[0]), "the first moment is the number of rows"
        assert len(set(self.moments)) == len(self.moments)

    def monomials(self, arguments: tuple[Argument, ...], filters: Argument = ()) -> tuple[Monomial, ...]:
        """The monomials that it sums, in the order of ``moments``; ``filters`` must be present beside."""
        assert len(arguments) in self.arities
        presence = [(factor, 0) for factor in filters]
        return tuple(
            Monomial.of(
                presence
                + [
                    (factor, exponent)
                    for argument, exponent in zip(arguments, exponents, strict=False)
                    for factor in argument
                ]
            )
            for exponents in self.moments
        )

    def finish(self, values: Sequence[Number], origin: Sequence[Number] | None = None) -> Answer:
        """The answer from its moments, which were summed about ``origin`` (of each argument; 0 if not given).

        None is NULL. Integers and DECIMALs are exact; that they fit the result's type is checked elsewhere.
        """
        assert len(values) == len(self.moments)
        return self.finisher(values, (0,) * self.arities[-1] if origin is None else origin)

    def answer(self, payload: Moments, arguments: tuple[Argument, ...], filters: Argument = ()) -> Answer:
        """The answer over the combinations that a payload stands for."""
        return self.finish([payload[monomial] for monomial in self.monomials(arguments, filters)])


@dataclass(frozen=True, slots=True)
class ExtremumAggregate(Aggregate):
    """MIN or MAX: it joins, and never forgets."""

    largest: bool

    @property
    def absent(self) -> Extremum:
        """The payload of no rows."""
        return Extremum(self.largest)

    def fold(self, values: Iterable[Any]) -> Extremum:
        """The payload of a multiset of values; None is NULL and is skipped."""
        return self.absent.including(values)

    def finish(self, payload: Extremum) -> Any:
        """The extreme value, None where there is none."""
        assert payload.largest == self.largest
        return payload.value


def _any_type(argument: DataType) -> bool:
    return True


def _is_numeric(argument: DataType) -> bool:
    return argument.is_numeric


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


def _same_type(arguments: ArgumentTypes) -> DataType:
    return arguments[0]


_COUNTS = Signature(_any_type, _bigint)
_SUMS = Signature(_is_numeric, _sum_type)
_AVERAGES = Signature(_is_numeric, _average_type)
_EXTREMES = Signature(_is_ordered, _same_type)
_STATISTICS = Signature(_is_numeric, _double)

_ROWS = ((0,),)
_TOTAL = ((0,), (1,))
_SPREAD = ((0,), (1,), (2,))
_JOINT = ((0, 0), (1, 0), (0, 1), (1, 1))
_LINE = (*_JOINT, (0, 2))
_ELLIPSE = (*_JOINT, (2, 0), (0, 2))

AGGREGATES: dict[str, Aggregate] = {
    aggregate.name: aggregate
    for aggregate in (
        MomentAggregate("count", (0, 1), _COUNTS, _ROWS, finishing.count),
        MomentAggregate("sum", (1,), _SUMS, _TOTAL, finishing.total),
        MomentAggregate("avg", (1,), _AVERAGES, _TOTAL, finishing.average),
        ExtremumAggregate("min", (1,), _EXTREMES, largest=False),
        ExtremumAggregate("max", (1,), _EXTREMES, largest=True),
        MomentAggregate("var_pop", (1,), _STATISTICS, _SPREAD, finishing.variance_population),
        MomentAggregate("var_samp", (1,), _STATISTICS, _SPREAD, finishing.variance_sample),
        MomentAggregate("stddev_pop", (1,), _STATISTICS, _SPREAD, finishing.deviation_population),
        MomentAggregate("stddev_samp", (1,), _STATISTICS, _SPREAD, finishing.deviation_sample),
        MomentAggregate("covar_pop", (2,), _STATISTICS, _JOINT, finishing.covariance_population),
        MomentAggregate("covar_samp", (2,), _STATISTICS, _JOINT, finishing.covariance_sample),
        MomentAggregate("corr", (2,), _STATISTICS, _ELLIPSE, finishing.correlation),
        MomentAggregate("regr_slope", (2,), _STATISTICS, _LINE, finishing.regression_slope),
        MomentAggregate("regr_intercept", (2,), _STATISTICS, _LINE, finishing.regression_intercept),
    )
}
"""Every aggregate by its name; of two arguments the first is the dependent one, as in REGR_SLOPE(y, x)."""

ALIASES: dict[str, str] = {"mean": "avg", "variance": "var_samp", "stddev": "stddev_samp"}
"""Other names, of those that Spark and DuckDB both know and mean alike."""
