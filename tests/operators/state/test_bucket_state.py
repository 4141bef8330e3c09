"""What a bucket has stored is known by its meaning: another order of columns, more of them, or another plan go on."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from joinfold.errors import EvaluationError, QueryError
from joinfold.operators.codec import decode, encode
from joinfold.operators.state.bucket_state import POSITION
from joinfold.operators.state.chunks import FRESH_RUNS
from joinfold.operators.state.schema import stored_columns
from joinfold.physical.stored import ArrivalsOf, BoundariesOf, EntriesOf, Inside, OrderOf, Waiting, stored_name
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.streaming import stream
from tests.operators.chains import chain_of
from tests.operators.runs import Data, plan_of
from tests.operators.state.kept import Query, going_on
from tests.strategies import assert_same_answers

SCHEMA = "k INT, j INT, v BIGINT"
W = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
SUMS = "a.j, COUNT(*) AS n, MAX(b.v) AS x, SUM(a.v / 4) AS s"
TEXTS = {
    "sliding": f"SELECT {SUMS} FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.j",
    "landmark": f"SELECT {SUMS} FROM a [UNBOUNDED], b {W} WHERE a.k = b.k AND a.v <> b.j GROUP BY a.j CHANGES",
    "trigger": "SELECT COUNT(*) AS n, MIN(a.v) AS x FROM a [9 MICROSECOND], b [5 MICROSECOND] "
    "WHERE a.k = b.k EMIT ON TRIGGER",
    "rows": f"SELECT {SUMS} FROM a [ROWS 12 SLIDE 4], b {W} WHERE a.k = b.k GROUP BY a.j",
    "time by rows": "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [RANGE 9 MICROSECOND SLIDE 3 ROWS], b [ROWS 5] "
    "WHERE a.k = b.k",
    "last rows": f"SELECT b.j, COUNT(*) AS n, MAX(a.v) AS x FROM a [PARTITION BY j ROWS 3], b {W} "
    "WHERE a.k = b.k GROUP BY b.j",
    "ids": f"SELECT COUNT(*) AS n, MAX(b.v) AS x FROM a {W}, b [ROWS 4 SLIDE 2] WHERE a.k = b.k "
    "SYNC ON WINDOW ID MOD 3",
    "arrivals": "SELECT a.j, COUNT(*) AS n, MAX(b.v) AS x FROM a [9 MICROSECOND], b [ROWS 3] WHERE a.k = b.k "
    "GROUP BY a.j EMIT ON ARRIVAL",
    "pairs": "SELECT a.v AS x, b.v AS y FROM a [9 MICROSECOND], b [5 MICROSECOND] WHERE a.k = b.k AND a.j < b.j",
    "pairs by rows": f"SELECT a.v AS x, b.v AS y FROM a [ROWS 6 SLIDE 4], b {W} WHERE a.k = b.k",
    "chosen last rows": f"SELECT b.j, COUNT(*) AS n, SUM(a.v) AS x FROM a [PARTITION BY j ROWS 3], b {W} "
    "WHERE a.k = b.k AND a.v <> b.v GROUP BY b.j",
    "chain": f"SELECT a.j, COUNT(*) AS n, MAX(b.v) AS x FROM a {W}, b {W}, c {W} "
    "WHERE a.k = b.k AND b.j = c.j GROUP BY a.j OPTION (root = c)",
}
MORE = "a column of another version"


def plan_named(name: str) -> PlannedQuery:
    return chain_of(TEXTS[name], SCHEMA, "abc") if name == "chain" else plan_of(TEXTS[name], SCHEMA)


def some(batches: int = 2 * FRESH_RUNS) -> list[Data]:
    return going_on(batches, rows=7, each_us=4, names="abc")


def ran(plan: PlannedQuery, batches: list[Data]) -> Query:
    query = Query(plan)
    for batch in batches:
        query.run(batch)
    return query


def change_stored(query: Query, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
    """Every chunk of the state is changed."""
    for own in query.buckets:
        for key, (blob,) in own.store.held.items():
            if key != POSITION:
                own.store.held[key] = (encode(change(decode(blob)[0])),)


def turned_round(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(batch.schema.names[::-1])


def with_more(batch: pa.RecordBatch) -> pa.RecordBatch:
    if MORE in batch.schema.names:
        return batch
    return batch.append_column(MORE, pa.array([f"{row}" for row in range(batch.num_rows)]))


def test_every_kind_of_stored_thing_is_tried() -> None:
    buckets = [own for name in TEXTS for own in ran(plan_named(name), some(4)).buckets]
    kinds = {type(run.stored) for own in buckets for run in own.state.chunks.runs}
    assert kinds == {EntriesOf, BoundariesOf, ArrivalsOf, OrderOf, Waiting, Inside}


@pytest.mark.parametrize("change", [turned_round, with_more, lambda batch: turned_round(with_more(batch))])
@pytest.mark.parametrize("name", TEXTS)
def test_columns_are_found_in_any_order_and_among_others(
    name: str, change: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> None:
    """Chunks of both kinds are merged with each other afterwards, and read again."""
    query, batches = Query(plan_named(name)), some()
    for number, batch in enumerate(batches):
        query.run(batch)
        if number in (2, FRESH_RUNS + 2):
            change_stored(query, change)
        if number > 1:
            query.go_on_as(query.plan)
    expected = stream(query.plan.query, batches).answers
    assert len(expected) >= FRESH_RUNS
    assert_same_answers(expected, query.answers)


@pytest.mark.parametrize("name", TEXTS)
def test_state_without_a_column_is_refused_and_says_which(name: str) -> None:
    query = ran(plan_named(name), some(4))
    timing = query.plan.timing
    orders = {alias: query.plan.pipeline.input_of(stream).order for stream, alias in enumerate(timing.names)}
    tried = 0
    for own in query.buckets:
        stage, whole = query.plan.stages[own.stage], dict(own.store.held)
        for run in own.state.chunks.runs:
            key = (run.chunks[0].number,)
            batch, _ = decode(whole[key][0])
            wanted = stored_columns(stage, run.stored, orders)
            assert wanted is not None and set(wanted) == set(batch.schema.names)  # nothing is stored without need
            for column in wanted:
                own.store.held[key] = (encode(batch.drop_columns([column])),)
                with pytest.raises(EvaluationError) as refused:
                    own.make_anew()
                assert f"'{stored_name(run.stored)}' lacks {column}" in str(refused.value)
                tried += 1
            own.store.held[key] = whole[key]
        own.make_anew()
    assert tried > 4


def test_state_of_an_input_that_the_plan_does_not_have_is_refused() -> None:
    """Not read as something else: a plan of a later version may cut a query otherwise."""
    query = ran(plan_named("sliding"), some(4))
    own = next(query.buckets)
    state = own.state
    state.chunks.runs[0].stored = EntriesOf("a × b")
    state.save(own.bucket)
    own.batch += 1
    with pytest.raises(EvaluationError, match="no input reads its 'entries of a × b'"):
        own.make_anew()


# --- what must agree, and what need not -----------------------------------------------------------------------------

SLIDING = TEXTS["sliding"]


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        (SLIDING.replace(W, "[8 MICROSECOND SLIDE 2 MICROSECOND]", 1), "windows"),
        (SLIDING.replace("GROUP BY", "AND a.v > 1 GROUP BY"), "where"),
        (SLIDING.replace("a.k = b.k", "a.j = b.k"), "where"),
        (f"{SLIDING} SYNC ON FULL", None),
        (SLIDING.replace(W, "[8 MICROSECOND]", 1), "windows"),
        (f"{SLIDING} EMIT EVERY 8 MICROSECONDS", "rule"),
        (f"{SLIDING} EMIT ON TRIGGER", "rule"),
        (f"{SLIDING} SYNC ON WINDOW ID", "rule"),
        (SLIDING.replace("FROM a ", "FROM a x ").replace("a.", "x."), "inputs"),
        (f"SELECT a.j AS j, b.v AS x FROM a {W}, b {W} WHERE a.k = b.k", "stage"),
    ],
)
def test_the_state_of_another_query_is_refused(text: str, differs: str | None) -> None:
    query = ran(plan_named("sliding"), some(4))
    other = plan_of(text, SCHEMA)
    if differs is None:
        query.go_on_as(other)
        return
    with pytest.raises(EvaluationError, match=f"belongs to another query.*in '{differs}'"):
        query.go_on_as(other)


def test_another_number_of_buckets_is_refused() -> None:
    query = ran(plan_named("sliding"), some(4))
    own = next(query.buckets)
    own.buckets += 1
    with pytest.raises(EvaluationError, match="in 'buckets' the checkpoint has 2 and the query has 3"):
        own.make_anew()


def test_what_is_selected_may_be_written_otherwise() -> None:
    """Columns were numbered by the order in which the planner came across them."""
    first = f"SELECT {SUMS} FROM a {W}, b {W} WHERE a.k = b.k AND a.v <> b.j GROUP BY a.j"
    turned = (
        f"SELECT SUM(a.v / 4) AS s, a.j, MAX(b.v) AS x, COUNT(*) AS n FROM b {W}, a {W} "
        "WHERE a.v <> b.j AND a.k = b.k GROUP BY a.j"
    )
    batches, half = some(), FRESH_RUNS
    query = ran(plan_of(first, SCHEMA), batches[:half])
    before = len(query.answers)
    query.go_on_as(plan_of(turned, SCHEMA))
    for batch in batches[half:]:
        query.run(batch)
    expected = stream(query.plan.query, batches).answers
    assert 0 < before < len(query.answers)
    answered = [(instant, s, j, x, n) for instant, j, n, x, s in query.answers[:before]] + query.answers[before:]
    assert_same_answers(expected, answered)


def test_a_query_that_wants_less_goes_on_and_one_that_wants_more_is_refused() -> None:
    more = plan_named("sliding")
    less = plan_of(f"SELECT a.j, COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.j", SCHEMA)
    batches, half = some(), FRESH_RUNS
    query = ran(more, batches[:half])
    before = len(query.answers)
    query.go_on_as(less)
    for batch in batches[half:]:
        query.run(batch)
        query.go_on_as(less)
    expected = stream(less.query, batches).answers
    assert_same_answers(expected, [row[:3] for row in query.answers[:before]] + query.answers[before:])
    with pytest.raises(EvaluationError, match="does not fit this plan"):
        query.go_on_as(more)


PLANS = (
    Plan("tc"),
    Plan("ic", ()),
    Plan("pc", (), {"a": "btree", "b": "hash"}),
    Plan("ic", ("a",), {"a": "ttree"}),
    Plan("ic", ("a", "b"), {"b": "list"}),
)


@pytest.mark.parametrize("name", ["sliding", "landmark", "time by rows", "chosen last rows", "ids"])
def test_whatever_is_chosen_goes_on_from_the_same_state(name: str) -> None:
    """In turn, after every micro-batch."""
    usual = plan_named(name)
    plans = [usual]
    for forced in PLANS:
        try:
            plans.append(plan_query(usual.query, forced))
        except QueryError:  # not every plan can do it
            continue
    query, batches = Query(usual), some()
    for number, batch in enumerate(batches):
        query.run(batch)
        query.go_on_as(plans[number % len(plans)])
    assert len({plan.choices for plan in plans}) > 2
    assert_same_answers(stream(usual.query, batches).answers, query.answers)
