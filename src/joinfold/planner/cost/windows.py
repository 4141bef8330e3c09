"""The load of each stage of a plan: how fast entries come to its windows, and how many entries the windows hold.

    rows ──▶ entries, one for each cell, key and group ──▶ window        apart: every entry of every cell
             n rows of a cell make D(1 − e^(−n/D)) entries,             merged: one for each key and group
             if D different ones are possible

A view of a chain has a row for each group that an instant changes. All numbers are sums over all buckets, for a query
whose windows are full. Landmark windows are counted after an hour (`HORIZON_SECONDS`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, inf
from typing import assert_never

from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Pipeline
from joinfold.physical.shedding import PairRationing
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
from joinfold.planner.cost.rationing import ExpectedStream, expected_shares
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

SECOND_US = 1_000_000
HORIZON_SECONDS = 3_600.0
ENTRY_COLUMN_BYTES = 8.0
STEPS_PER_SECOND = 1.0  # assumed micro-batches per second, for queries that answer once per micro-batch


@dataclass(frozen=True, slots=True)
class Flow:
    """An input of a stage: entries, cells and calls per second, and what its window holds.

    All cells that enter at one instant enter in one call. The window holds ``rows`` rows; they make ``apart`` entries
    by cell, or ``merged`` entries over all cells, with so many different ``keys`` and ``groups``. An entry stays in the
    window for ``stay`` seconds. ``new`` is the share of entries that find no entry of their key and group in the
    window. ``leaves`` is False for a landmark window. In a plain join that sheds, ``probing`` is the share of entries
    that probe, and ``held`` the share of them that the window holds.
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
    probing: float = 1.0
    held: float = 1.0


CONSTANT = Flow(0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def distinct(drawn: float, values: float) -> float:
    """The expected number of different values among ``drawn`` draws, if there are ``values`` in all."""
    return drawn if values == inf else -values * expm1(-drawn / values)


def instants_per_second(timing: Timing, statistics: Statistics) -> float:
    """How many answers there are per second. Under SYNC ON WINDOW ID, as many as the slowest window has moves."""
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
    """How often a window moves per second. A window without a slide moves with every row."""
    match window:
        case Sliding():
            return SECOND_US / window.slide_us
        case Rows() | RangeByRows():
            return rate / window.slide
        case Continuous() | Landmark() | PartitionedRows():
            return rate
        case _:
            assert_never(window)


def flows_of(pipeline: Pipeline, statistics: Statistics) -> list[list[Flow]]:
    """The flows of the inputs of every stage, in the order of the stages."""
    views: dict[int, Flow] = {}
    found: list[list[Flow]] = []
    instants = instants_per_second(pipeline.timing, statistics)
    for number, stage in enumerate(pipeline.stages):
        own = stage_flows(stage, pipeline.timing, statistics, views)
        if isinstance(pipeline.shedding, PairRationing) and is_plain(stage):
            own = _rationed(stage, own, pipeline.shedding)
        found.append(own)
        if makes_view(stage):
            views[number] = _view(stage, own, instants)
    return found


def stage_flows(
    stage: StatefulStage, timing: Timing, statistics: Statistics, views: Mapping[int, Flow] | None = None
) -> list[Flow]:
    """The flows of the inputs of one stage; ``views`` has the views that it reads, by the number of their stage."""
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


def entry_bytes_alike(spec: InputSpec) -> float:
    """About how many bytes an entry has, if all columns are alike."""
    columns = 1 + len(spec.stored_identity) + len(spec.integers) + 2 * len(spec.reals) + len(spec.extremes)
    return columns * ENTRY_COLUMN_BYTES


def _rationed(stage: StatefulStage, flows: Sequence[Flow], shedding: PairRationing) -> list[Flow]:
    """The flows of a plain join within its budgets. Its inputs are the streams."""
    pairs = list(zip(inputs_of(stage), flows, strict=True))
    streams = [
        ExpectedStream(spec.name, flow.entries_per_second, flow.apart, entry_bytes_alike(spec)) for spec, flow in pairs
    ]
    return [
        replace(
            flow,
            rows=flow.rows * share.rows,
            apart=flow.apart * share.rows,
            merged=flow.merged * share.rows,
            keys=max(1.0, min(flow.keys, flow.rows * share.rows)),
            probing=share.probes,
            held=share.rows,
        )
        for flow, share in zip(flows, expected_shares(shedding, streams), strict=True)
    ]


def _stream_flow(
    stage: StatefulStage, spec: InputSpec, timing: Timing, stream: int, known: StreamStatistics, instants: float
) -> Flow:
    """A stream as an input of a stage; ``instants`` are per second."""
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
    """How many groups a stream can have. Groups that are made of keys alone are at most as many as keys."""
    if set(spec.stored_groups) - set(spec.keys):
        return known.groups
    if set(spec.stored_groups) == set(spec.keys):
        return known.keys if spec.stored_groups else 1.0
    return min(known.groups, known.keys) if spec.stored_groups else 1.0


def _different(spec: InputSpec, known: StreamStatistics) -> float:
    """How many different entries a stream can have: keys times groups, or unlimited if other values are carried."""
    if known.entries is not None:
        return known.entries
    if set(spec.carried) - {*spec.keys, *spec.stored_groups}:
        return inf
    return (known.keys if spec.keys else 1.0) * (known.groups if set(spec.stored_groups) - set(spec.keys) else 1.0)


def _view(stage: StatefulStage, flows: Sequence[Flow], instants: float) -> Flow:
    """The view of a stage as an input of a later one: at every instant, the groups that entries touch change."""
    grouped = [flow for flow, spec in zip(flows, inputs_of(stage), strict=True) if spec.stored_groups] or flows
    held = max((flow.merged for flow in grouped), default=1.0)
    if isinstance(stage, LastRowsPerKey):
        held = flows[0].keys * stage.rows
    touched = sum(flow.entries_per_second * (2 if flow.leaves else 1) for flow in flows)
    changed = min(touched, held * instants)
    keys = max((flow.keys for flow in grouped), default=1.0)
    cells = min(changed, instants)
    return Flow(changed, cells, cells, held, held, held, max(1.0, min(keys, held)), max(1.0, held))
