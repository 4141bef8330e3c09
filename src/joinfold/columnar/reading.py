"""CAST from STRING: how a text is read as a number, a boolean, a date or a timestamp."""

import decimal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from joinfold.columnar.exact import does_not_fit
from joinfold.columnar.vector import EPOCH_DAY
from joinfold.errors import EvaluationError
from joinfold.types import DATE, TIMESTAMP, DataType

_TRUTH = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(("f", "false", "n", "no", "0"), False)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_DIGITS = 80  # more than any type has; a longer number, such as 1e999999, is refused before it is expanded


def truth_of_text(text: str) -> bool:
    """CAST(text AS BOOLEAN)."""
    word = text.strip().lower()
    if word not in _TRUTH:
        raise EvaluationError(f"'{text}' is not a BOOLEAN")
    return _TRUTH[word]


def number_reader(target: DataType) -> Callable[[str], Any]:
    """The function for CAST(text AS target) to a number: a float, or units that may still be too large."""
    if target.is_floating:
        return _float
    return lambda text: decimal_units(text, target)


def decimal_units(text: str, target: DataType) -> int:
    """The units of the text as a decimal or integer type: rounded half up, but an integer may not have a fraction."""
    try:
        value = decimal.Decimal(text.strip())
    except decimal.InvalidOperation as error:
        raise EvaluationError(f"'{text}' is not a number") from error
    if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
        raise does_not_fit(text.strip(), target)
    if target.is_integer and value != value.to_integral_value():
        raise EvaluationError(f"'{text}' is not a {target}")
    enough = decimal.Context(prec=len(text) + 2 * _MOST_DIGITS)
    return int(value.scaleb(target.scale or 0, enough).to_integral_value(decimal.ROUND_HALF_UP))


def time_reader(target: DataType, zone: tzinfo) -> Callable[[str], int]:
    """The function for CAST(text AS target) to a date or timestamp: days, or microseconds.

    A timestamp is read in ``zone`` unless the text has a time zone.
    """

    def read(text: str) -> int:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError as error:
            raise EvaluationError(f"'{text}' is not a {target}") from error
        if target == DATE:
            return moment.toordinal() - EPOCH_DAY
        if target != TIMESTAMP:
            moment = moment.replace(tzinfo=UTC)
        elif moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return (moment - _EPOCH) // _MICROSECOND

    return read


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise EvaluationError(f"'{text}' is not a number") from error
