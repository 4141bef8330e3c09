"""Runs a plan over bounded rows and puts the measured cost beside the estimate.

    rows in order of time ──▶ │ step │ step │ … │ step │     each step is fed and answered; PACK and FOLD are timed
                                 └ the first steps run once before, so that loading compiled kernels is not measured
                                        └──── now and then the size of the state is measured

Nothing is answered after the last row, because a stream would go on there. If one stream has too many rows, all streams
are read up to the same time.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from joinfold.amounts import NOTHING, bytes_text, number_text, seconds_text, share_text, times_text
from joinfold.errors import UsageError
from joinfold.explain.costs import stream_text
from joinfold.explain.tables import Table
from joinfold.inprocess.bounded import LAST, check_data, event_times, steps
from joinfold.inprocess.driver import InProcess
from joinfold.inprocess.rows import Rows
from joinfold.logical.query import Source
from joinfold.operators.batches import together
from joinfold.operators.codec import encode
from joinfold.operators.stages.bucket import Bucket
from joinfold.physical.column_names import CELL
from joinfold.physical.stored import Stored
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.windows import instants_per_second
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics
from joinfold.statistics.sampling import sampled_statistics
from joinfold.window import Continuous, Sliding

MOST_ROWS = 1_000_000
FEWEST_STEPS, MOST_STEPS = 10, 1_000
STEPS_BEFORE = 3
WEIGHINGS = 10
SECOND_US = 1_000_000

Unit = Literal["seconds", "bytes", "rows", "share", "times"]
_TEXTS: dict[Unit, Callable[[float], str]] = {
    "seconds": seconds_text,
    "bytes": bytes_text,
    "rows": number_text,
    "share": share_text,
    "times": number_text,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """An amount, estimated and measured."""

    what: str
    unit: Unit
    estimated: float
    measured: float

    @property
    def ratio(self) -> float | None:
        """The measured amount divided by the estimate; None if the estimate is 0."""
        return self.measured / self.estimated if self.estimated else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The comparison as a row of a table."""
        text = _TEXTS[self.unit]
        ratio = times_text(self.measured, self.estimated) if self.measured else NOTHING
        return self.what, text(self.estimated), text(self.measured), ratio


@dataclass(frozen=True, slots=True)
class Analysis:
    """The cost of a plan per second of stream and the statistics of its streams, estimated and measured."""

    rows: int
    stream_seconds: float
    costs: tuple[Comparison, ...]
    streams: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        header = ("", "estimated", "measured", "ratio")
        ran = f"{self.rows:,} rows of {seconds_text(self.stream_seconds)} of stream, in one process without Spark"
        costs = Table(f"Costs per second of stream: {ran}", header, tuple(cost.texts for cost in self.costs))
        streams = Table("Streams", header, tuple(stream.texts for stream in self.streams))
        return "\n\n".join([*(f"Note: {note}" for note in self.notes), str(costs), str(streams)])

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        compared = {"costs": self.costs, "streams": self.streams}
        numbers = {name: [asdict(own) | {"ratio": own.ratio} for own in part] for name, part in compared.items()}
        return {"rows": self.rows, "stream_seconds": self.stream_seconds, **numbers, "notes": list(self.notes)}


def analyze(
    plan: PlannedQuery,
    data: Mapping[str, Rows],
    expected: Estimate,
    known: Statistics,
    progress: Callable[[int], None] | None = None,
) -> Analysis:
    """Runs the plan over at most `MOST_ROWS` rows of each stream.

    ``expected`` and ``known`` are the estimate and the statistics to compare with. ``progress`` is called with the
    number of rows after each step.
    """
    check_data(plan, data)
    sources = {frame.input.source.name: frame.input.source for frame in plan.frames}
    data, span_us, notes = _shortened(sources, data)
    rows = sum(data[name].num_rows for name in sources)
    tables = {name: own for name, own in data.items() if name not in sources}
    count = _steps_within(plan, known, span_us)
    size = -(-rows // count)
    _run(plan, tables, islice(steps(sources, data, size), STEPS_BEFORE), count)
    machine, state_bytes = _run(plan, tables, steps(sources, data, size), count, progress)
    measures, seconds = machine.measures, span_us / SECOND_US
    cpu = {"PACK": measures.pack_seconds, "FOLD": measures.fold_seconds}
    costs = [
        Comparison(
            f"CPU of {kind}", "seconds", sum(s.cpu for s in expected.stages if s.kind == kind), measured / seconds
        )
        for kind, measured in cpu.items()
    ]
    costs.append(Comparison("memory", "bytes", expected.memory_bytes, measures.most_bytes_held))
    costs.append(Comparison("state", "bytes", expected.state_bytes, state_bytes))
    notes += _not_filled(plan, span_us)
    streams = _streams(plan, known, sampled_statistics(plan, data))
    return Analysis(rows, seconds, tuple(costs), tuple(streams), tuple(notes))


def _shortened(sources: Mapping[str, Source], data: Mapping[str, Rows]) -> tuple[dict[str, Rows], int, list[str]]:
    """The rows until one stream has `MOST_ROWS`, the microseconds that they span, and notes on what was left out."""
    times = {name: event_times(source, data[name]) for name, source in sources.items()}
    last = {name: int(np.partition(own, MOST_ROWS)[MOST_ROWS]) for name, own in times.items() if len(own) > MOST_ROWS}
    data, notes = dict(data), []
    if last:
        longest = min(last, key=lambda name: last[name])
        notes.append(f"only rows before row {MOST_ROWS + 1:,} of stream '{longest}' were read")
        for name, own in times.items():
            is_read = own < last[longest]
            data[name], times[name] = data[name].filter(pa.array(is_read)), own[is_read]
    timed = [own[own < LAST] for own in times.values()]
    timed = [own for own in timed if len(own)]
    span_us = int(max(own.max() for own in timed) - min(own.min() for own in timed)) if timed else 0
    if span_us == 0:
        hint = "give rows with different event times."
        raise UsageError("all rows have the same event time, so there is no cost per second", hint)
    return data, span_us, notes


def _steps_within(plan: PlannedQuery, known: Statistics, span_us: int) -> int:
    """How many micro-batches to run: one per second of stream, or one per instant if instants are rarer.

    At least `FEWEST_STEPS` and at most `MOST_STEPS`.
    """
    per_second = min(instants_per_second(plan.timing, known), 1.0)
    return min(max(round(per_second * span_us / SECOND_US), FEWEST_STEPS), MOST_STEPS)


def _run(
    plan: PlannedQuery,
    tables: Mapping[str, Rows],
    fed: Iterable[tuple[Mapping[str, Rows], Any]],
    count: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[InProcess, int]:
    """A run that was fed step by step, and the largest size of its state in bytes.

    The run does not change its plan, so that the measured plan is the estimated one.
    """
    machine, stored, most = InProcess(replace(plan, pipeline=plan.pipeline.bounded, following=None)), StoredEntries(), 0
    if tables:
        machine.feed(tables)
    for number, (step, arrival) in enumerate(fed):
        stored.add(machine.feed(step, arrival))
        machine.answer()
        if number % -(-count // WEIGHINGS) == 0:
            most = max(most, stored.weigh(machine.buckets))
        if progress is not None:
            progress(sum(rows.num_rows for rows in step.values()))
    return machine, max(most, stored.weigh(machine.buckets))


class StoredEntries:
    """What the state store would hold on Spark, by bucket and by what is stored."""

    def __init__(self) -> None:
        self.batches: dict[tuple[int, Stored], list[pa.RecordBatch]] = {}

    def add(self, accepted: list[list[tuple[Stored, pa.RecordBatch]]]) -> None:
        """Adds what the buckets have accepted in a micro-batch."""
        for number, own in enumerate(accepted):
            for stored, batch in own:
                self.batches.setdefault((number, stored), []).append(batch)

    def weigh(self, buckets: Sequence[Bucket]) -> int:
        """Drops entries that have left, compacts the rest, and returns their encoded size in bytes."""
        size = 0
        for (number, stored), batches in self.batches.items():
            bucket, entries = buckets[number], pa.Table.from_batches([together(batches)]).sort_by(CELL).combine_chunks()
            cells = entries.column(CELL)
            left = bisect_left(range(len(cells)), True, key=lambda at: not bucket.is_done(stored, cells[at].as_py()))
            live = entries.slice(left).to_batches()
            kept = [part for part in (bucket.compacted(stored, own, True) for own in live) if part.num_rows]
            size += sum(len(encode(part)) for part in kept)
            self.batches[number, stored] = kept
        self.batches = {key: kept for key, kept in self.batches.items() if kept}
        return size


def _not_filled(plan: PlannedQuery, span_us: int) -> list[str]:
    """A note if the rows span less than one and a half times the longest window, else nothing."""
    windows = (frame.input.window for frame in plan.frames)
    longest = max((window.size_us for window in windows if isinstance(window, Sliding | Continuous)), default=0)
    if 2 * span_us >= 3 * longest:
        return []
    span, holds = seconds_text(span_us / SECOND_US), seconds_text(longest / SECOND_US)
    return [f"the rows span {span} and a window holds {holds}, so it was not full for much of the time"]


def _streams(plan: PlannedQuery, known: Statistics, found: Statistics) -> Iterable[Comparison]:
    for stream, (was, is_) in enumerate(zip(known.streams, found.streams, strict=True)):
        name, spec = stream_text(plan.frames[stream].input), plan.pipeline.input_of(stream)
        yield Comparison(f"{name}: rows per second, {was.origin}", "rows", was.rate, is_.rate)
        yield Comparison(f"{name}: rows that pass", "share", was.passes, is_.passes)
        if spec.keys:
            yield Comparison(f"{name}: keys in a window", "rows", was.keys, is_.keys)
            yield Comparison(f"{name}: skew of keys", "times", was.skew, is_.skew)
        if spec.groups:
            yield Comparison(f"{name}: groups in a window", "rows", was.groups, is_.groups)
    if plan.body.combining:
        yield Comparison("combinations that pass", "share", known.selectivity, found.selectivity)
