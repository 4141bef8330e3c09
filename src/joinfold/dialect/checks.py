"""Checks of a whole query after its names are resolved. A check that fails raises `QueryError`."""

from collections.abc import Callable
from itertools import combinations
from math import gcd
from typing import assert_never

from joinfold.dialect.shed_checks import check_shed
from joinfold.dialect.syntax import ParsedQuery
from joinfold.dialect.tokens import Fragment
from joinfold.errors import QueryError
from joinfold.logical.query import Input, LogicalQuery, OnArrival, OnFull, OnSlide, OnWindowId, bound_names, moves
from joinfold.logical.steps import MOST_STEPS, most_steps
from joinfold.timetext import UNITS_US, duration_text
from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, common

RAREST_MEETING_US = 100 * 365 * UNITS_US["DAY"]


def check_streams(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """At least one input is a stream."""
    if not query.streams:
        hint = "run it in Spark directly: relations have no windows and no instants."
        raise QueryError("the query reads no stream, only relations", parsed.inputs[0].span, hint)


def check_connected(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """Conditions of WHERE connect every input with the others."""
    components = query.graph.components
    if len(components) > 1:
        alone = next(i for i, input_ in enumerate(query.inputs) if input_.alias in components[1])
        others = ", ".join(f"'{alias}'" for alias in query.graph.inputs if alias in components[0])
        alias = query.inputs[alone].alias
        hint = f"add a condition to WHERE, such as {query.inputs[0].alias}.key = {alias}.key."
        raise QueryError(f"no condition connects '{alias}' with {others}", parsed.inputs[alone].span, hint)


def check_clocks(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """All streams have the same kind of time, TIMESTAMP or integer; SYNC ON WINDOW ID does not need that."""
    if isinstance(query.sync, OnWindowId):
        return
    first = query.streams[0]
    for input_ in query.streams[1:]:
        if input_.source.clock != first.source.clock:
            ordinal = query.inputs.index(input_)
            hint = (
                "use SYNC ON WINDOW ID, or register both streams with a TIMESTAMP or both with an integer time column."
            )
            aliases = f"'{first.alias}' and '{input_.alias}'"
            what = f"the times of {aliases} cannot be compared: one is a TIMESTAMP, the other an integer"
            raise QueryError(what, parsed.inputs[ordinal].span, hint)


def check_plain_join(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """A plain join has no EMIT, SNAPSHOT, CHANGES or SYNC ON FULL, because it has no instants to choose."""
    if not query.is_plain_join:
        return
    clauses = {
        "emit": "EMIT" if parsed.emit is not None else None,
        "changes": None if parsed.changes is None else "CHANGES" if parsed.changes else "SNAPSHOT",
        "sync": "SYNC ON FULL" if isinstance(query.sync, OnFull) else None,
    }
    for clause, words in clauses.items():
        if words is not None:
            hint = f"a query without aggregates emits each combination once, as soon as it exists. Leave out {words}."
            raise QueryError(f"{words} does not apply to a plain join", parsed.span(clause), hint)


def check_emit(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """The EMIT rule has instants in this query, and SYNC does not choose them already."""
    at = parsed.span("emit")
    if parsed.emit is not None and not isinstance(query.sync, OnWindowId | OnFull):
        if isinstance(query.emit, OnArrival):
            sliding = [input_ for input_ in query.streams if _has_slide(input_)]
            if sliding:
                hint = "use windows without SLIDE, such as [10 MINUTE], [ROWS 100] or [UNBOUNDED]."
                what = f"EMIT ON ARRIVAL answers at every row, but the window of '{sliding[0].alias}' has a SLIDE"
                raise QueryError(what, at, hint)
        if isinstance(query.emit, OnSlide) and not any(moves(input_.window) for input_ in query.streams):
            hint = "use EMIT EVERY 5 SECONDS or EMIT ON TRIGGER, or give a window a SLIDE."
            raise QueryError("EMIT ON SLIDE needs a window that moves, and this query has none", at, hint)
    elif parsed.emit is not None and not isinstance(parsed.emit, OnSlide):
        rule = "FULL" if isinstance(query.sync, OnFull) else "WINDOW ID"
        what = f"this EMIT cannot be combined with SYNC ON {rule}, which already decides when to answer"
        raise QueryError(what, at, "leave out EMIT.")


def check_full(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """For SYNC ON FULL, all windows move in time, at least one has a slide, and all slides meet often enough."""
    if not isinstance(query.sync, OnFull) or query.is_plain_join:
        return
    at = parsed.span("sync")
    for input_ in query.streams:
        if isinstance(input_.window, Rows | PartitionedRows | RangeByRows):
            hint = "use SYNC ON TIME or SYNC ON WINDOW ID."
            what = f"SYNC ON FULL needs windows that move in time, but the window of '{input_.alias}' moves by rows"
            raise QueryError(what, at, hint)
    grids = {input_.alias: input_.window.moves for input_ in query.streams if isinstance(input_.window, Sliding)}
    if not grids:
        hint = "give a window a slide, such as [10 MINUTE SLIDE 1 MINUTE]."
        raise QueryError("SYNC ON FULL needs a window with a slide in time, and this query has none", at, hint)
    for (first, one), (second, other) in combinations(grids.items(), 2):
        if common((one, other)) is None:
            shared, apart = gcd(one.period_us, other.period_us), abs(one.phase_us - other.phase_us)
            arithmetic = f"'{first}' moves at {_moves_text(one, 'i')}, '{second}' at {_moves_text(other, 'j')}"
            reason = f"The difference, {duration_text(apart)}, is not a multiple of {duration_text(shared)}"
            hint = f"{arithmetic}. {reason}, the greatest common divisor of the slides. Change START or a slide."
            raise QueryError(f"the windows of '{first}' and '{second}' never move at the same instant", at, hint)
    meeting = common(grids.values())
    assert meeting is not None, "grids that meet in pairs meet all together"
    if meeting.period_us > RAREST_MEETING_US:
        years = meeting.period_us / (RAREST_MEETING_US / 100)
        slides = ", ".join(f"'{alias}' moves every {duration_text(grid.period_us)}" for alias, grid in grids.items())
        hint = f"{slides}; they meet every {years:,.0f} years. Choose slides with a smaller common multiple."
        raise QueryError("all windows move together less than once in 100 years", at, hint)


def check_window_id(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """For SYNC ON WINDOW ID, every window can be numbered; for MOD, there are two streams."""
    if not isinstance(query.sync, OnWindowId):
        return
    reasons = {
        Landmark: "never ends",
        Continuous: "has no slide",
        PartitionedRows: "moves separately for each key",
    }
    for input_ in query.streams:
        reason = reasons.get(type(input_.window))
        if reason is not None:
            hint = "use a window such as [10 MINUTE SLIDE 1 MINUTE], [TUMBLE 10 MINUTE] or [ROWS 100 SLIDE 10]."
            what = f"SYNC ON WINDOW ID needs windows with a number, but the window of '{input_.alias}' {reason}"
            raise QueryError(what, parsed.span("sync"), hint)
    if query.sync.modulus is not None and len(query.streams) != 2:
        hint = "leave out MOD, or join exactly two streams."
        raise QueryError(f"MOD needs two streams, but the query has {len(query.streams)}", parsed.span("sync"), hint)


def check_steps(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """No window moves in so small steps that a few rows make more answers than any machine can write."""
    steps = most_steps(query)
    if steps is None or steps.number <= MOST_STEPS:
        return
    at = parsed.span("emit")
    if steps.moving is not None:
        at = parsed.inputs[query.inputs.index(steps.moving)].window_span
    least = steps.text(-(-steps.size_us // MOST_STEPS))
    hint = f"each row would be in as many answers. A window may have {MOST_STEPS:,} steps: make them {least} or longer."
    raise QueryError(f"too many steps: {steps}", at, hint)


def check_output_names(query: LogicalQuery, fragments: list[Fragment]) -> None:
    """The columns of the answer have different names. ``fragments`` are the texts of the outputs, in order."""
    bounded = {
        bound.lower(): query.outputs[number].name
        for number in query.estimated
        for bound in bound_names(query.outputs[number].name)
    }
    others = {field.name.lower() for field in (*query.preceding, *query.following)}
    seen: set[str] = set()
    for output, fragment in zip(query.outputs, fragments, strict=True):
        name = output.name.lower()
        if name in others:
            what = f"the answer already has a column '{output.name}'"
        elif name in seen:
            what = f"two outputs are called '{output.name}'"
        elif name in bounded:
            what = f"'{output.name}' is already the name of a bound of '{bounded[name]}', which SHED estimates"
        else:
            seen.add(name)
            continue
        hint = "give it another name with AS."
        if fragment.is_star:
            hint = "list the columns and give each its own name with AS."
        raise QueryError(what, fragment.name_span, hint)


def _moves_text(grid: Grid, factor: str) -> str:
    return f"{duration_text(grid.phase_us)} + {factor} × {duration_text(grid.period_us)}"


def _has_slide(input_: Input) -> bool:
    match input_.window:
        case Sliding() | RangeByRows():
            return True
        case Rows(slide=slide):
            return slide > 1
        case Continuous() | Landmark() | PartitionedRows() | None:
            return False
        case _:
            assert_never(input_.window)


CHECKS: tuple[Callable[[LogicalQuery, ParsedQuery], None], ...] = (
    check_streams,
    check_connected,
    check_clocks,
    check_plain_join,
    check_emit,
    check_full,
    check_window_id,
    check_steps,
    check_shed,
)
