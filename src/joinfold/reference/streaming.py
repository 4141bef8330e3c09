"""The definition of a streaming run: what is late, what is final, and which instants a trigger gives.

Rows come in micro-batches. The watermark W that holds when a batch starts is the minimum over the streams of the
largest event time of earlier batches, minus the stream's delay. A row is late if the first instant at which its own
window would hold it is ≤ W: that instant has been answered. Late rows are dropped, and counted if they pass their
input's filters. Everything else is `reference.naive` on the rows that are left, cut at the last watermark. Plain joins
of windows in time are not cut: a combination is there as soon as its rows are.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from joinfold.logical.query import Every, Input, LogicalQuery, OnArrival, OnFull, OnTrigger, OnWindowId
from joinfold.reference.contents import Timed, arrange, event_time, stay
from joinfold.reference.evaluate import Context, is_true
from joinfold.reference.naive import Answer, Data, answers_at, answers_until
from joinfold.reference.rows import Row
from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window, common

FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class StreamingRun:
    """What a streaming run gives: its answers, and the late rows of each input that passed its filters."""

    answers: Answer
    late: dict[str, int]


def stream(
    query: LogicalQuery,
    batches: Sequence[Data],
    watermarks: Sequence[int | None] | None = None,
    zone: tzinfo = UTC,
    arrivals: Sequence[int] | None = None,
) -> StreamingRun:
    """Micro-batches one after another, the rows of a relation in the first of them.

    Watermark i holds when batch i starts, the last one after the last batch; ``arrivals`` are the batches' own times,
    which streams without a time column take.
    """
    clock = arrivals if arrivals is not None else range(1, len(batches) + 1)
    history = watermark_history(query, batches, clock) if watermarks is None else list(watermarks)
    assert len(history) == len(batches) + 1
    accepted: dict[str, list[tuple[int | None, Row]]] = {input_.alias: [] for input_ in query.inputs}
    late = dict.fromkeys((input_.alias for input_ in query.streams), 0)
    for batch, watermark, arrival in zip(batches, history, clock, strict=False):
        for input_ in query.inputs:
            for row in batch.get(input_.source.name, ()):
                ts = event_time(input_, row, arrival)
                if input_.window is not None and _is_late(query, input_, ts, watermark):
                    context = Context({input_.alias: row}, zone=zone)
                    late[input_.alias] += all(is_true(part, context) for part in query.filters(input_.alias))
                else:
                    accepted[input_.alias].append((ts, row))
    contents = {input_.alias: arrange(query, input_, accepted[input_.alias]) for input_ in query.inputs}
    if isinstance(query.emit, OnTrigger):
        advances = [new for old, new in itertools.pairwise(history) if new is not None and new != old]
        return StreamingRun(answers_at(query, contents, zone, advances), late)
    last = history[-1]
    counted = any(isinstance(input_.window, Rows | PartitionedRows | RangeByRows) for input_ in query.streams)
    if query.is_plain_join and not isinstance(query.sync, OnWindowId) and not counted:
        last = FOREVER
    return StreamingRun([] if last is None else answers_until(query, contents, zone, last), late)


def watermark_history(query: LogicalQuery, batches: Sequence[Data], arrivals: Sequence[int]) -> list[int | None]:
    """The watermark before each batch and after the last; None until every stream has had a row."""
    largest: dict[str, int] = {}
    history: list[int | None] = [None]
    for batch, arrival in zip(batches, arrivals, strict=True):
        for input_ in query.streams:
            times = [event_time(input_, row, arrival) for row in batch.get(input_.source.name, ())]
            known = [ts - input_.source.delay_us for ts in times if ts is not None]
            if known:
                largest[input_.alias] = max(*known, largest.get(input_.alias, known[0]))
        history.append(min(largest.values()) if len(largest) == len(query.streams) else None)
    return history


def _is_late(query: LogicalQuery, input_: Input, ts: int | None, watermark: int | None) -> bool:
    """A row without a time is in no window, and counts as late."""
    if ts is None or watermark is None:
        return ts is None
    first = first_instant(query, input_.window, ts)
    return first is not None and first <= watermark


def first_instant(query: LogicalQuery, window: Window | None, ts: int) -> int | None:
    """The first instant that would hold a row of this time; None if none would; ts + 1 where rows decide."""
    windows = [input_.window for input_ in query.streams]
    counted = any(isinstance(other, Rows | PartitionedRows | RangeByRows) for other in windows)
    if isinstance(query.sync, OnWindowId) and isinstance(window, Sliding):
        return _first_complete(window, ts)
    by_rows = isinstance(query.emit, OnTrigger | OnArrival) or isinstance(query.sync, OnWindowId)
    if by_rows or not isinstance(window, Sliding | Continuous | Landmark):
        return ts + 1
    item = Timed(ts, 1, {})
    entry, leave = stay(window, [item], item)
    if query.is_plain_join or (counted and query.emit is not None and not isinstance(query.emit, Every)):
        first = entry  # the row's own move, or, beside windows that count rows, any time from its entry on
    else:
        slides = [other.moves for other in windows if isinstance(other, Sliding)]
        grids = [Grid(0, query.emit.period_us)] if isinstance(query.emit, Every) else slides
        if isinstance(query.sync, OnFull):
            meeting = common(grids)
            assert meeting is not None
            grids = [meeting]
        first = min(grid.next(entry - 1) for grid in grids)
    return first if first < leave else None


def _first_complete(window: Sliding, ts: int) -> int | None:
    """When the first window that would hold the row is complete; between two windows, the end of its sub-window."""
    if window.start_us is not None and ts < window.start_us:
        return None
    phase = window.start_us or 0
    holding = list(window.moves.between(ts - window.size_us + 1, ts + 1))
    if holding:
        return holding[0] + window.size_us
    return ts - (ts - phase) % window.subwindow_us + window.subwindow_us
