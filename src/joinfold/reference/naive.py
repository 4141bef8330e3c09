"""The definition of the answer to a query, in plain Python over lists.

All fast code is compared with this module, so it is written to be short and clear, not fast. The same definition in
words is `docs/reference/semantics.md`; the section names below refer to it.

    answers(query, data)       all answers over bounded inputs

The content of windows is in `reference.contents`, late rows and watermarks are in `reference.streaming`.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from joinfold.logical.expressions import Value
from joinfold.logical.query import (
    Every,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnTrigger,
    OnWindowId,
)
from joinfold.reference.aggregates import aggregate_value
from joinfold.reference.contents import (
    NEVER,
    Content,
    Contents,
    Timed,
    arrange,
    event_time,
    held,
    partition,
    row_moves,
    stay,
    window_number,
)
from joinfold.reference.evaluate import Context, evaluate, is_true
from joinfold.reference.rationing import Rations
from joinfold.reference.rows import Row
from joinfold.reference.shedding import EVERYTHING, Sample, estimated_answer
from joinfold.reference.values import canonical, order_key
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

Data = Mapping[str, Sequence[Row]]
Answer = list[tuple[Value, ...]]


Snapshot = dict[tuple[Any, ...], tuple[Value, ...]]
Samples = Callable[[int], Sample]


def answers(query: LogicalQuery, data: Data, zone: tzinfo = UTC, samples: Samples | None = None) -> Answer:
    """All answers over bounded inputs, in the order of instants.

    ``samples`` has the sample of each answer under SHED: by its instant, by the number of its result window, or ON
    ARRIVAL by the number of its row, from 0. Without it, nothing is shed.
    """
    contents = {}
    for input_ in query.inputs:
        numbered = enumerate(data[input_.source.name], start=1)
        timed = [(event_time(input_, row, number), row) for number, row in numbered]
        contents[input_.alias] = arrange(query, input_, timed)
    return answers_until(query, contents, zone, NEVER, samples)


def answers_until(
    query: LogicalQuery,
    contents: Contents,
    zone: tzinfo,
    until: int,
    samples: Samples | None = None,
    rations: Rations | None = None,
) -> Answer:
    """The answers that are final when the watermark is ``until``. A plain join sheds by the ``rations``."""
    if isinstance(query.sync, OnWindowId):
        return _by_window_id(query, contents, zone, until, samples)
    if query.is_plain_join:
        return _plain_join(query, contents, zone, until, rations)
    if isinstance(query.emit, OnArrival):
        return _by_arrival(query, contents, zone, until, samples)
    return answers_at(query, contents, zone, [at for at in instants(query, contents) if at <= until], samples)


# --- Instants -------------------------------------------------------------------------------------------------


def instants(query: LogicalQuery, contents: Contents) -> Iterator[int]:
    """The candidates at which a time window holds a row or held one at the candidate before, or a ROWS window moved."""
    streams = [(input_.window, contents[input_.alias]) for input_ in query.streams]
    times = [item.ts for _, rows in streams for item in rows]
    if not times:
        return
    if isinstance(query.emit, OnTrigger):
        yield max(times) + 1
        return
    only_landmarks = all(isinstance(window, Landmark) for window, _ in streams)
    held_before, counted_before = False, [0] * len(streams)
    for instant in candidates(query, contents, min(times), max(times)):
        holds = any(
            isinstance(window, Sliding | Continuous) and held(window, rows, instant) for window, rows in streams
        )
        counted = [_counted(window, rows, instant, only_landmarks) for window, rows in streams]
        if holds or held_before or counted != counted_before:
            yield instant
        held_before, counted_before = holds, counted


def candidates(query: LogicalQuery, contents: Contents, first: int, last: int) -> list[int]:
    """All candidates from the first row until all rows have left the sliding and continuous windows."""
    windows = [input_.window for input_ in query.streams]
    periods = [window.slide_us for window in windows if isinstance(window, Sliding)]
    sizes = [window.size_us for window in windows if isinstance(window, Sliding | Continuous)]
    emit = query.emit
    if isinstance(emit, Every):
        periods.append(emit.period_us)
    if isinstance(query.sync, OnFull):
        periods.append(math.lcm(*periods))
    every_instant = range(first, last + max(sizes, default=0) + 3 * max(periods, default=0) + 2)
    if isinstance(emit, Every):
        return list(_multiples(every_instant, emit.period_us, 0))
    moves = [
        set(_multiples(every_instant, window.slide_us, window.start_us or 0))
        for window in windows
        if isinstance(window, Sliding)
    ]
    if isinstance(query.sync, OnFull):
        return sorted(set.intersection(*moves))
    for input_ in query.streams:
        match input_.window:
            case Rows(slide=slide) | RangeByRows(slide=slide):
                moves.append(set(row_moves(contents[input_.alias], slide)))
            case PartitionedRows():
                moves.append(set(row_moves(contents[input_.alias], 1)))
    return sorted(set().union(*moves))


def _multiples(span: range, period: int, phase: int) -> range:
    return range(span.start + (phase - span.start) % period, span.stop, period)


def _counted(window: Window | None, rows: Content, instant: int, only_landmarks: bool) -> int:
    """How often a ROWS window has moved; if all windows are landmarks, how many rows this one holds."""
    past = [item for item in rows if item.ts < instant]
    match window:
        case Rows(slide=slide) | RangeByRows(slide=slide):
            return len(past) // slide
        case PartitionedRows():
            return len(past)
        case Landmark() if only_landmarks:
            return len(held(window, rows, instant))
        case _:
            return 0


# --- Answers --------------------------------------------------------------------------------------------------


def combinations(query: LogicalQuery, contents: Contents, zone: tzinfo) -> Iterator[dict[str, Timed]]:
    """The combinations of one row of each content for which WHERE is true."""
    aliases = list(contents)
    for rows in itertools.product(*contents.values()):
        chosen = dict(zip(aliases, rows, strict=True))
        context = Context({alias: item.row for alias, item in chosen.items()}, zone=zone)
        if all(is_true(condition, context) for condition in query.where):
            yield chosen


def answer(query: LogicalQuery, contents: Contents, zone: tzinfo, sample: Sample = EVERYTHING) -> Snapshot:
    """The output rows over these contents, each under its group; under SHED, estimates from a sample."""
    if query.is_estimate:
        return estimated_answer(query, combinations(query, contents, zone), zone, sample)
    contexts = [
        Context({alias: item.row for alias, item in chosen.items()}, zone=zone)
        for chosen in combinations(query, contents, zone)
    ]
    groups = partition(contexts, lambda context: [evaluate(group, context) for group in query.groups])
    if not query.groups and not groups:
        groups = [[]]
    output: Snapshot = {}
    for group in groups:
        keys = tuple(canonical(evaluate(expression, group[0])) for expression in query.groups)
        result = Context(groups=keys, aggregates=_aggregate(query, group), zone=zone)
        if is_true(query.having, result):
            name = tuple(order_key(key) for key in keys)
            output[name] = tuple(evaluate(column.expression, result) for column in query.outputs)
    return output


def _aggregate(query: LogicalQuery, group: list[Context]) -> list[Value]:
    values = []
    for aggregate in query.aggregates:
        counted = [context for context in group if is_true(aggregate.condition, context)]
        tuples = [tuple(evaluate(part, context.wide()) for part in aggregate.arguments) for context in counted]
        values.append(aggregate_value(aggregate.function, tuples, aggregate.type))
    return values


def answers_at(
    query: LogicalQuery, contents: Contents, zone: tzinfo, times: Iterable[int], samples: Samples | None = None
) -> Answer:
    """The answers at these instants."""

    def answer_at(instant: int) -> Snapshot:
        at = {input_.alias: held(input_.window, contents[input_.alias], instant) for input_ in query.inputs}
        return answer(query, at, zone, EVERYTHING if samples is None else samples(instant))

    return _emit(query, (((instant,), answer_at(instant)) for instant in times))


def _emit(query: LogicalQuery, snapshots: Iterable[tuple[tuple[Value, ...], Snapshot]]) -> Answer:
    """All rows of each snapshot, or under CHANGES only what changed since the one before: not counting bounds."""
    places = list(zip(query.selected, query.outputs, strict=True))
    rounded = {place for place, output in places if query.is_rounded(output.expression)}
    before: Snapshot = {}
    result: Answer = []
    for where, snapshot in snapshots:
        if not query.changes:
            result += [(*where, *row) for row in snapshot.values()]
            continue
        result += [(*where, "delete", *row) for group, row in before.items() if group not in snapshot]
        for group, row in snapshot.items():
            if group not in before:
                result.append((*where, "insert", *row))
            elif any(differ(before[group][place], row[place], place in rounded) for place in query.selected):
                result.append((*where, "update", *row))
        before = snapshot
    return result


def differ(old: Value, new: Value, is_rounded: bool) -> bool:
    """Whether a value has changed; one that is computed from rounded aggregates, by more than four roundings."""
    if is_rounded and isinstance(old, float) and isinstance(new, float) and math.isfinite(old) and math.isfinite(new):
        return abs(old - new) > 2.0**-50 * max(abs(old), abs(new))
    return bool(order_key(old) != order_key(new))


def _by_arrival(query: LogicalQuery, contents: Contents, zone: tzinfo, until: int, samples: Samples | None) -> Answer:
    """One answer per row, over the rows not later than it; continuous windows include both of their ends."""
    arrivals = [
        (item.ts, ordinal, item.number, input_.alias)
        for ordinal, input_ in enumerate(query.streams)
        for item in contents[input_.alias]
        if item.ts < until
    ]

    def snapshots() -> Iterator[tuple[tuple[Value, ...], Snapshot]]:
        seen = {input_.alias: 0 for input_ in query.streams}
        count = 0
        previous = None
        sample_of = samples or (lambda nth: EVERYTHING)
        for nth, (ts, _, number, alias) in enumerate(sorted(arrivals)):
            seen[alias] = number
            count = count + 1 if ts == previous else 1
            previous = ts
            at = {}
            for input_ in query.inputs:
                rows = contents[input_.alias]
                if input_.window is not None:
                    arrived = rows[: seen[input_.alias]]
                    rows = held(input_.window, arrived, ts + 1)
                    if isinstance(input_.window, Continuous):
                        rows = [item for item in arrived if ts - input_.window.size_us <= item.ts]
                at[input_.alias] = rows
            yield (ts, count), answer(query, at, zone, sample_of(nth))

    return _emit(query, snapshots())


# --- Plain joins ----------------------------------------------------------------------------------------------


def _plain_join(query: LogicalQuery, contents: Contents, zone: tzinfo, until: int, rations: Rations | None) -> Answer:
    """Every combination that is in the windows at some instant, once, at the latest entry of its rows."""
    stays = {
        input_.alias: {id(item): stay(input_.window, contents[input_.alias], item) for item in contents[input_.alias]}
        for input_ in query.inputs
    }
    result: Answer = []
    for chosen in combinations(query, contents, zone):
        entries, leaves = zip(*(stays[alias][id(item)] for alias, item in chosen.items()), strict=True)
        if max(entries) < min(leaves) and max(entries) <= until:
            own = {input_.alias: stays[input_.alias][id(chosen[input_.alias])] for input_ in query.streams}
            if rations is not None and not rations.let(chosen, own):
                continue
            context = Context({alias: item.row for alias, item in chosen.items()}, zone=zone)
            result.append((max(entries), *(evaluate(column.expression, context) for column in query.outputs)))
    return sorted(result, key=lambda row: order_key(row[0]))


# --- Window ids -----------------------------------------------------------------------------------------------


def _by_window_id(query: LogicalQuery, contents: Contents, zone: tzinfo, until: int, samples: Samples | None) -> Answer:
    """The answers over window wid of every input, as long as all have one; with MOD k, wid mod k of the first input."""
    assert isinstance(query.sync, OnWindowId)

    def snapshots() -> Iterator[tuple[tuple[Value, ...], dict[str, Content]]]:
        for wid in itertools.count():
            where: list[Value] = [wid]
            chosen = dict(contents)
            for ordinal, input_ in enumerate(query.streams):
                number = wid % query.sync.modulus if query.sync.modulus and ordinal == 0 else wid  # type: ignore[union-attr]
                numbered = window_number(input_.window, contents[input_.alias], number, until)
                if numbered is None:
                    return
                start, end, chosen[input_.alias] = numbered
                where += [start, end]
            yield tuple(where), chosen

    if not query.is_plain_join:
        sample_of = samples or (lambda wid: EVERYTHING)
        numbered = enumerate(snapshots())
        return _emit(query, ((where, answer(query, chosen, zone, sample_of(wid))) for wid, (where, chosen) in numbered))
    result: Answer = []
    for where, chosen in snapshots():
        for items in combinations(query, chosen, zone):
            context = Context({alias: item.row for alias, item in items.items()}, zone=zone)
            result.append((*where, *(evaluate(column.expression, context) for column in query.outputs)))
    return result
