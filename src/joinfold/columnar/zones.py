"""Instants in a time zone, and back: int64 microseconds of UTC to what the clock on the wall shows.

Python's zones answer for one instant at a time, so they are asked for steps of a quarter of an hour instead of rows:
zones change on such steps, and where the answers at the two ends of a step differ its rows are asked one by one. Rows
of a batch are close to each other in time and share steps. A zone of one offset, such as UTC, needs no asking.

    UTC     ──┬────────┬────────┬────────┬──
    offset    │ −5 −5  │ −5 −5  │ −4 −4  │      both ends alike: one answer for the whole step
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np

from joinfold.columnar.vector import Array, Flags, Rows
from joinfold.errors import EvaluationError

DAY_US = 86_400_000_000
STEP_US = 900_000_000
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
FIRST_US = (datetime.min - _EPOCH) // _MICROSECOND
LAST_US = (datetime.max - _EPOCH) // _MICROSECOND


def walls(us: Rows, present: Flags | None, zone: tzinfo) -> tuple[Rows, Flags | None]:
    """Local time of each instant as microseconds, and where it is the second of two equal ones; None: nowhere.

    Raises `EvaluationError` for an instant that is present and has no date. Cost: O(n log n), or O(n) for one offset.
    """
    us = require_calendar(us, present, 1)
    fixed = zone.utcoffset(None)
    if fixed is not None:
        return require_calendar(us + fixed // _MICROSECOND, None, 1), None

    def offset_and_fold(instant_us: int) -> int:
        moment = (_EPOCH + instant_us * _MICROSECOND).replace(tzinfo=UTC).astimezone(zone)
        offset = moment.utcoffset()
        assert offset is not None
        return 2 * (offset // _MICROSECOND) + moment.fold

    found = by_steps(us, offset_and_fold)
    fold = (found & 1).astype(np.bool_)
    return us + (found >> 1), fold if fold.any() else None


def instants(wall: Rows, zone: tzinfo, fold: Flags | None = None) -> Rows:
    """The instants of local times; of two, the first, unless ``fold`` asks for the second.

    A local time that was skipped is read with the offset from before. Cost: as that of `walls`.
    """
    fixed = zone.utcoffset(None)
    if fixed is not None:
        return wall - fixed // _MICROSECOND

    def offset(second: bool) -> Callable[[int], int]:
        def of(wall_us: int) -> int:
            found = zone.utcoffset((_EPOCH + wall_us * _MICROSECOND).replace(tzinfo=zone, fold=int(second)))
            assert found is not None
            return found // _MICROSECOND

        return of

    offsets = by_steps(wall, offset(second=False))
    if fold is not None:
        offsets[fold] = by_steps(wall[fold], offset(second=True))
    return wall - offsets


def by_steps(times: Rows, ask: Callable[[int], int]) -> Rows:
    """ask(time) for every time within the calendar, asked at the ends of the steps that hold one."""
    steps, step_of = np.unique(times // STEP_US, return_inverse=True)
    answers, alike = np.zeros(len(steps), np.int64), np.ones(len(steps), np.bool_)
    for place, step in enumerate(steps.tolist()):
        ends = max(step * STEP_US, FIRST_US), min((step + 1) * STEP_US - 1, LAST_US)
        try:
            first, last = map(ask, ends)
        except OverflowError:  # local time leaves the calendar within the step
            alike[place] = False
        else:
            answers[place], alike[place] = first, first == last
    result: Rows = answers[step_of]
    for row in np.flatnonzero(~alike[step_of]).tolist():
        try:
            result[row] = ask(int(times[row]))
        except OverflowError as error:
            raise _outside(int(times[row])) from error
    return result


def require_calendar(times: Array, present: Flags | None, unit_us: int) -> Rows:
    """The times, 0 where they are not present; an error for one that is outside the years 1 to 9999."""
    if present is not None:
        times = np.where(present, times, 0)
    first, last = FIRST_US // unit_us, LAST_US // unit_us
    least, largest = int(times.min(initial=0)), int(times.max(initial=0))
    if least < first or largest > last:
        raise _outside((least if least < first else largest) * unit_us)
    return times


def _outside(us: int) -> EvaluationError:
    return EvaluationError(f"the time {us} µs since 1970 is outside the years 1 to 9999")
