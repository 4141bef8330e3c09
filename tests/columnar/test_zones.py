"""Local time around changes of a zone: forward, back, at midnight, by half an hour, by seconds, by a day."""

from datetime import UTC, datetime, timezone
from datetime import timedelta as duration
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.columnar.zones import FIRST_US, LAST_US, STEP_US, by_steps, instants, walls
from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Call, Cast, Column, Literal
from joinfold.logical.functions import TRUNCATION_UNITS
from joinfold.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from tests.columnar.oracle import assert_agrees

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHANGES = {  # the day of a change, in UTC
    "America/New_York": ["2024-03-10", "2024-11-03", "1883-11-18"],
    "Europe/Berlin": ["2024-03-31", "2024-10-27", "1893-04-01"],
    "Atlantic/Azores": ["2024-10-27", "2024-03-31"],  # back from 1 to 0, so midnight occurs twice
    "America/Santiago": ["2024-09-08", "2024-04-07"],  # forward from 0 to 1, so there is no midnight
    "Australia/Lord_Howe": ["2024-04-06", "2024-10-05"],  # by half an hour
    "Pacific/Apia": ["2011-12-30"],  # by a day
    "Asia/Kathmandu": ["2024-01-01"],
}
MOMENT, READING = Column("a", "t", TIMESTAMP), Column("a", "t", TIMESTAMP_NTZ)


def microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // duration(microseconds=1)


@st.composite
def near_changes(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A zone, and times within a day and a half of one of its changes."""
    zone = draw(st.sampled_from(sorted(CHANGES)))
    day_us = microseconds(datetime.fromisoformat(draw(st.sampled_from(CHANGES[zone]))).replace(tzinfo=UTC))
    minutes = st.integers(-36 * 60, 60 * 60)
    odd = st.sampled_from([0, -1, 1, 59_999_999, 2_000_000])
    times = st.tuples(minutes, odd).map(lambda drawn: day_us + drawn[0] * 60_000_000 + drawn[1])
    return zone, draw(st.lists(times, min_size=1, max_size=20))


@given(near_changes())
def test_clocks_around_a_change_show_what_the_reference_says(case: tuple[str, list[int]]) -> None:
    zone, times = case
    rows = [{("a", "t"): time} for time in times]
    for expression in (
        *(Call(part, (MOMENT,)) for part in ("year", "month", "day", "hour", "minute", "second")),
        *(Call("date_trunc", (Literal(unit, STRING), MOMENT)) for unit in TRUNCATION_UNITS),
        *(Cast(MOMENT, type_) for type_ in (DATE, TIMESTAMP_NTZ, STRING)),
        *(Cast(READING, type_) for type_ in (DATE, TIMESTAMP, STRING)),
        Cast(Cast(READING, DATE), TIMESTAMP),
    ):
        assert assert_agrees(expression, rows, zone) == len(rows)


@given(near_changes())
def test_local_time_with_its_fold_leads_back(case: tuple[str, list[int]]) -> None:
    zone, times = case
    us = np.array(times)
    wall, fold = walls(us, None, ZoneInfo(zone))
    assert instants(wall, ZoneInfo(zone), fold).tolist() == times


def test_a_zone_is_asked_by_steps_and_only_within_a_step_of_two_answers_by_rows() -> None:
    asked = []

    def ask(time: int) -> int:
        asked.append(time)
        return int(time >= STEP_US + 5)

    times = np.array([0, 1, 2, STEP_US, STEP_US + 4, STEP_US + 5, 2 * STEP_US, 2 * STEP_US + 7])
    assert by_steps(times, ask).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert sorted(asked) == sorted(
        [end for step in range(3) for end in (step * STEP_US, (step + 1) * STEP_US - 1)]
        + [STEP_US, STEP_US + 4, STEP_US + 5]
    )


@pytest.mark.parametrize("zone", [UTC, timezone(duration(hours=-3)), ZoneInfo("America/New_York")], ids=str)
def test_the_calendar_ends(zone: timezone | ZoneInfo) -> None:
    west = zone is not UTC
    ends = np.array([FIRST_US, LAST_US])
    if west:
        with pytest.raises(EvaluationError, match="outside the years 1 to 9999"):
            walls(ends, None, zone)
    assert walls(ends + (86_400_000_000 if west else 0), np.array([True, False]), zone)[0][0] >= FIRST_US
    with pytest.raises(EvaluationError, match="outside the years 1 to 9999"):
        walls(ends + 1, None, zone)
