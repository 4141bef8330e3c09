"""Drafts the plan of a logical query: the frames, and one stage that joins all inputs.

Relations are joined to streams first (`planner.drafting.homes`), so that all inputs are streams. Spark computes
expressions that read one input, in its frame. Expressions that read several inputs are computed for every combination,
from columns that entries carry. Queries that no engine runs yet are refused here.

The draft chooses nothing. Statistics are sampled with its help, and the passes of `planner.planning` continue from it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from joinfold.errors import QueryError
from joinfold.logical import query as logical
from joinfold.logical.expressions import Call, Column, Expression, walk
from joinfold.logical.query import LogicalQuery
from joinfold.logical.shedding import Estimating, Favouring, Sampler, Shed
from joinfold.physical.choice import usual_choice
from joinfold.physical.column_names import meaning_of
from joinfold.physical.combining import Combining
from joinfold.physical.payload import AggregateSpec, InputSpec
from joinfold.physical.plan import Frame, FrameColumn, Pipeline
from joinfold.physical.shedding import Shedding
from joinfold.physical.source import ConstantRow, StreamRows
from joinfold.physical.stage import (
    Body,
    Concatenate,
    FoldAtArrivals,
    FoldAtInstants,
    JoinAsFound,
    JoinAtMoves,
    JoiningStage,
    LastStage,
    Merge,
    ToMerge,
    Totals,
)
from joinfold.physical.timing import (
    AsFound,
    AtArrivals,
    AtCandidates,
    AtTriggers,
    ByWindowId,
    CountingWindow,
    EmissionRule,
    TimeWindow,
    Timing,
    full_rule,
    slide_rule,
)
from joinfold.planner.drafting.estimating import estimates_of
from joinfold.planner.drafting.gathered_columns import GatheredColumns
from joinfold.planner.drafting.homes import NOTHING_KNOWN, Homes, Matches, with_homes
from joinfold.planner.drafting.linking import pair_conditions, ranges_of
from joinfold.planner.drafting.rationing import ration_pairs
from joinfold.planner.drafting.sampling import Sampled, sample_keys, sample_rows
from joinfold.planner.drafting.summing import Summing
from joinfold.planner.drafting.widening import converted
from joinfold.planner.planned_query import PlannedQuery, crosses_buckets
from joinfold.types import BOOLEAN
from joinfold.window import Grid, PartitionedRows, RangeByRows, Rows, Window


def draft(
    query: LogicalQuery,
    sampler: Sampler = "key",
    matches: Matches = NOTHING_KNOWN,
    homes_of: Mapping[str, str] | None = None,
) -> PlannedQuery:
    """A plan of one stage, with the usual choice; raises `QueryError` for a query that no engine runs yet.

    SHED samples as the query says, else by ``sampler``. The homes of relations follow from ``matches``, unless
    ``homes_of`` has them.
    """
    _refuse_unsupported(query)
    homes = with_homes(query, matches, homes_of)
    alone, timing = homes.query, timing_of(homes.query)
    gathered = GatheredColumns(timing.names, homes.written)
    for number, key in enumerate(alone.graph.keys):
        for own in gathered.inputs:
            members = [converted(member, key.type) for member in key.of(own.alias)]
            if members:
                own.key(members, number)
    ranges, conditions = ranges_of(alone.graph, gathered), pair_conditions(alone.graph, gathered)
    groups = tuple(_group(gathered, expression) for expression in alone.groups)
    products = Summing(gathered)
    aggregates = tuple(map(products.spec_of, alone.aggregates))
    shown = _shown(homes, gathered) if query.is_plain_join else ()
    _order(query, gathered)
    values = tuple((name, column.expression) for name, column in gathered.pair.frame.items())
    keys = tuple(tuple(map(homes.written, key.members)) for key in alone.graph.keys)
    inputs = _inputs(gathered, timing)
    frames = _frames(homes, gathered)
    sampled: Sampled | None = None
    shedding: Shedding | None = None
    match query.shed:
        case Shed(how=Estimating(sampler=asked)):
            by_row = (asked or sampler) == "row"
            sampled = sample_rows(query, inputs, frames) if by_row else sample_keys(query, inputs, keys)
            inputs, shedding = sampled.inputs, sampled.shedding
        case Shed(how=Favouring()):
            inputs, shedding = ration_pairs(query.shed, inputs, frames)
    body = Body(
        inputs=inputs,
        pair=gathered.pair.sums(),
        combining=Combining(ranges, conditions, values),
        integer_products=tuple(products.integers),
        real_products=tuple(products.reals),
        extremes=tuple(products.extremes),
        replicates=() if sampled is None else sampled.replicates,
    )
    stage = _stage(query, body, timing)
    crosses = crosses_buckets(query, keys, body)
    where = tuple(sorted(map(meaning_of, query.where)))
    last = _last(query, timing, body, groups, aggregates, crosses)
    if sampled is not None and isinstance(last, Merge):
        last = replace(last, estimates=estimates_of(query, sampled))
    pipeline = Pipeline((stage,), last, timing, where, shedding)
    return PlannedQuery(query, frames, pipeline, (usual_choice(stage),), keys, shown)


def timing_of(query: LogicalQuery) -> Timing:
    """The windows, the delays and the emission rule of a query over streams."""
    windows: list[Window] = []
    for input_ in query.streams:
        assert input_.window is not None
        windows.append(input_.window)
    return Timing(
        names=tuple(input_.alias for input_ in query.streams),
        windows=tuple(windows),
        delays_us=tuple(input_.source.delay_us for input_ in query.streams),
        rule=_rule(query, windows),
        has_ahead=tuple(input_.source.ahead_us is not None for input_ in query.streams),
        idles_us=tuple(input_.source.idle_us for input_ in query.streams),
    )


def _refuse_unsupported(query: LogicalQuery) -> None:
    """Raises `QueryError` if the query needs something that no engine runs yet."""
    reasons = []
    for input_ in query.streams:
        keyed = isinstance(input_.window, PartitionedRows) and isinstance(query.emit, logical.OnArrival)
        reasons.append((keyed, "PARTITION BY windows with EMIT ON ARRIVAL"))
    reasons += [(group.type.is_nested, f"GROUP BY on a column of type {group.type}") for group in query.groups]
    windows = [input_.window for input_ in query.streams]
    mixed = all(any(isinstance(window, kind) for window in windows) for kind in (PartitionedRows, Rows | RangeByRows))
    reasons.append((mixed and query.is_estimate, "SHED over PARTITION BY windows beside other ROWS windows"))
    filtered = [i for i in query.streams if isinstance(i.window, PartitionedRows) and query.filters(i.alias)]
    reasons.append((bool(filtered) and query.is_estimate, "SHED over PARTITION BY windows with a filter"))
    if query.is_plain_join and query.shed is not None:
        reasons.append((isinstance(query.sync, logical.OnWindowId), "SHED for a plain join with SYNC ON WINDOW ID"))
    for applies, what in reasons:
        if applies:
            raise QueryError(f"no engine runs {what} yet", hint="for small data use `joinfold.reference.naive`.")


def _rule(query: LogicalQuery, windows: list[Window]) -> EmissionRule:
    if isinstance(query.sync, logical.OnWindowId):
        return ByWindowId(query.sync.modulus)
    if query.is_plain_join:
        return AsFound()
    match query.emit:
        case logical.Every(period_us=period_us):
            return AtCandidates((Grid(0, period_us),))
        case logical.OnTrigger():
            return AtTriggers()
        case logical.OnArrival():
            return AtArrivals()
        case logical.OnSlide():
            return full_rule(windows) if isinstance(query.sync, logical.OnFull) else slide_rule(windows)
        case None:
            raise AssertionError("only plain joins and window ids have no EMIT")
        case _:
            assert_never(query.emit)


def _group(gathered: GatheredColumns, expression: Expression) -> str:
    ordinal = gathered.ordinal_of(expression)
    return gathered.all[ordinal].group(gathered.at(ordinal, expression))


def _shown(homes: Homes, gathered: GatheredColumns) -> tuple[tuple[Column, str], ...]:
    """The columns that a plain join selects, each with the name under which its entries carry it."""
    read = [node for output in homes.query.outputs for node in walk(output.expression)]
    columns = dict.fromkeys(node for node in read if isinstance(node, Column))
    carried = ((column, gathered.inputs[gathered.ordinal_of(column)].carry(column)) for column in columns)
    return tuple((homes.written(column), name) for column, name in carried)


def _order(query: LogicalQuery, gathered: GatheredColumns) -> None:
    """Gathers the columns that order rows of the same time: all columns that the query reads.

    Only windows that count rows, and EMIT ON ARRIVAL, need that order.
    """
    for input_, own in zip(query.streams, gathered.inputs, strict=False):
        if isinstance(query.emit, logical.OnArrival) or isinstance(input_.window, CountingWindow):
            for name in query.columns_read(own.alias):
                own.order(Column(own.alias, name, input_.source.schema.type_of(name)))


def _inputs(gathered: GatheredColumns, timing: Timing) -> tuple[InputSpec, ...]:
    streams, constant = gathered.inputs[: timing.streams], gathered.inputs[timing.streams :]
    return (
        *(own.spec(StreamRows(stream), timing.is_open_ended(stream)) for stream, own in enumerate(streams)),
        *(own.spec(ConstantRow()) for own in constant),
    )


def _frames(homes: Homes, gathered: GatheredColumns) -> tuple[Frame, ...]:
    frames = []
    for input_, own in zip(homes.query.inputs, gathered.inputs, strict=False):
        kept = tuple(converted(part, BOOLEAN) for part in homes.query.filters(input_.alias))
        keep = None if not kept else kept[0] if len(kept) == 1 else Call("and", kept)
        columns = tuple(
            FrameColumn(column.name, homes.written(column.expression), column.role) for column in own.frame.values()
        )
        attached, matching = homes.attached.get(input_.alias, ()), homes.matching.get(input_.alias, ())
        frames.append(Frame(input_, keep, columns, attached, matching))
    return tuple(frames)


def _stage(query: LogicalQuery, body: Body, timing: Timing) -> JoiningStage:
    """The stage that joins all inputs.

    A plain join over windows in time emits combinations as they are found. With windows that count rows, or under SYNC
    ON WINDOW ID, it emits them when windows move.
    """
    if query.is_plain_join:
        timed = isinstance(timing.rule, AsFound) and all(isinstance(window, TimeWindow) for window in timing.windows)
        return JoinAsFound(body) if timed else JoinAtMoves(body)
    if isinstance(timing.rule, AtArrivals):
        return FoldAtArrivals(body, query.changes)
    return FoldAtInstants(body, ToMerge(query.changes))


def _last(
    query: LogicalQuery,
    timing: Timing,
    body: Body,
    groups: tuple[str, ...],
    aggregates: tuple[AggregateSpec, ...],
    crosses: bool,
) -> LastStage:
    is_placed = isinstance(timing.rule, ByWindowId | AtArrivals)
    placed = tuple(field.name for field in query.leading) if is_placed else ()
    if query.is_plain_join:
        return Concatenate(placed)
    return Merge(Totals.of(body), groups, aggregates, query.changes, placed, crosses)
