from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import UsageError
from joinfold.timetext import LONGEST_US, UNITS_US, duration_text, duration_us, timestamp_text, timestamp_us

SECOND = UNITS_US["SECOND"]


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("10 seconds", 10 * SECOND),
        ("0 seconds", 0),
        ("1 hour", 3600 * SECOND),
        ("500 milliseconds", SECOND // 2),
        ("7 Microsecond", 7),
        ("2 WEEKS", 14 * 86400 * SECOND),
        ("  1 hour   30 MINUTES ", 5400 * SECOND),
        ("1 day 1 microsecond", 86400 * SECOND + 1),
        ("007 second", 7 * SECOND),
        ("10s", 10 * SECOND),
        ("1h30m 5 S", 5405 * SECOND),
        ("250ms", SECOND // 4),
        ("3 us", 3),
        ("2min", 120 * SECOND),
        ("1D 1w", 8 * 86400 * SECOND),
        (timedelta(minutes=1, microseconds=1), 60 * SECOND + 1),
    ],
)
def test_a_duration_is_read(text: str | timedelta, us: int) -> None:
    assert duration_us(text) == us


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "is not a duration", "'10 seconds'"),
        ("ten", "is not a duration", "'10 seconds'"),
        ("10x", "unknown unit 'x' in the duration '10x'", "the units are"),
        ("s10", "'s' in the duration 's10' is not a whole number", "whole numbers"),
        ("1 10s", "is not a duration", "'10 seconds'"),
        ("1 hour 30", "is not a duration", "'10 seconds'"),
        (timedelta(seconds=-1), "a duration cannot be negative", "minus sign"),
        (5, "5 is not a duration", "a timedelta"),
        ("1.5 hours", "'1.5' in the duration '1.5 hours' is not a whole number", "'1 hour 30 minutes'"),
        ("ten seconds", "'ten' in the duration 'ten seconds' is not a whole number", "whole numbers"),
        ("٣ seconds", "is not a whole number", "whole numbers"),
        ("-1 second", "a duration cannot be negative, but '-1 second' is", "minus sign"),
        ("1 hour -5 minutes", "cannot be negative", "minus sign"),
        ("1 month", "a MONTH has no fixed length", "days or weeks"),
        ("2 Years", "a YEAR has no fixed length", "days or weeks"),
        ("5 secnods", "unknown unit 'secnods' in the duration '5 secnods'", "did you mean SECOND?"),
        ("5 parsecs", "unknown unit 'parsecs'", "the units are: MICROSECOND, MILLISECOND"),
        ("9999999 weeks", "longer than the years 1 to 9999", None),
        ("9" * 5000 + " microseconds", "longer than the years 1 to 9999", None),
    ],
)
def test_a_text_that_is_not_a_duration_is_refused_with_a_hint(text: Any, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as refusal:
        duration_us(text)
    assert message in refusal.value.message
    assert hint in refusal.value.hint if hint else refusal.value.hint is None


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 SECOND"),
        (1, "1 MICROSECOND"),
        (1_500, "1500 MICROSECOND"),
        (90 * SECOND, "90 SECOND"),
        (600 * SECOND, "10 MINUTE"),
        (7 * 86400 * SECOND, "1 WEEK"),
        (-5 * SECOND, "-5 SECOND"),
    ],
)
def test_a_duration_prints_in_its_largest_whole_unit(us: int, text: str) -> None:
    assert duration_text(us) == text


@given(
    st.integers(0, LONGEST_US)
    | st.builds(int.__mul__, st.integers(0, 10_000), st.sampled_from(list(UNITS_US.values())))
)
def test_durations_survive_the_round_trip(us: int) -> None:
    assert duration_us(duration_text(us)) == us


@given(st.lists(st.tuples(st.integers(0, 999), st.sampled_from(list(UNITS_US))), min_size=1))
def test_a_sequence_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{count} {unit.lower()}{'s' * (count != 1)}" for count, unit in parts)
    assert duration_us(text) == sum(count * UNITS_US[unit] for count, unit in parts)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:00:07", 7 * SECOND),
        ("1970-01-01T00:01", 60 * SECOND),
        ("1970-01-01 00:00:00.5", SECOND // 2),
        ("1970-01-01 00:00:00.000001Z", 1),
        ("1970-01-01 02:00:00+02:00", 0),
        ("1969-12-31 19:00:00-05:00", 0),
        ("1969-12-31 23:59:59.999999", -1),
        (" 2025-01-01 ", 1_735_689_600 * SECOND),
    ],
)
def test_a_timestamp_is_utc_unless_it_has_a_zone(text: str, us: int) -> None:
    assert timestamp_us(text) == us


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2025",
        "2025-1-1",
        "20250101",
        "2025-W01-1",
        "2025-02-29",
        "2025-01-01 25:00",
        "2025-01-01 00:00:00.1234567",
        "2025-01-01 00:00:00 Europe/Berlin",
        "2025-01-01+02:00",
        "2025-01-01 00:00+24:00",
        "0000-01-01",
        "0001-01-01 00:00:00+00:01",
        "9999-12-31 23:59:59-00:01",
    ],
)
def test_a_text_that_is_not_a_timestamp_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a timestamp|outside the years 1 to 9999"):
        timestamp_us(text)


def test_a_timestamp_prints_its_fraction_only_when_there_is_one() -> None:
    assert timestamp_text(timestamp_us("2025-01-01T00:00:07Z")) == "2025-01-01 00:00:07"
    assert timestamp_text(-1) == "1969-12-31 23:59:59.999999"
    assert timestamp_text(timestamp_us("0001-01-01")) == "0001-01-01 00:00:00"


@given(st.datetimes())
def test_timestamps_survive_the_round_trip(moment: datetime) -> None:
    text = moment.isoformat(sep=" ")
    us = timestamp_us(text)
    assert timestamp_text(us) == text
    assert timestamp_us(text.replace(" ", "T") + "Z") == us


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"])
def test_the_calendar_has_a_first_and_a_last_time(text: str) -> None:
    us = timestamp_us(text)
    assert timestamp_text(us) == text
    with pytest.raises(UsageError, match="outside the years 1 to 9999"):
        timestamp_text(us - 1 if us < 0 else us + 1)
