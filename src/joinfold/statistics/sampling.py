"""Samples bounded rows of a stream: its rate, and the numbers of different keys, groups and entries in a window.

    rows     • • •  ••  • • [• ••  • • •) ••  •  • •       the rows of one window, for all streams at one instant
                             │
                             ├─ framed and timed as PACK does it: which pass, with which keys
                             └─ d different values, of which f₁ occur once and f₂ twice

If the sample has fewer rows than the window, the window has more values than were seen. They are estimated as d +
f₁²/2f₂ (Chao 1984), but not more than the window has rows. If a stream is joined with relations, rows are those of the
join.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.errors import JoinfoldError
from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.relations import AliasedRows, attached_sides
from joinfold.inprocess.rows import Rows, times_of
from joinfold.kernels.grouping import group_rows
from joinfold.operators.packing.rows import timed_rows
from joinfold.operators.values import identity_codes
from joinfold.physical.plan import Frame, PhysicalPlan
from joinfold.planner.chaining import usual_input
from joinfold.planner.declaring import assumed_statistics
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from joinfold.statistics.sampled_selectivity import sampled_selectivity
from joinfold.window import Continuous, Landmark, RangeByRows, Sliding, Window
from joinfold.window import Rows as LastRows

MOST_ROWS = 100_000
MOST_JOINED_ROWS = 10_000  # of a stream that is joined with relations
MOST_RELATION_ROWS = 1_000_000
SECOND_US = 1_000_000

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """The statistics of a stream, and its sampled rows that make entries, with the columns of its frame."""

    statistics: StreamStatistics
    passing: pa.RecordBatch | None = None


def sampled_statistics(draft: PhysicalPlan, tables: Mapping[str, Rows]) -> Statistics:
    """Statistics of a query from the rows of its streams and relations, by name; assumed for streams without rows."""
    known = assumed_statistics(draft)
    samples = _samples(draft, tables, known.streams)
    for stream, sample in samples.items():
        known = known.with_stream(stream, sample.statistics)
    passing = {stream: sample.passing for stream, sample in samples.items() if sample.passing is not None}
    return replace(known, selectivity=sampled_selectivity(draft, passing, known.selectivity))


def _samples(
    draft: PhysicalPlan, tables: Mapping[str, Rows], assumed: tuple[StreamStatistics, ...]
) -> dict[int, Sample]:
    """A sample of each stream that has rows.

    Errors are ignored here: they occur again, with a message, when the query runs.
    """
    timed: dict[int, tuple[Rows, Integers | None]] = {}
    for stream, frame in enumerate(draft.frames):
        rows = tables.get(frame.input.source.name)
        if rows is not None and rows.num_rows:
            with suppress(JoinfoldError):
                timed[stream] = _timed(frame, rows)
    instant = _common_instant([(draft.timing.windows[stream], times) for stream, (_, times) in timed.items()])
    found = {}
    for stream, (rows, times) in timed.items():
        with suppress(JoinfoldError):
            sides = _sides(draft.frames[stream], tables)
            found[stream] = _sample(draft, stream, rows, times, instant, sides, assumed[stream])
    return found


def _sample(
    draft: PhysicalPlan,
    stream: int,
    rows: Rows,
    times: Integers | None,
    instant: int | None,
    sides: tuple[AliasedRows, ...] | None,
    assumed: StreamStatistics,
) -> Sample:
    frame, window, spec = draft.frames[stream], draft.timing.windows[stream], usual_input(draft, stream)
    rate = assumed.rate if times is None else _rate(times, assumed.rate)
    found = _numbers(window, rows.num_rows, times, instant)
    numbers = _middle(found, MOST_JOINED_ROWS if frame.attached else MOST_ROWS)
    disorder = 0.0 if times is None else _disorder(times[numbers])
    known = replace(assumed, rate=rate, disorder=disorder, origin="sampled")
    if sides is None or not len(numbers):
        return Sample(known)
    timed = timed_rows(draft.timing, spec, frame_batch(frame, _taken(rows, numbers), sides))
    passes = timed.kept & timed.keyed
    if timed.matches is not None:
        passes &= timed.matches
    passing, framed = timed.batch.filter(pa.array(passes)), len(passes) / len(numbers)
    share = passing.num_rows / max(len(passes), 1)
    whole = _rows_held(window, len(found), None if times is None else rate)
    held = whole * framed * share if whole > len(numbers) else None
    keys, skew = _distinct(passing, spec.keys, held)
    groups, _ = _distinct(passing, spec.stored_groups, held)
    entries = max(_distinct(passing, spec.identity, held)[0], keys, groups)
    known = replace(known, rate=rate * framed, passes=share, keys=keys, groups=groups, entries=entries, skew=skew)
    return Sample(known, passing)


def _timed(frame: Frame, rows: Rows) -> tuple[Rows, Integers | None]:
    """The rows with an event time, and their times; None instead of times for a stream without a time column."""
    if frame.input.source.time is None:
        return rows, None
    times = times_of(frame.input.source, rows, 1).cast(pa.int64())
    if times.null_count:
        rows, times = rows.filter(times.is_valid()), times.drop_null()
    return rows, np.asarray(times.to_numpy(zero_copy_only=False), np.int64)


def _sides(frame: Frame, tables: Mapping[str, Rows]) -> tuple[AliasedRows, ...] | None:
    """The rows of the relations that are attached to a stream; None if they are unknown, or too many to join."""
    relations = [relation.source.name for attachment in frame.attached for relation in attachment.relations]
    known = all(name in tables and tables[name].num_rows <= MOST_RELATION_ROWS for name in relations)
    keyed = all(attachment.keys and len(attachment.relations) == 1 for attachment in frame.attached)
    return attached_sides(frame, tables) if known and keyed else None


def _common_instant(streams: list[tuple[Window, Integers | None]]) -> int | None:
    """An instant about in the middle of the time that all streams share; None if they share none."""
    clocks = [times for _, times in streams if times is not None and len(times)]
    if not clocks:
        return None
    first, last = max(int(times.min()) for times in clocks), min(int(times.max()) for times in clocks)
    size_us = max((window.size_us for window, _ in streams if isinstance(window, _OfTime)), default=0)
    return min(last, (first + last + size_us) // 2) + 1 if first <= last else None


_OfTime = Sliding | Continuous | RangeByRows


def _numbers(window: Window, count: int, times: Integers | None, instant: int | None) -> Integers:
    """The numbers of the rows that a window holds at the instant, or else around the middle row."""
    if isinstance(window, LastRows):
        most = min(count, window.size)
        return np.arange((count - most) // 2, (count + most) // 2)
    if times is None or not len(times):
        return np.arange(count)
    if isinstance(window, _OfTime):
        around = min(int(times.max()), int(times[count // 2]) + window.size_us // 2) + 1
        for end in (around if instant is None else instant, around):
            found = np.flatnonzero((times >= end - window.size_us) & (times < end))
            if len(found):
                break
        return found
    mark = window.from_us if isinstance(window, Landmark) else None
    return np.arange(count) if mark is None else np.flatnonzero(times >= mark)


def _rows_held(window: Window, found: int, rate: float | None) -> float:
    """How many rows a window holds; ``found`` if the rate is unknown, and for landmark and PARTITION BY windows."""
    if isinstance(window, LastRows):
        return window.size
    return found if rate is None or not isinstance(window, _OfTime) else rate * window.size_us / SECOND_US


def _middle(numbers: Integers, most: int) -> Integers:
    return numbers[max(len(numbers) - most, 0) // 2 :][:most]


def _taken(rows: Rows, numbers: Integers) -> Rows:
    first, last = int(numbers[0]), int(numbers[-1])
    return rows.slice(first, len(numbers)) if last - first + 1 == len(numbers) else rows.take(pa.array(numbers))


def _rate(times: Integers, otherwise: float) -> float:
    """The rows per second; ``otherwise`` if all have the same time."""
    span_us = int(times.max()) - int(times.min()) if len(times) > 1 else 0
    return (len(times) - 1) * SECOND_US / span_us if span_us else otherwise


def _disorder(times: Integers) -> float:
    """The share of rows that come after a row of a later time."""
    return float(np.count_nonzero(times < np.maximum.accumulate(times))) / max(len(times), 1)


def _distinct(rows: pa.RecordBatch, names: tuple[str, ...], held: float | None) -> tuple[float, float]:
    """How many different values a window has, and their skew.

    ``held`` is the number of rows in the window, None if all of them were sampled.
    """
    if not names or not rows.num_rows:
        return 1.0, 1.0
    codes = [code for name in names for code in identity_codes(rows.column(name))]
    counts = np.bincount(group_rows(np.stack(codes))[0])
    seen = distinct = float(len(counts))
    if held is not None:
        once, twice = (int(np.count_nonzero(counts == times)) for times in (1, 2))
        unseen = once**2 / (2 * twice) if twice else once * (once - 1) / 2
        distinct = max(seen, min(seen + unseen, held))
    pairs = float((counts * (counts - 1)).sum()) / max(rows.num_rows * (rows.num_rows - 1), 1)
    return distinct, min(max(distinct * pairs, 1.0), distinct)
