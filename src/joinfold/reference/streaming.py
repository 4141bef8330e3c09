"""The definition of a streaming run: which rows are late, which answers are final, and the instants of EMIT ON TRIGGER.

Rows come in micro-batches. The watermark W at the start of a batch is the minimum over the streams of the largest event
time of earlier batches minus the stream's delay. Idle streams do not count for it, nor do rows that are ahead. A row is
late if the first instant at which its window would hold it is ≤ W, because that instant has been answered. Late rows
are dropped, and counted if they pass the filters of their input. The answers are those of `reference.naive` over the
other rows, up to the last watermark. A plain join without ROWS windows does not wait for the watermark: a combination
exists as soon as its rows have arrived.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from joinfold.errors import EvaluationError
from joinfold.logical.query import Every, Input, LogicalQuery, OnArrival, OnFull, OnTrigger, OnWindowId
from joinfold.reference.contents import Timed, arrange, event_time, stay
from joinfold.reference.evaluate import Context, is_true
from joinfold.reference.naive import Answer, Data, Samples, answers_at, answers_until
from joinfold.reference.rationing import Rations
from joinfold.reference.rows import Row
from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window, common

FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class StreamingRun:
    """The result of a streaming run: the answers, and for each input the late and ahead rows that pass its filters."""

    answers: Answer
    late: dict[str, int]
    ahead: dict[str, int]


def stream(
    query: LogicalQuery,
    batches: Sequence[Data],
    watermarks: Sequence[int | None] | None = None,
    zone: tzinfo = UTC,
    arrivals: Sequence[int] | None = None,
    samples: Samples | None = None,
    rations: Rations | None = None,
    clocks: Sequence[int] | None = None,
) -> StreamingRun:
    """Runs micro-batches one after another; the rows of a relation must be in the first.

    ``watermarks[i]`` is the watermark when batch i starts, and the last one is that after the last batch; without them,
    they are computed. ``arrivals`` are the times of the batches, for streams without a time column. ``samples`` are as
    in `naive.answers`. A plain join sheds by the ``rations``. ``clocks`` are the times of the batches, by which rows
    are ahead and streams are idle; without them, none is.
    """
    clock = arrivals if arrivals is not None else range(1, len(batches) + 1)
    history = watermark_history(query, batches, clock, clocks) if watermarks is None else list(watermarks)
    assert len(history) == len(batches) + 1
    accepted: dict[str, list[tuple[int | None, Row]]] = {input_.alias: [] for input_ in query.inputs}
    late, ahead = (dict.fromkeys((input_.alias for input_ in query.streams), 0) for _ in range(2))
    times = clocks if clocks is not None else [None] * len(batches)
    for batch, watermark, arrival, time in zip(batches, history, clock, times, strict=False):
        for input_ in query.inputs:
            for row in batch.get(input_.source.name, ()):
                ts = event_time(input_, row, arrival)
                context = Context({input_.alias: row}, zone=zone)
                if input_.window is not None and is_ahead(input_, ts, time):
                    ahead[input_.alias] += all(is_true(part, context) for part in query.filters(input_.alias))
                elif input_.window is not None and _is_late(query, input_, ts, watermark):
                    late[input_.alias] += all(is_true(part, context) for part in query.filters(input_.alias))
                else:
                    accepted[input_.alias].append((ts, row))
    contents = {input_.alias: arrange(query, input_, accepted[input_.alias]) for input_ in query.inputs}
    if isinstance(query.emit, OnTrigger):
        advances = [new for old, new in itertools.pairwise(history) if new is not None and new != old]
        return StreamingRun(answers_at(query, contents, zone, advances, samples), late, ahead)
    last = history[-1]
    counted = any(isinstance(input_.window, Rows | PartitionedRows | RangeByRows) for input_ in query.streams)
    if query.is_plain_join and not isinstance(query.sync, OnWindowId) and not counted:
        last = FOREVER
    answers = [] if last is None else answers_until(query, contents, zone, last, samples, rations)
    return StreamingRun(answers, late, ahead)


def watermark_history(
    query: LogicalQuery, batches: Sequence[Data], arrivals: Sequence[int], clocks: Sequence[int] | None = None
) -> list[int | None]:
    """The watermark before each batch and after the last one; None until every stream has had a row, or is idle.

    Raises `EvaluationError` if all first rows of a stream lie ahead.
    """
    largest: dict[str, int] = {}
    silence = Silence(query)
    history: list[int | None] = [None]
    times = clocks if clocks is not None else [None] * len(batches)
    for batch, arrival, time in zip(batches, arrivals, times, strict=True):
        for input_ in query.streams:
            happened = [event_time(input_, row, arrival) for row in batch.get(input_.source.name, ())]
            known = [ts for ts in happened if ts is not None and not is_ahead(input_, ts, time)]
            if known:
                largest[input_.alias] = max(*known, largest.get(input_.alias, known[0]))
            elif input_.alias not in largest and any(is_ahead(input_, ts, time) for ts in happened):
                raise EvaluationError(f"the first rows of '{input_.alias}' all lie in the future")
            silence.hear(input_, time, bool(happened), bool(known))
        behind = [
            largest[input_.alias] - input_.source.delay_us if input_.alias in largest else None
            for input_ in query.streams
            if not silence.is_idle(input_)
        ]
        last, reached = (
            history[-1],
            None if None in behind else min((us for us in behind if us is not None), default=None),
        )
        history.append(last if reached is None else reached if last is None else max(last, reached))
    return history


def is_ahead(input_: Input, ts: int | None, clock: int | None) -> bool:
    """Whether a row lies too far beyond the time of its batch."""
    source = input_.source
    if ts is None or clock is None or source.time is None or source.ahead_us is None:
        return False
    return ts > clock + source.ahead_us


class Silence:
    """Since when streams are silent, by the times of the batches that had a row of any stream."""

    def __init__(self, query: LogicalQuery) -> None:
        self.now: int | None = None
        self.since: dict[str, int] = {}
        self.aliases = [input_.alias for input_ in query.streams]

    def hear(self, input_: Input, clock: int | None, has_rows: bool, has_times: bool) -> None:
        """Adds what a batch has of a stream: any rows, and rows that move its clock."""
        if clock is None or not has_rows:
            return
        if self.now is None:
            self.since = dict.fromkeys(self.aliases, clock)
        self.now = clock if self.now is None else max(self.now, clock)
        if has_times:
            self.since[input_.alias] = self.now

    def is_idle(self, input_: Input) -> bool:
        """Whether a stream has been silent for as long as its ``idle_us``."""
        idle_us = input_.source.idle_us
        return idle_us is not None and self.now is not None and self.now - self.since[input_.alias] >= idle_us


def _is_late(query: LogicalQuery, input_: Input, ts: int | None, watermark: int | None) -> bool:
    """Whether a row is late; a row without an event time is."""
    if ts is None or watermark is None:
        return ts is None
    first = first_instant(query, input_.window, ts)
    return first is not None and first <= watermark


def first_instant(query: LogicalQuery, window: Window | None, ts: int) -> int | None:
    """The first instant at which the window would hold a row of this time; None if there is none.

    It is ts + 1 if the instants depend on rows.
    """
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
        # In a plain join the first instant is the entry. Beside a ROWS window, any time from the entry on may be one.
        first = entry
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
    """When the first window that would hold the row is complete; the end of its sub-window if there is no such window.

    Windows before START have no number and hold nothing. None for a row before START.
    """
    if window.start_us is not None and ts < window.start_us:
        return None
    phase = window.start_us or 0
    begins = window.moves.between(ts - window.size_us + 1, ts + 1)
    holding = [begin for begin in begins if window.start_us is None or begin >= window.start_us]
    if holding:
        return holding[0] + window.size_us
    return ts - (ts - phase) % window.subwindow_us + window.subwindow_us
