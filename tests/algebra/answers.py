"""The answers of aggregates from payloads, with exact numbers: for one group what the engine does with arrays."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from joinfold.algebra import AGGREGATES, AggregateFunction, Argument, Moment, Monomial
from joinfold.numbers import ExactNumbers, Numbers

from .extremum import Extremum
from .moments import Moments
from .number import Number, exact

MOMENTS = [entry for entry in AGGREGATES.values() if all(isinstance(part, Moment) for part in entry.components)]
"""The aggregates that are functions of moments alone."""

EXTREMA = [entry for entry in AGGREGATES.values() if entry.extremum is not None and not entry.extremum.by]
"""MIN and MAX."""


def monomials(
    aggregate: AggregateFunction, arguments: tuple[Argument, ...], filters: Argument = ()
) -> tuple[Monomial, ...]:
    """The monomials that an aggregate sums, in the order of its components."""
    return tuple(part.monomial(arguments, filters) for part in aggregate.components if isinstance(part, Moment))


def answer(
    aggregate: AggregateFunction, payload: Moments, arguments: tuple[Argument, ...], filters: Argument = ()
) -> Any:
    """The answer over the combinations of a payload."""
    return finished(aggregate, [payload[monomial] for monomial in monomials(aggregate, arguments, filters)])


def exact_numbers(values: Sequence[Number]) -> ExactNumbers:
    """An array of exact numbers, as fractions."""
    fractions = [exact(value) for value in values]
    numerators, denominators = ([f.numerator for f in fractions], [f.denominator for f in fractions])
    if set(denominators) <= {1}:
        return ExactNumbers(np.array(numerators, object))
    return ExactNumbers(np.array(numerators, object), np.array(denominators, object))


def finished(aggregate: AggregateFunction, components: Iterable[Number]) -> Any:
    """The answer from the components of one group: a Fraction, a bool, or None for NULL."""
    assert aggregate.finisher is not None
    rows, *others = (exact_numbers([value]) for value in components)
    if rows.numerator[0] < aggregate.fewest:
        return None
    value = aggregate.finisher(rows, *others)
    return bool(value[0]) if isinstance(value, np.ndarray) else only(value)


def only(value: Numbers) -> Fraction | float | None:
    """The only number of an array; None if it is missing."""
    if value.missing is not None and value.missing[0]:
        return None
    if not isinstance(value, ExactNumbers):
        return float(value.doubles()[0])
    denominator = value.denominator if isinstance(value.denominator, int) else value.denominator[0]
    return Fraction(int(value.numerator[0]), int(denominator))


def absent(aggregate: AggregateFunction) -> Extremum:
    """The payload of no rows."""
    assert aggregate.extremum is not None
    return Extremum(aggregate.extremum.largest)


def extremum_of(aggregate: AggregateFunction, values: Iterable[Any]) -> Extremum:
    """The payload of a multiset of values; None is NULL and is skipped."""
    return absent(aggregate).including(values)
