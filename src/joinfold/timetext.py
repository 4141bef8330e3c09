"""Durations and timestamps: from text to int64 microseconds and back. No other module does this conversion.

Inside joinfold, time is a number of microseconds since 1970-01-01 00:00:00 UTC. The conversion is exact in both
directions: only units of a fixed length, only whole numbers, only the years 1 to 9999. No duration is longer than these
years, so the sum of a timestamp and two durations always fits int64.
"""

import re
from datetime import UTC, datetime, timedelta

from joinfold.errors import UsageError, suggestion

UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
SHORT_UNITS = {
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "S": "SECOND",
    "M": "MINUTE",
    "MIN": "MINUTE",
    "H": "HOUR",
    "D": "DAY",
    "W": "WEEK",
}
_CALENDAR_UNITS = ("MONTH", "QUARTER", "YEAR")

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LONGEST_US = _LAST_US - _FIRST_US
LARGEST_US = (
    2**62
)  # event times of every clock lie between -LARGEST_US and LARGEST_US, so sums with durations fit int64

_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", flags=re.ASCII)

_BETWEEN_NUMBER_AND_UNIT = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")


def duration_us(duration: str | timedelta) -> int:
    """Microseconds of '10 seconds', '1 hour 30 minutes', '1h30m' or a timedelta.

    A text has whole numbers, and units in singular, plural or short, in any case.
    """
    text = f"{duration // _MICROSECOND} microseconds" if isinstance(duration, timedelta) else duration
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is not a duration", hint="give a text such as '10 seconds', or a timedelta.")
    words = _BETWEEN_NUMBER_AND_UNIT.sub(" ", text).split()
    if not words or len(words) % 2:
        raise UsageError(f"'{text}' is not a duration", hint="write numbers and units, such as '10 seconds'.")
    pairs = zip(words[::2], words[1::2], strict=True)
    total_us = sum(_whole_number(number, text) * _unit_us(unit, text) for number, unit in pairs)
    if total_us > LONGEST_US:
        raise UsageError(f"the duration '{text}' is longer than the years 1 to 9999")
    return total_us


def duration_text(us: int) -> str:
    """The duration in the largest unit that divides it: 600_000_000 is '10 MINUTE', 0 is '0 SECOND'."""
    if us == 0:
        return "0 SECOND"
    unit, unit_us = next((unit, unit_us) for unit, unit_us in reversed(UNITS_US.items()) if us % unit_us == 0)
    return f"{us // unit_us} {unit}"


def timestamp_us(text: str) -> int:
    """Microseconds since the epoch of an ISO date or timestamp, which is in UTC unless it has a time zone."""
    hint = "write it as '2025-01-31', '2025-01-31 23:59:59.5' or '2025-01-31 23:59:59+02:00'."
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is not a timestamp", hint=hint)
    if not _TIMESTAMP.fullmatch(text.strip()):
        raise UsageError(f"'{text}' is not a timestamp", hint=hint)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:  # the right format, but no such day, hour or zone
        raise UsageError(f"'{text}' is not a timestamp: {error}", hint=hint) from error
    utc = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return check_timestamp((utc - _EPOCH) // _MICROSECOND)


def timestamp_text(us: int) -> str:
    """The time in UTC as 'YYYY-MM-DD HH:MM:SS', with six more digits if it has a fraction of a second."""
    moment = _EPOCH + check_timestamp(us) * _MICROSECOND
    return moment.replace(tzinfo=None).isoformat(sep=" ")


def time_shown(us: int) -> str:
    """The time as `timestamp_text` has it; outside the years 1 to 9999 the number of microseconds."""
    return timestamp_text(us) if _FIRST_US <= us <= _LAST_US else f"{us} µs since 1970"


def check_timestamp(us: int) -> int:
    """The time itself; raises `UsageError` if it is outside the years 1 to 9999."""
    if not _FIRST_US <= us <= _LAST_US:
        raise UsageError(f"the time {us} µs since 1970 is outside the years 1 to 9999 in UTC")
    return us


def _whole_number(number: str, text: str) -> int:
    if re.fullmatch(r"\d+", number, flags=re.ASCII):
        # Twenty digits are already too long in every unit, and int() raises an error beyond 4300 digits.
        return int(number.lstrip("0")[:20] or "0")
    if re.fullmatch(r"-\d+(\.\d+)?", number, flags=re.ASCII):
        raise UsageError(f"a duration cannot be negative, but '{text}' is", "leave out the minus sign.")
    hint = "write whole numbers and units, such as '1 hour 30 minutes' for one and a half hours."
    raise UsageError(f"'{number}' in the duration '{text}' is not a whole number", hint=hint)


def _unit_us(word: str, text: str) -> int:
    unit = word.upper()
    singular = SHORT_UNITS.get(unit, unit.removesuffix("S"))
    if singular in UNITS_US:
        return UNITS_US[singular]
    if singular in _CALENDAR_UNITS:
        raise UsageError(f"'{text}': a {singular} has no fixed length", hint="use days or weeks.")
    near = suggestion(singular, UNITS_US)
    units = f"units are: {', '.join(UNITS_US)}."
    hint = f"did you mean {near}? The {units}" if near else f"the {units}"
    raise UsageError(f"unknown unit '{word}' in the duration '{text}'", hint)
