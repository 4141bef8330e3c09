"""Draws scenarios: any query, any rows, and whatever can happen to them.

Times are small numbers of microseconds. Only the clocks of micro-batches may also count in seconds, where no stream
takes its time from them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError
from joinfold.kernels.structures import STRUCTURES
from joinfold.logical.query import Source
from joinfold.planner.forcing import Plan
from tests.operators.test_shedding import SCHEMA as SHED_SCHEMA
from tests.operators.test_shedding import rows_at, texts
from tests.refusals import Asked, check_refusal, understood
from tests.simulation.scenario import Attempt, Death, Loss, MicroBatch, Planning, Registered, Row, Scenario
from tests.strategies import Case, cases

MOST_BATCHES = 5
LAST_US = 253_402_300_799_000_000
"""In the year 9999."""
SECOND_US = 1_000_000
LATEST_US = 60
"""After all other rows, unless they are ahead."""

places = st.integers(0, 999)
writes = st.one_of(st.integers(0, 8), st.integers(0, 50))
losses = st.builds(Loss, st.booleans(), st.sampled_from(["", "", "", "gone", "cut", "flipped"]), places)
deaths = st.lists(st.builds(Death, st.integers(0, 8), st.integers(0, 6)), max_size=2).map(tuple)
attempts = st.builds(
    Attempt, st.integers(0, 2**16), writes, st.none() | st.integers(0, 2), losses, st.just(()) | deaths
)
rescalings = st.sampled_from([None, None, None, None, 1, 2, 3, 5])
schedules = st.lists(attempts, min_size=1, max_size=3).map(tuple)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A scenario that binds."""
    kind = draw(st.sampled_from(["any", "any", "any", "shed", "estimate"]))
    case = (
        draw(estimates())
        if kind == "estimate"
        else draw(cases(most_rows=10, least_rows=draw(st.sampled_from([5, 5, 5, 0]))))
    )
    text = draw(shedding(case)) if kind == "shed" else case.text
    clocks = draw(_clocks())
    sources = {
        name: draw(_registered(source, clocks[-1] >= SECOND_US)) if source.is_stream else Registered(is_stream=False)
        for name, source in case.catalog.items()
    }
    schema = next(iter(case.catalog.values())).schema
    scenario = Scenario(
        text,
        ", ".join(f"{own.name} {own.type}" for own in schema),
        sources,
        draw(_micro_batches(case.data, sources, clocks)),
        tuple(draw(st.lists(_plannings(case), min_size=1, max_size=3))),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([1024, 1, 3])),
        draw(st.sampled_from([8, 1, 2, 3])),
        draw(st.sampled_from([65_536, 1, 3])),
    )
    if not all(own.has_time for own in sources.values()) and not _binds(scenario):
        return replace(scenario, sources={name: replace(own, has_time=True) for name, own in sources.items()})
    return scenario


def _binds(scenario: Scenario) -> bool:
    try:
        scenario.bind()
    except QueryError as error:
        check_refusal(error, Asked(scenario.text, understood(scenario.text, scenario.catalog())))
        return False
    return True


# --- queries that shed ----------------------------------------------------------------------------------------------


@st.composite
def estimates(draw: st.DrawFn) -> Case:
    """A query that samples keys or rows."""
    catalog = {name: Source(name, SHED_SCHEMA, True, "ts", 2) for name in "abc"}
    start = draw(st.integers(0, 3))
    data = {
        name: draw(st.lists(st.integers(start, start + 20).flatmap(rows_at), min_size=6, max_size=20))
        for name in catalog
    }
    return Case(draw(texts()), catalog, data)


@st.composite
def shedding(draw: st.DrawFn, case: Case) -> str:
    """The text of a case with SHED, if it can have it."""
    budget = draw(
        st.sampled_from(["HOLD 5 ROWS", "HOLD 9 ROWS", "HOLD 400 BYTES", "PROCESS 3 ROWS PER SECOND AND HOLD 6 ROWS"])
    )
    part = draw(st.sampled_from(["SAMPLE BY KEY", "SAMPLE BY ROW"]))
    if case.bind().is_plain_join:
        part = draw(st.sampled_from(["", "FAVOUR RATES", "FAVOUR WINDOWS", "FAVOUR EQUAL"]))
    text = f"{case.text} SHED TO {budget} {part} SEED {draw(st.integers(0, 3))}"
    try:
        bind(parse(text), case.catalog)
    except QueryError as error:
        check_refusal(error, Asked(text, understood(text, case.catalog)))
        return case.text
    return text


# --- time -----------------------------------------------------------------------------------------------------------


@st.composite
def _clocks(draw: st.DrawFn) -> list[int]:
    """The times of micro-batches: with gaps, and sometimes one goes back."""
    unit, found = draw(st.sampled_from([1, 1, SECOND_US])), [draw(st.integers(0, 30))]
    for step in draw(st.lists(st.sampled_from([1, 3, 0, 7, 12, -2]), max_size=MOST_BATCHES - 1)):
        found.append(max(found[-1] + step * unit, 0))
    return found


@st.composite
def _registered(draw: st.DrawFn, source: Source, in_seconds: bool) -> Registered:
    unit = SECOND_US if in_seconds else 1
    return Registered(
        has_time=in_seconds or draw(st.integers(0, 9)) < 9,
        delay_us=source.delay_us,
        ahead_us=draw(st.sampled_from([None, None, 5, 20, 60])),
        idle_us=draw(st.sampled_from([None, None, unit, 4 * unit, 12 * unit])),
    )


@st.composite
def _micro_batches(
    draw: st.DrawFn, data: Mapping[str, list[dict[str, Any]]], sources: Mapping[str, Registered], clocks: list[int]
) -> tuple[MicroBatch, ...]:
    """The rows in order of time with some that are late, or in any order. Streams that can be idle fall silent."""
    count, ordered = len(clocks), draw(st.booleans())
    found: list[dict[str, list[Row]]] = [{} for _ in range(count)]
    for name, rows in data.items():
        own = sources[name]
        times = sorted(row["ts"] for row in rows)
        silent = draw(st.sets(st.integers(0, count - 1))) if own.idle_us is not None else set()
        for row in rows:
            number = 0
            if own.is_stream:
                number = times.index(row["ts"]) * count // len(times) if ordered else draw(st.integers(0, count - 1))
                if ordered and draw(st.integers(0, 7)) == 0:
                    number = draw(st.integers(number, count - 1))  # late
                number = next((later for later in range(number, count) if later not in silent), number)
            if own.ahead_us is not None and draw(st.integers(0, 7)) == 0:
                bound_us = clocks[number] + own.ahead_us  # itself is accepted; in seconds, that makes many instants
                far = draw(st.sampled_from([1, 9, LAST_US] if bound_us > SECOND_US else [0, 1, 9, LAST_US]))
                row = row | {"ts": min(bound_us + far, LAST_US)}
            known = {column: value for column, value in row.items() if value is not None}
            found[number].setdefault(name, []).append(known)
    if draw(st.integers(0, 3)):  # most windows are answered in the end
        found.append({name: [{"ts": LATEST_US}] for name, own in sources.items() if own.is_stream})
        clocks = [*clocks, max(*clocks, LATEST_US)]
    return tuple(
        MicroBatch(own, clock_us, draw(schedules), draw(st.integers(0, 5)) == 0, draw(rescalings))
        for own, clock_us in zip(found, clocks, strict=True)
    )


# --- plans ----------------------------------------------------------------------------------------------------------


@st.composite
def _plannings(draw: st.DrawFn, case: Case) -> Planning:
    """Any plan; what cannot be forced on the query is left out when it runs."""
    if draw(st.integers(0, 2)) == 0:
        return Planning(follows=draw(st.integers(0, 99)))
    aliases = [input_.alias for input_ in case.bind().streams]
    early = draw(st.none() | st.sets(st.sampled_from(aliases)).map(lambda chosen: tuple(sorted(chosen))))
    index = draw(st.dictionaries(st.sampled_from(aliases), st.sampled_from([*STRUCTURES]), max_size=2))
    order = draw(st.none() | st.permutations(aliases).map(tuple))
    forced = Plan(draw(st.sampled_from([None, "pc", "ic", "tc"])), early, index, order)
    return Planning(forced)
