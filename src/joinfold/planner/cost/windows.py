"""What each stage of a plan has to do with: how fast entries come to its windows, and how many these hold.

    rows ──▶ entries, one for each cell, key and group ──▶ window        apart: every entry of every cell
             of a cell's n rows D(1 − e^(−n/D)) are different           merged: one for each key and group

A view of a chain has a row for each group that an instant changes. All numbers are those of a query that has run for a
while, of all buckets together; what never leaves is counted after an hour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, inf
from typing import assert_never

from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Pipeline
from joinfold.physical.source import ConstantRow, StreamRows, ViewOf
from joinfold.physical.stage import FoldAtArrivals, LastRowsPerKey, StatefulStage, inputs_of, is_plain, makes_view
from joinfold.physical.timing import (
    AsFound,
    AtArrivals,
    AtCandidates,
    AtTriggers,
    ByWindowId,
    CountingWindow,
    Timing,
)
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

SECOND_US = 1_000_000
HORIZON_SECONDS = 3_600.0
STEPS_PER_SECOND = 1.0  # micro-batches, where they decide when answers are given


@dataclass(frozen=True, slots=True)
class Flow:
    """An input of a stage: entries that come in a second, in how many cells, and what its window holds of them.

    All cells that enter at an instant do so in one call. ``stay`` is how many seconds an entry is in the window.
    ``new`` is the share of entries that meet no other of their key and group there.
    """

    entries_per_second: float
    cells_per_second: float
    calls_per_second: float
    rows: float
    apart: float
    merged: float
    keys: float
    groups: float
    stay: float = 0.0
    skew: float = 1.0
    leaves: bool = True
    new: float = 0.0


CONSTANT = Flow(0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def distinct(drawn: float, values: float) -> float:
    """How many different ones are among so many that are drawn from these values."""
    return drawn if values == inf else -values * expm1(-drawn / values)


def instants_per_second(timing: Timing, statistics: Statistics) -> float:
    """How often answers are given; by window ids, as often as the slowest window moves."""
    moves = [_moves(window, stream.rate) for window, stream in zip(timing.windows, statistics.streams, strict=True)]
    match timing.rule:
        case AtTriggers() | AtArrivals() | AsFound():
            return STEPS_PER_SECOND
        case ByWindowId():
            return min(moves)
        case AtCandidates(grids=grids, by_rows=by_rows):
            counted = zip(timing.windows, moves, strict=True) if by_rows else ()
            rows = sum(own for window, own in counted if isinstance(window, CountingWindow))
            return rows + sum(SECOND_US / grid.period_us for grid in grids)
        case _:
            assert_never(timing.rule)


def _moves(window: Window, rate: float) -> float:
    """How often a window moves in a second, by itself or by the rows that come."""
    match window:
        case Sliding():
            return SECOND_US / window.slide_us
        case Rows() | RangeByRows():
            return rate / window.slide
        case _:
            return rate


def flows_of(pipeline: Pipeline, statistics: Statistics) -> list[list[Flow]]:
    """The inputs of every stage, in the order of the stages."""
    views: dict[int, Flow] = {}
    found: list[list[Flow]] = []
    instants = instants_per_second(pipeline.timing, statistics)
    for number, stage in enumerate(pipeline.stages):
        own = stage_flows(stage, pipeline.timing, statistics, views)
        found.append(own)
        if makes_view(stage):
            views[number] = _view(stage, own, instants)
    return found


def stage_flows(
    stage: StatefulStage, timing: Timing, statistics: Statistics, views: Mapping[int, Flow] | None = None
) -> list[Flow]:
    """The inputs of one stage; ``views`` are those that it may read, by the stage that makes them."""
    instants = instants_per_second(timing, statistics)
    found = []
    for spec in inputs_of(stage):
        match spec.source:
            case StreamRows(stream=stream):
                found.append(_stream_flow(stage, spec, timing, stream, statistics.streams[stream], instants))
            case ViewOf(stage=number):
                found.append((views or {})[number])
            case ConstantRow():
                found.append(CONSTANT)
            case _:
                assert_never(spec.source)
    return found


def _stream_flow(
    stage: StatefulStage, spec: InputSpec, timing: Timing, stream: int, known: StreamStatistics, instants: float
) -> Flow:
    """A stream as an input of a stage that answers at so many instants in a second."""
    window, rate = timing.windows[stream], known.passing_rate
    values = _different(spec, known)
    cell = timing.cell_us(stream) / SECOND_US
    match window:
        case Rows() | PartitionedRows():
            stay, cell = window.size / max(known.rate, 1e-9), 0.0
        case RangeByRows() | Sliding() | Continuous():
            stay = window.size_us / SECOND_US
        case Landmark():
            stay = HORIZON_SECONDS
        case _:
            assert_never(window)
    answers_rows = isinstance(stage, FoldAtArrivals) or is_plain(stage)
    single = answers_rows or isinstance(window, Rows | PartitionedRows)
    entries = rate if single else max(distinct(rate * cell, values), min(rate * cell, 1.0)) / cell
    rows, cells = rate * stay, min(rate, 1 / cell) if cell else rate
    return Flow(
        entries_per_second=entries,
        cells_per_second=cells,
        calls_per_second=min(cells, instants),
        rows=rows,
        apart=entries * stay,
        merged=distinct(rows, values),
        keys=max(1.0, distinct(rows, known.keys)) if spec.keys else 1.0,
        groups=max(1.0, distinct(rows, _groups(spec, known))),
        stay=stay,
        skew=known.skew,
        leaves=not isinstance(window, Landmark),
        new=exp(-rows / values) if values < inf else 1.0,
    )


def _groups(spec: InputSpec, known: StreamStatistics) -> float:
    """How many groups a stream can have: those of some keys are no more than there are keys."""
    if set(spec.groups) - set(spec.keys):
        return known.groups
    if set(spec.groups) == set(spec.keys):
        return known.keys if spec.groups else 1.0
    return min(known.groups, known.keys) if spec.groups else 1.0


def _different(spec: InputSpec, known: StreamStatistics) -> float:
    """How many different entries a stream can have: no more than keys times groups, unless values are carried."""
    if known.entries is not None:
        return known.entries
    if set(spec.carried) - {*spec.keys, *spec.groups}:
        return inf
    return (known.keys if spec.keys else 1.0) * (known.groups if set(spec.groups) - set(spec.keys) else 1.0)


def _view(stage: StatefulStage, flows: Sequence[Flow], instants: float) -> Flow:
    """The groups of a stage as an input of a later one: those that entries touch change, at every instant."""
    grouped = [flow for flow, spec in zip(flows, inputs_of(stage), strict=True) if spec.groups] or flows
    held = max((flow.merged for flow in grouped), default=1.0)
    if isinstance(stage, LastRowsPerKey):
        held = flows[0].keys * stage.rows
    touched = sum(flow.entries_per_second * (2 if flow.leaves else 1) for flow in flows)
    changed = min(touched, held * instants)
    keys = max((flow.keys for flow in grouped), default=1.0)
    cells = min(changed, instants)
    return Flow(changed, cells, cells, held, held, held, max(1.0, min(keys, held)), max(1.0, held))
