"""Runs a query over bounded tables to their end: all rows at once, or some at a time in the order of event time.

    stream a    1     3  4        8
    stream b      2         6  7
    fed         ├─────┤├────┤├────┤     three rows at a time, of all streams together

The literature compares join methods with one row at a time. Rows come in order, so none is late. In a stream without a
time column, the event time of a row is its number.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.errors import UsageError
from joinfold.inprocess.driver import InProcess, Measures
from joinfold.inprocess.rows import Arrival, Rows, kind_of, times_of
from joinfold.logical.query import LogicalQuery, Source
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.shedding import refuse_clock
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query

LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class InProcessRun:
    """The answers of a run, and what they cost."""

    answers: pa.Table
    measures: Measures


def run_in_process(
    query: LogicalQuery | PlannedQuery,
    data: Mapping[str, Rows],
    rows_per_step: int | None = None,
    by_row: bool = False,
) -> InProcessRun:
    """Answers a query over bounded tables; ``data`` is by the name of the stream or relation.

    Feeds ``rows_per_step`` rows at a time, in order of event time; None feeds everything at once. With ``by_row``
    entries are single rows, else rows are aggregated by cell, key and group.
    """
    if rows_per_step is not None and (not isinstance(rows_per_step, int) or rows_per_step < 1):
        hint = "give a number of at least 1, or None for all rows at once."
        raise UsageError(f"rows_per_step cannot be {rows_per_step!r}", hint)
    plan = plan_query(query) if isinstance(query, LogicalQuery) else query
    plan = replace(plan, pipeline=plan.pipeline.bounded)
    refuse_clock(plan.pipeline.shedding)
    check_data(plan, data)
    streams = {frame.input.source.name: frame.input.source for frame in plan.frames}
    tables = {name: rows for name, rows in data.items() if name not in streams}
    machine = InProcess(plan, by_row=by_row)
    if rows_per_step is None:
        machine.feed(data, {name: _numbers(data[name]) for name in streams})
        return InProcessRun(machine.answer(to_the_end=True), machine.measures)
    if tables:
        machine.feed(tables)
    answers = []
    for step, arrival in steps(streams, data, rows_per_step):
        machine.feed(step, arrival)
        answers.append(machine.answer())
    answers.append(machine.answer(to_the_end=True))
    return InProcessRun(pa.concat_tables(answers).combine_chunks(), machine.measures)


def check_data(plan: PhysicalPlan, data: Mapping[str, Rows]) -> None:
    """Raises `UsageError` if a stream or relation has no Arrow table."""
    given: object = data
    if not isinstance(given, Mapping):
        hint = "give a dict from the names of streams to pyarrow Tables."
        raise UsageError(f"the data cannot be a {type(given).__name__}", hint)
    for source in (input_.source for input_ in plan.query.inputs):
        name, what = source.name, f"{kind_of(source)} '{source.name}'"
        if name not in data:
            hint = f"there is data for: {', '.join(data)}." if data else "no data was given at all."
            raise UsageError(f"there is no data for {what}", hint)
        if not isinstance(data[name], pa.Table | pa.RecordBatch):
            kind = type(data[name]).__name__
            raise UsageError(f"the data of {what} is a {kind}", "give a pyarrow Table or RecordBatch.")


def steps(
    sources: Mapping[str, Source], data: Mapping[str, Rows], size: int
) -> Iterator[tuple[dict[str, Rows], Arrival]]:
    """The rows of all streams in order of event time, ``size`` at a time, with the number of each row in its stream.

    Rows of the same time are in the order of their streams.
    """
    times = {name: event_times(source, data[name]) for name, source in sources.items()}
    ordered = {name: _in_order(data[name], times[name]) for name in sources}
    streams = np.repeat(np.arange(len(sources)), [len(own) for own in times.values()])
    streams = streams[np.argsort(np.concatenate(list(times.values())), kind="stable")]
    counts = [np.cumsum(streams == number) for number in range(len(sources))]
    before = dict.fromkeys(sources, 0)
    for start in range(0, len(streams), size):
        last = min(start + size, len(streams)) - 1
        step: dict[str, Rows] = {}
        numbers: dict[str, range] = {}
        for name, count in zip(sources, counts, strict=True):
            until = int(count[last])
            step[name] = ordered[name].slice(before[name], until - before[name])
            numbers[name] = range(before[name] + 1, until + 1)
            before[name] = until
        yield step, numbers


def _in_order(rows: Rows, times: NDArray[np.int64]) -> pa.Table:
    table = pa.table(rows) if isinstance(rows, pa.RecordBatch) else rows
    if (times[1:] < times[:-1]).any():
        table = table.take(pa.array(np.argsort(times, kind="stable")))
    return table.combine_chunks()


def event_times(source: Source, rows: Rows) -> NDArray[np.int64]:
    """The event times in microseconds, int64[rows]. Rows without one get `LAST`."""
    column = times_of(source, rows, {source.name: _numbers(rows)}).cast(pa.int64())
    return np.asarray(column.fill_null(LAST).to_numpy(zero_copy_only=False), np.int64)


def _numbers(rows: Rows) -> range:
    return range(1, rows.num_rows + 1)
