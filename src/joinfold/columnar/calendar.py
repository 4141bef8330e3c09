"""Calendar functions on local time: parts of a time (YEAR … SECOND), and DATE_TRUNC.

A TIMESTAMP is converted to local time in the session's time zone; a TIMESTAMP_NTZ and a DATE are local time already.
NumPy, Python and Spark all use the proleptic Gregorian calendar.
"""

from datetime import UTC

import numpy as np
import pyarrow as pa

from joinfold.columnar.operation import Compute, Operation, strict
from joinfold.columnar.vector import Rows
from joinfold.columnar.zones import DAY_US, instants, walls
from joinfold.timetext import UNITS_US
from joinfold.types import DATE, TIMESTAMP

_PERIODS = {"second": UNITS_US["MINUTE"], "minute": UNITS_US["HOUR"], "hour": DAY_US}
_UNITS = {"second": UNITS_US["SECOND"], "minute": UNITS_US["MINUTE"], "hour": UNITS_US["HOUR"]}
_MONDAY = 4  # the first one after 1970-01-01, in days
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _days(call: Operation) -> Rows:
    (values,) = call.values
    return values if call.types[0] == DATE else _wall(call) // DAY_US


def _wall(call: Operation) -> Rows:
    return walls(call.values[0], call.present, call.zone if call.types[0] == TIMESTAMP else UTC)[0]


def _year(call: Operation) -> Rows:
    return _months(_days(call)) // 12 + 1970


def _month(call: Operation) -> Rows:
    return _months(_days(call)) % 12 + 1


def _day(call: Operation) -> Rows:
    days = _days(call)
    return days - _first_days(_months(days)) + 1


def _clock(call: Operation) -> Rows:
    return _wall(call) % _PERIODS[call.name] // _UNITS[call.name]


def _truncate(call: Operation) -> Rows:
    """DATE_TRUNC: the beginning of the unit that holds the instant, in local time."""
    unit, us = call.values
    assert isinstance(unit, pa.Scalar), "the binder takes a constant unit only"
    name = unit.as_py().upper()
    wall, fold = walls(us, call.present, call.zone)
    # When clocks are set back, an hour occurs twice. The beginning of a unit is in the same of the two as the instant.
    # The beginning of a week is not: it may be days before.
    return instants(_beginning(name, wall), call.zone, None if name == "WEEK" else fold)


def _beginning(unit: str, wall: Rows) -> Rows:
    if unit == "WEEK":
        return wall - (wall - _MONDAY * DAY_US) % (7 * DAY_US)
    if unit in UNITS_US:
        return wall - wall % UNITS_US[unit]
    months = _months(wall // DAY_US)
    return _first_days(months - months % _MONTHS[unit]) * DAY_US


def _months(days: Rows) -> Rows:
    """From days since 1970-01-01 to months since 1970-01."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _first_days(months: Rows) -> Rows:
    """From months since 1970-01 to the first day of each, as days since 1970-01-01."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


CALENDAR: dict[str, Compute] = {
    "year": strict(_year),
    "month": strict(_month),
    "day": strict(_day),
    "hour": strict(_clock),
    "minute": strict(_clock),
    "second": strict(_clock),
    "date_trunc": strict(_truncate),
}
