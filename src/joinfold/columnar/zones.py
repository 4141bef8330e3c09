"""From UTC to local time in a zone, and back: int64 microseconds for whole arrays.

Python's time zones convert one time at a time. To call them rarely, time is divided into steps of a quarter of an hour,
because zones usually change their offset at the end of a step. Rows of a batch are close in time and share steps. If
the offsets at both ends of a step are equal, they hold for all its rows; otherwise its rows are converted one by one. A
zone with a fixed offset, such as UTC, needs no steps.

    UTC     ──┬────────┬────────┬────────┬──
    offset    │ −5 −5  │ −5 −5  │ −4 −4  │      equal at both ends: one offset for the whole step
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
    """Local times, in microseconds, and where a local time is the second of two equal ones (None: nowhere).

    Local times are equal when clocks are set back. Raises `EvaluationError` for a present time outside the years 1 to
    9999. Cost: O(n log n), or O(n) for a zone with a fixed offset.
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
    """The UTC times of local times; if a local time occurs twice, the first, or the second where ``fold`` is true.

    A local time that was skipped is converted with the offset before the change. Cost: as for `walls`.
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
    """ask(time) for every time, called only for both ends of each step that has a time, where that is enough."""
    steps, step_of = np.unique(times // STEP_US, return_inverse=True)
    answers, alike = np.zeros(len(steps), np.int64), np.ones(len(steps), np.bool_)
    for index, step in enumerate(steps.tolist()):
        ends = max(step * STEP_US, FIRST_US), min((step + 1) * STEP_US - 1, LAST_US)
        try:
            first, last = map(ask, ends)
        except OverflowError:  # local time leaves the years 1 to 9999 within the step
            alike[index] = False
        else:
            answers[index], alike[index] = first, first == last
    result: Rows = answers[step_of]
    for row in np.flatnonzero(~alike[step_of]).tolist():
        try:
            result[row] = ask(int(times[row]))
        except OverflowError as error:
            raise _outside(int(times[row])) from error
    return result


def require_calendar(times: Array, present: Flags | None, unit_us: int) -> Rows:
    """The times in units of ``unit_us``, 0 where not present; an error for a time outside the years 1 to 9999."""
    if present is not None:
        times = np.where(present, times, 0)
    first, last = FIRST_US // unit_us, LAST_US // unit_us
    least, largest = int(times.min(initial=0)), int(times.max(initial=0))
    if least < first or largest > last:
        raise _outside((least if least < first else largest) * unit_us)
    return times


def _outside(us: int) -> EvaluationError:
    return EvaluationError(f"the time {us} µs since 1970 is outside the years 1 to 9999")
