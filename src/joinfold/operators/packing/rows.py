"""The rows of a batch that have a time, with their cells, and what each row counts for.

Rows that lie ahead of their micro-batch, as the frame has marked them, are taken out like those without a time.

Where a stream is joined with relations, a frame has one row for each match. FIRST marks one frame row for each row of
the stream; MATCHES is false where a row of the stream has no match. Only matches make entries. Then entries do not tell
how many rows the stream had, so the header counts them:

    row of the stream     first   matches
    •  two matches        T       T            one row, two entries
                          F       T
    •  no match           T       F            one row, no entry
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.operators.calendars.calendar import NEVER
from joinfold.operators.calendars.open_calendars import calendar_of
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.values import flags_of, in_utc, integers, present
from joinfold.physical.column_names import FIRST, KEEP, MATCHES, TIME
from joinfold.physical.payload import InputSpec
from joinfold.physical.source import StreamRows
from joinfold.physical.timing import Timing
from joinfold.timetext import LARGEST_US


@dataclass(slots=True)
class TimedRows:
    """The rows of a batch that have a time, with flags for each.

    ``rows`` counts the rows of the stream, also those without a time. ``kept``: the row passes the filters.
    ``accepted``: some window may hold it. ``keyed``: no key is NULL. ``timeless`` counts the rows of the stream that
    pass the filters and have no time, ``ahead`` those that pass the filters and lie ahead of the micro-batch;
    ``first_ahead_us`` is the smallest time of rows that lie ahead, also of those that a filter removes. ``first`` and
    ``matches`` are None where they would be true for all rows.
    """

    rows: int
    batch: pa.RecordBatch
    ts: Integers
    cells: Integers
    kept: Flags
    accepted: Flags
    keyed: Flags
    timeless: int
    ahead: int = 0
    first_ahead_us: int | None = None
    first: Flags | None = None
    matches: Flags | None = None

    @property
    def chosen(self) -> Flags:
        """The rows that make entries: they pass the filters, have a match and a key, and some window may hold them."""
        passing = self.kept if self.matches is None else self.kept & self.matches
        return passing & self.accepted & self.keyed

    @property
    def uncounted(self) -> Flags:
        """The rows of the stream that pass the filters and that no entry counts."""
        return self.kept & ~(self.accepted & self.keyed) if self.first is None else self.kept & self.first

    @property
    def is_first(self) -> Flags:
        """True for one frame row of every row of the stream."""
        return np.ones(len(self.ts), np.bool_) if self.first is None else self.first

    @property
    def largest_us(self) -> int | None:
        """The largest event time; None without rows."""
        return int(self.ts.max()) if len(self.ts) else None


def timed_rows(timing: Timing, spec: InputSpec, batch: pa.RecordBatch) -> TimedRows:
    """Reads what PACK has to know of every row of a stream, whether it passes the filters or not."""
    assert isinstance(spec.source, StreamRows)
    stream = spec.source.stream
    batch = in_utc(batch)
    calendar, times = calendar_of(timing, stream, StreamPosition()), batch.column(TIME)
    ts, timed = integers(times), present(times)
    assert ts is not None
    counted, kept = (
        flags_of(batch.column(name)) if name in batch.schema.names else np.ones(len(ts), np.bool_)
        for name in (FIRST, KEEP)
    )
    rows = int(np.count_nonzero(counted))
    timeless, ahead, first_ahead_us = 0, 0, None
    if timed is not None:
        timeless = int(np.count_nonzero(kept & counted & ~timed))
        batch, ts, kept, counted = batch.filter(pa.array(timed)), ts[timed], kept[timed], counted[timed]
    if timing.has_ahead[stream] and len(ts) and ts.max() > LARGEST_US:
        usable = ts <= LARGEST_US
        ahead, first_ahead_us = int(np.count_nonzero(kept & counted & ~usable)), int(ts[~usable].min()) - LARGEST_US
        batch, ts, kept = batch.filter(pa.array(usable)), ts[usable], kept[usable]
    if len(ts):
        _check_range(spec, int(ts.min()), int(ts.max()))
    keyed = np.ones(len(ts), np.bool_)
    for name in spec.keys:
        valid = present(batch.column(name))
        keyed = keyed if valid is None else keyed & valid
    cells, accepted = calendar.cell_of(ts), calendar.accepts(ts)
    if not timing.any_instant and stream not in timing.counting:  # skips rows that no instant will hold
        distinct = distinct_values(cells)
        unheld = distinct[calendar.first_instant(distinct) == NEVER]
        accepted = accepted & ~np.isin(cells, unheld) if len(unheld) else accepted
    first, matches = (flags_of(batch.column(name)) if name in batch.schema.names else None for name in (FIRST, MATCHES))
    return TimedRows(
        rows, batch, ts, cells, kept, accepted, keyed, timeless, ahead, first_ahead_us, first=first, matches=matches
    )


def _check_range(spec: InputSpec, smallest_us: int, largest_us: int) -> None:
    """Raises an error if an event time is so large that sums with durations would not fit int64."""
    if smallest_us < -LARGEST_US or largest_us > LARGEST_US:
        outside = smallest_us if smallest_us < -LARGEST_US else largest_us
        raise EvaluationError(
            f"the event time {outside} of '{spec.name}' is outside the range from {-LARGEST_US} to {LARGEST_US}",
            "subtract a constant from its time column, or count in a larger unit.",
        )


def distinct_values(values: Integers) -> Integers:
    """The distinct values, ascending. It counts instead of sorting where they lie close together, as cells do."""
    if not len(values):
        return values
    first, last = int(values.min()), int(values.max())
    if last - first > 4 * len(values):
        return np.unique(values)
    return np.flatnonzero(np.bincount(values - first)) + first
