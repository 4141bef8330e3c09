"""What each fold of a plan has to do with: how fast entries come to its windows, and how many these hold.

    rows ──▶ entries, one for each cell, key and group ──▶ window        apart: every entry of every cell
             of a cell's n rows D(1 − e^(−n/D)) are different           merged: one for each key and group

A view of a chain has a row for each group that an instant changes. All numbers are those of a query that has run for a
while, of all buckets together; what never leaves is counted after an hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, inf

from joinfold.operators.layout import CONSTANT_ROW, FoldLayout, InputLayout
from joinfold.operators.timeline import CountingWindow, Timeline
from joinfold.operators.window_ids import WindowIds
from joinfold.planner.statistics import Statistics, StreamStatistics
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

SECOND_US = 1_000_000
HORIZON_SECONDS = 3_600.0
STEPS_PER_SECOND = 1.0  # micro-batches, where they decide when answers are given


@dataclass(frozen=True, slots=True)
class Flow:
    """An input of a fold: entries that come in a second, in how many cells, and what its window holds of them.

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


def instants_per_second(timeline: Timeline, statistics: Statistics) -> float:
    """How often answers are given; by window ids, as often as the slowest window moves."""
    if timeline.on_trigger:
        return STEPS_PER_SECOND
    moves = [_moves(window, stream.rate) for window, stream in zip(timeline.windows, statistics.streams, strict=True)]
    if isinstance(timeline, WindowIds):
        return min(moves)
    by_rows = sum(
        own for window, own in zip(timeline.windows, moves, strict=True) if isinstance(window, CountingWindow)
    )
    return (by_rows if timeline.by_rows else 0.0) + sum(SECOND_US / grid.period_us for grid in timeline.candidates)


def _moves(window: Window, rate: float) -> float:
    """How often a window moves in a second, by itself or by the rows that come."""
    match window:
        case Sliding():
            return SECOND_US / window.slide_us
        case Rows() | RangeByRows():
            return rate / window.slide
        case _:
            return rate


def flows_of(folds: Sequence[FoldLayout], statistics: Statistics) -> list[list[Flow]]:
    """The inputs of every fold, in the order of the folds."""
    made: dict[int, Flow] = {}
    found: list[list[Flow]] = []
    instants = instants_per_second(folds[-1].timeline, statistics)
    for number, layout in enumerate(folds):
        feeds = enumerate(layout.feeds[: len(layout.inputs)])  # the stage that numbers rows has feeds and no inputs
        own = [_flow(layout, place, feed, statistics, instants, made) for place, feed in feeds]
        found.append(own)
        if layout.is_view:
            made[layout.streams + number] = _view(layout, own, instants)
    return found


def _flow(
    layout: FoldLayout, place: int, feed: int, statistics: Statistics, instants: float, made: dict[int, Flow]
) -> Flow:
    if feed == CONSTANT_ROW:
        return CONSTANT
    if feed >= layout.streams:
        return made[feed]
    return stream_flow(layout, place, feed, statistics.streams[feed], instants)


def stream_flow(layout: FoldLayout, place: int, stream: int, known: StreamStatistics, instants: float) -> Flow:
    """A stream as an input of a fold that answers at so many instants in a second."""
    side, timeline, rate = layout.inputs[place], layout.timeline, known.passing_rate
    window = timeline.windows[stream]
    groups = known.groups if set(side.groups) - set(side.keys) else known.keys if side.groups else 1.0
    values = _different(side, known)
    cell = timeline.cell_us(stream) / SECOND_US
    match window:
        case Rows() | PartitionedRows():
            stay, cell = window.size / max(known.rate, 1e-9), 0.0
        case RangeByRows() | Sliding() | Continuous():
            stay = window.size_us / SECOND_US
        case Landmark():
            stay = HORIZON_SECONDS
    single = layout.on_arrival or layout.is_plain or isinstance(window, Rows | PartitionedRows)
    entries = rate if single else max(distinct(rate * cell, values), min(rate * cell, 1.0)) / cell
    rows, cells = rate * stay, min(rate, 1 / cell) if cell else rate
    return Flow(
        entries_per_second=entries,
        cells_per_second=cells,
        calls_per_second=min(cells, instants),
        rows=rows,
        apart=entries * stay,
        merged=distinct(rows, values),
        keys=max(1.0, distinct(rows, known.keys)) if side.keys else 1.0,
        groups=max(1.0, distinct(rows, groups)),
        stay=stay,
        skew=known.skew,
        leaves=not isinstance(window, Landmark),
        new=exp(-rows / values) if values < inf else 1.0,
    )


def _different(side: InputLayout, known: StreamStatistics) -> float:
    """How many different entries a stream can have: no more than keys times groups, unless values are carried."""
    if known.entries is not None:
        return known.entries
    if side.carried:
        return inf
    return (known.keys if side.keys else 1.0) * (known.groups if set(side.groups) - set(side.keys) else 1.0)


def _view(layout: FoldLayout, flows: list[Flow], instants: float) -> Flow:
    """The groups of a fold as an input of a later one: those that entries touch change, at every instant."""
    grouped = [flow for flow, side in zip(flows, layout.inputs, strict=True) if side.groups] or flows
    held = max((flow.merged for flow in grouped), default=1.0)
    if layout.partition:
        held = flows[0].keys * layout.partition_rows
    touched = sum(flow.entries_per_second * (2 if flow.leaves else 1) for flow in flows)
    changed = min(touched, held * instants)
    keys = max((flow.keys for flow in grouped), default=1.0)
    cells = min(changed, instants)
    return Flow(changed, cells, cells, held, held, held, max(1.0, min(keys, held)), max(1.0, held))
