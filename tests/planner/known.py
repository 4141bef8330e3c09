"""Queries of which something is known: windows in seconds, and statistics that can be."""

from dataclasses import replace
from itertools import cycle, pairwise

from hypothesis import assume
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import QueryError
from joinfold.logical.query import LogicalQuery, Source
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.stage import JoiningStage
from joinfold.planner.context import Context
from joinfold.planner.cost.estimates import Decision, Estimate
from joinfold.planner.cost.estimating import Setting, estimate, fold_amounts
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import flows_of, instants_per_second
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from tests import refusals
from tests.strategies import Case, cases

NAMES = "abcdefgh"
SCHEMA = read_schema("ts TIMESTAMP, k INT, j INT, g INT, x BIGINT, v BIGINT, d DOUBLE")
WINDOW = "[10 SECOND SLIDE 1 SECOND]"
COUNTING = ("[ROWS 100 SLIDE 10]", "[RANGE 10 SECOND SLIDE 5 ROWS]", "[PARTITION BY g ROWS 3]")
JOINED = f"FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
SETS = f"SELECT a.g, COUNT(*) AS n {JOINED} GROUP BY a.g"
CONDITION = f"SELECT COUNT(*) AS n {JOINED} AND a.v <> b.v"
BAND = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {JOINED} AND a.x BETWEEN b.x - 9 AND b.x + 9 GROUP BY a.g"
LONG = "[600 SECOND SLIDE 1 SECOND]"
ROWS, BY_ROWS, LAST = "[ROWS 9 SLIDE 3]", "[RANGE 9 SECOND SLIDE 2 ROWS]", "[PARTITION BY g, j ROWS 3]"
FAST = 1e6  # rows for a second: every key and group is in every cell


def stream(
    rate: float, keys: float = 1, groups: float = 1, entries: float | None = None, skew: float = 1
) -> StreamStatistics:
    """A stream that is known."""
    return StreamStatistics(rate, keys, groups, entries, skew=skew, origin="declared")


FEW_MATCHES = (stream(4_000, keys=20, groups=3_000), stream(4_000, keys=20))
FEW_GROUPS = (stream(8_000, keys=2, groups=2), stream(8_000, keys=2))
SLOW = (stream(8, 2), stream(6, 2))  # windows of 80 and of 60 rows, half of them with one key


def unknown(streams: int) -> Statistics:
    """Streams of which nothing is known."""
    return Statistics((StreamStatistics(),) * streams)


def query_of(text: str) -> LogicalQuery:
    """A query over streams named a to h."""
    return bind(parse(text), {name: Source(name, SCHEMA, True, "ts") for name in NAMES})


def chain_of(inputs: int, select: str = "COUNT(*) AS n", tail: str = "", window: str = WINDOW) -> str:
    """A join in which neighbours share a key that no others have, in turn k and j."""
    streams = ", ".join(f"{name} {window}" for name in NAMES[:inputs])
    keys = [f"{one}.{key} = {other}.{key}" for (one, other), key in zip(_pairs(inputs), cycle("kj"), strict=False)]
    return f"SELECT {select} FROM {streams} WHERE {' AND '.join(keys)}{tail}"


def common_key(inputs: int, select: str = "COUNT(*) AS n", tail: str = "") -> str:
    """A join by one key."""
    streams = ", ".join(f"{name} {WINDOW}" for name in NAMES[:inputs])
    return f"SELECT {select} FROM {streams} WHERE {' AND '.join(f'{x}.k = {y}.k' for x, y in _pairs(inputs))}{tail}"


def _pairs(inputs: int) -> list[tuple[str, str]]:
    return list(pairwise(NAMES[:inputs]))


def planned(text: str, *streams: StreamStatistics, selectivity: float = 1.0, plan: Plan | None = None) -> PlannedQuery:
    """The plan that is chosen, by the shipped prices."""
    return plan_query(query_of(text), plan, Statistics(streams, selectivity), shipped_weights())


def joined(a: str, b: str = WINDOW, tail: str = "") -> PlannedQuery:
    """The draft of a join over two windows, for passes to go on from."""
    return draft(query_of(f"SELECT COUNT(*) AS n FROM a {a}, b {b} WHERE a.k = b.k {tail}"))


def stage_of(text: str) -> JoiningStage:
    """The stage that joins all inputs of a query, before any pass."""
    return draft(query_of(text)).answering


def context(wanted: Plan | None = None, statistics: Statistics | None = None) -> Context:
    """What passes know besides a plan."""
    return Context(wanted or Plan(), statistics, shipped_weights())


def decision_of(plan: PlannedQuery) -> Decision:
    assert plan.decision is not None
    return plan.decision


def amounts(
    text: str, *streams: StreamStatistics, selectivity: float = 1.0, plan: Plan | None = None
) -> dict[str, float]:
    """What the last fold does in a second of stream, as a forced plan or else the usual one."""
    forced, statistics = plan_query(query_of(text), plan), Statistics(streams, selectivity)
    flows, instants = flows_of(forced.pipeline, statistics), instants_per_second(forced.timing, statistics)
    setting = Setting((), statistics, shipped_weights())
    return fold_amounts(setting, forced.answering, forced.choice, flows[-1], instants).counted()


def estimated(plan: PhysicalPlan, statistics: Statistics) -> Estimate:
    """What a plan costs by the shipped prices, on two buckets."""
    return estimate(Setting.of(plan, statistics, shipped_weights(), buckets=2), plan)


TEXTS = (
    SETS,
    SETS.replace("COUNT(*)", "MAX(b.v)"),
    CONDITION,
    f"SELECT COUNT(*) AS n {JOINED} AND a.x < b.x",
    f"SELECT a.v, b.v AS w {JOINED}",
    f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW} GROUP BY a.g",
    chain_of(4),
)


# --- random ones --------------------------------------------------------------------------------------------------

selectivities = st.sampled_from([0.0, 1e-6, 0.1, 1.0])


@st.composite
def streams_known(draw: st.DrawFn, skew: float) -> StreamStatistics:
    """A stream as it can be: no fewer entries than keys or groups, no more skew than keys."""
    keys, groups = draw(st.sampled_from([1.0, 2.0, 30.0, 1e3, 1e6])), draw(st.sampled_from([1.0, 2.0, 1e3, 1e6]))
    return StreamStatistics(
        rate=draw(st.one_of(st.just(0.0), st.floats(-2, 6).map(lambda power: 10.0**power))),
        keys=keys,
        groups=groups,
        entries=draw(st.sampled_from([None, None, max(keys, groups), keys * groups, 1e13])),
        passes=draw(st.sampled_from([0.0, 0.01, 1.0])),
        skew=min(skew, keys),
        origin="declared",
    )


@st.composite
def plans_in_seconds(draw: st.DrawFn, inputs: tuple[int, int] = (1, 4)) -> PlannedQuery:
    """The usual plan of any query, with seconds in the place of microseconds."""
    case = draw(cases(inputs=inputs, most_rows=2))
    text = case.text.replace("MICROSECOND", "SECOND")
    try:
        plan = refusals.planned(Case(text, case.catalog, {}).bind(), text)
    except QueryError as error:  # a START is a fraction of a second still
        refusals.check_refusal(error, refusals.Asked(text))
        plan = None
    assume(plan is not None)
    assert plan is not None
    return plan


def drawn_statistics(draw: st.DataObject, plan: PlannedQuery) -> Statistics:
    """Something that is known of every stream of a plan; keys are as uneven in one as in the other."""
    skew = draw.draw(st.sampled_from([1.0, 5.0, 1e6]))
    return Statistics(tuple(draw.draw(streams_known(skew)) for _ in plan.frames), draw.draw(selectivities))


def faster(statistics: Statistics, ordinal: int, times: float) -> Statistics:
    """With more rows of a stream."""
    known = statistics.streams[ordinal]
    return statistics.with_stream(ordinal, replace(known, rate=known.rate * times))
