"""One answer for every row, in the order of rows: against windows that are lists."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.inprocess import InProcess
from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.physical.stored import ArrivalsOf, EntriesOf
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests.operators.runs import (
    Data,
    Row,
    answer,
    answered,
    answers_when_made_anew,
    check,
    check_batches,
    feed,
    in_pieces,
    plan_of,
)
from tests.operators.stages.packed import absorb, buckets_of
from tests.operators.state.kept import Kept, Query
from tests.operators.test_machine import keys, planned, scattered
from tests.strategies import Case, assert_same_answers, cases

SIZE_US, LAST = 4, 3
TEXT = (
    "SELECT COUNT(*) AS n, SUM(a.v) AS s, MAX(b.v) AS x "
    f"FROM a [{SIZE_US} MICROSECOND], b {{}} WHERE a.k = b.k EMIT ON ARRIVAL"
)
SCHEMA = "k INT, v INT"
PLAN = plan_of(TEXT.format(f"[ROWS {LAST}]"), SCHEMA)
IN_TIME = plan_of(TEXT.format(f"[{LAST} MICROSECOND]"), SCHEMA)
EACH_US = 3
rows = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(0, EACH_US - 1), "k": st.none() | st.integers(0, 1), "v": st.integers(0, 3)}
    ),
    max_size=4,
)
micro_batches = st.lists(st.fixed_dictionaries({"a": rows, "b": rows}), min_size=1, max_size=6)


def defined(batches: list[Data], is_counted: bool) -> list[tuple[Any, ...]]:
    """Time and number among the rows of one time of every row, and what it finds: it is in its own window."""
    every = [(row["ts"], name, row) for batch in batches for name in "ab" for row in batch[name]]
    every.sort(key=lambda item: (item[0], item[1], item[2]["k"] is not None, item[2]["k"] or 0, item[2]["v"]))
    found = list[tuple[Any, ...]]()
    for number, (ts, _, _) in enumerate(every):
        seen = every[: number + 1]
        lefts = [row for at, name, row in seen if name == "a" and at >= ts - SIZE_US]
        rights = [row for at, name, row in seen if name == "b" and (is_counted or at >= ts - LAST)]
        rights = rights[-LAST:] if is_counted else rights
        pairs = [(left, right) for left in lefts for right in rights if left["k"] == right["k"] is not None]
        among = found[-1][1] + 1 if found and found[-1][0] == ts else 1
        total = sum(left["v"] for left, _ in pairs) if pairs else None
        found.append((ts, among, len(pairs), total, max((right["v"] for _, right in pairs), default=None)))
    return found


@pytest.mark.parametrize("plan", [PLAN, IN_TIME], ids=["rows", "time"])
@given(batches=micro_batches, buckets=st.integers(1, 3))
def test_every_row_is_answered_in_its_turn(plan: PlannedQuery, batches: list[Data], buckets: int) -> None:
    """Rows of one time are in order of their streams, then of their values; rows without a key are answered too."""
    batches = [
        {name: [row | {"ts": row["ts"] + EACH_US * number} for row in own] for name, own in batch.items()}
        for number, batch in enumerate(batches)
    ]
    machine, found = InProcess(plan, buckets), list[Any]()
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
    assert set(machine.late.values()) == {0}
    streamed = len(found)
    found += answer(machine, to_the_end=True)
    expected = defined(batches, plan is PLAN)
    assert found == expected
    kept = Query(plan)
    for batch in batches:
        kept.run(batch)
        kept.go_on_as(plan)  # from what is stored, without what is done
    assert sorted(kept.answers) == expected[:streamed]


# --- the compiled loop ------------------------------------------------------------------------------------------------

SUMMED = cases(modes=("arrival",), plain=False, inputs=(1, 2), most_rows=8, connection=keys)
VALUES = st.sampled_from([0, 1, -1, 3, 2**31, -(2**40), 2**62])
DOUBLES = st.sampled_from([0.0, 1.5, -1.5, 1e-3, 1e9, 1e25, -1e25, float("nan"), float("inf")])


@given(case=SUMMED, buckets=st.integers(1, 3), piece=st.integers(1, 5), data=st.data())
def test_random_queries_answer_as_defined(case: Case, buckets: int, piece: int, data: st.DataObject) -> None:
    """In pieces of any length, in one bucket or several, and made anew after every micro-batch."""
    plan = planned(case)
    if plan is None:
        return
    batches = scattered(case, data)
    check_batches(InProcess(in_pieces(plan, piece), buckets), batches)
    assert_same_answers(stream(plan.query, batches).answers, answers_when_made_anew(plan, batches))


WIDE = "k INT, g INT, v BIGINT, d DOUBLE"
AGGREGATES = (
    "COUNT(*) AS n, SUM(a.v) AS s, COUNT(b.v) AS m",
    "SUM(CAST(a.v AS DECIMAL(38, 0)) * b.v) AS s",
    "SUM(a.d) AS s, AVG(b.d) AS m",
    "SUM(a.d * b.d) AS s, VAR_POP(b.d) AS v",
    "CORR(a.v, b.d) AS c, STDDEV_SAMP(a.v) AS d",
)


@pytest.mark.parametrize("changes", ["", " CHANGES"])
@pytest.mark.parametrize("groups", ["", "a.g", "b.g", "a.g, b.g"])
@given(
    aggregates=st.sampled_from(AGGREGATES),
    windows=st.sampled_from(["[5 MICROSECOND]", "[ROWS 3]", "[UNBOUNDED]"]),
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "ts": st.integers(0, 12),
                "k": st.none() | st.integers(0, 2),
                "g": st.none() | st.integers(0, 1),
                "v": st.none() | VALUES,
                "d": st.none() | DOUBLES,
                "at": st.sampled_from("ab"),
            }
        ),
        max_size=14,
    ),
    buckets=st.integers(1, 3),
)
def test_groups_and_numbers_of_any_size(
    aggregates: str, windows: str, rows: list[Row], buckets: int, groups: str, changes: str
) -> None:
    """Sums that wrap around, drift or have special values, in every mode of groups."""
    named = [f"{name} AS g{number}" for number, name in enumerate(groups.split(", "))] if groups else []
    text = f"SELECT {', '.join([*named, aggregates])} FROM a [4 MICROSECOND], b {windows} WHERE a.k = b.k"
    text += (f" GROUP BY {groups}" if groups else "") + f" EMIT ON ARRIVAL{changes}"
    data: Data = {
        name: [{key: own[key] for key in ("ts", "k", "g", "v", "d")} for own in rows if own["at"] == name]
        for name in "ab"
    }
    try:
        check(text, WIDE, data, buckets)
    except EvaluationError:  # a sum that does not fit its type, which the definition finds too
        with pytest.raises(EvaluationError, match="does not fit"):
            naive.answers(plan_of(text, WIDE).query, data)


def test_the_loop_goes_on_after_sums_are_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large value comes and goes: what is left is exact, and the loop has stopped to rebuild it."""
    rebuilt = list[int]()
    rebuild = ArrivalFold.rebuild
    monkeypatch.setattr(ArrivalFold, "rebuild", lambda bucket: (rebuilt.append(1), rebuild(bucket))[1])
    text = (
        "SELECT b.k, SUM(a.d) AS s FROM a [3 MICROSECOND], b [UNBOUNDED] WHERE a.k = b.k GROUP BY b.k EMIT ON ARRIVAL"
    )
    doubles = [0.1, 1e30, 0.2, 0.3, 0.4, -1e32, 0.7, 0.9, 0.11, 0.13]
    data = {
        "a": [{"ts": ts, "k": 1, "d": value} for ts, value in enumerate(doubles, 1)],
        "b": [{"ts": 0, "k": 1, "d": 0.0}, {"ts": 8, "k": 2, "d": 0.0}],
    }
    check(text, "k INT, d DOUBLE", data, buckets=1, tolerance=1e-12)
    assert rebuilt


@pytest.mark.parametrize("changes", ["", " CHANGES"])
def test_a_group_that_goes_as_sums_are_rebuilt_is_gone(changes: str) -> None:
    """The large value of key 1 and the only row of key 2 leave at one arrival."""
    inputs = "FROM a [3 MICROSECOND], b [UNBOUNDED] WHERE a.k = b.k"
    text = f"SELECT a.k, SUM(a.d) AS s {inputs} GROUP BY a.k EMIT ON ARRIVAL{changes}"
    left = [(1, 1, 1e30), (1, 2, 5.0), (2, 1, 0.1), (5, 3, 1.0), (5, 1, 0.25)]
    data = {
        "a": [{"ts": ts, "k": k, "d": value} for ts, k, value in left],
        "b": [{"ts": 0, "k": k, "d": 0.0} for k in (1, 2, 3)],
    }
    check(text, "k INT, d DOUBLE", data, buckets=1, tolerance=1e-12)


def test_a_bucket_emits_only_what_an_arrival_has_changed() -> None:
    """So a bucket does nothing at the arrivals of others, and a group that does not change costs nothing."""
    inputs = "FROM a [9 MICROSECOND], b [9 MICROSECOND] WHERE a.k = b.k"
    text = f"SELECT a.k, COUNT(*) AS n {inputs} GROUP BY a.k EMIT ON ARRIVAL"
    plan = plan_of(text, SCHEMA)
    rows = [row(ts, ts % 3) for ts in range(8)]
    (bucket,) = buckets = buckets_of(plan)
    absorb(plan, buckets, {"a": rows, "b": rows})
    (emitted,) = bucket.answer(to_the_end=True)
    assert emitted.is_lasting and emitted.rows is not None
    assert emitted.rows.num_rows == 8 + 5  # every row of b meets an a, and from time 3 on every row of a meets a b
    assert len(answered(text, SCHEMA, {"a": rows, "b": rows})) > 12


def row(ts: int, k: int = 0) -> Row:
    return {"ts": ts, "k": k, "v": ts}


def bucket_after(times: range) -> ArrivalFold:
    machine = InProcess(PLAN)
    for ts in times:
        feed(machine, {"a": [row(ts)], "b": [row(ts)]})
        answer(machine)
    (bucket,) = machine.buckets
    assert isinstance(bucket, ArrivalFold)
    return bucket


def test_rows_are_done_when_no_row_to_come_sees_them() -> None:
    """Up to 18 is answered: rows of 19 wait. A row of b is counted by the rows that came after it."""
    bucket = bucket_after(range(20))
    assert (bucket.position.answered, bucket.position.applied) == (19, 18)
    assert [bucket.is_done(EntriesOf("a"), ts) for ts in (13, 14)] == [True, False]
    assert [bucket.is_done(ArrivalsOf("a"), ts) for ts in (18, 19)] == [True, False]
    assert [bucket.is_done(EntriesOf("b"), ts) for ts in (15, 16)] == [True, False]
    assert [bucket.is_done(ArrivalsOf("b"), ts) for ts in (15, 16)] == [True, False]


def test_memory_is_that_of_rows_that_wait_or_are_inside() -> None:
    held = [
        [(sum(len(names) for names, _ in own.waiting), len(own.marks)) for own in bucket.queues]
        for bucket in map(bucket_after, map(range, (9, 40)))
    ]
    assert held == [[(1, SIZE_US + 1), (1, LAST)]] * 2
    assert bucket_after(range(9)).cells_held == 0


def rows_held(own: Kept) -> int:
    assert isinstance(own.bucket, ArrivalFold)
    return sum(queue.held for queue in own.bucket.queues)


@pytest.mark.parametrize("sampler", ["KEY", "ROW"])
def test_entries_are_shed_and_arrivals_are_not(sampler: str) -> None:
    """About 60 rows are held, also in the state, and every row has its answer."""
    plan = plan_of(f"{TEXT.format('[ROWS 40]')} SHED TO HOLD 60 ROWS SAMPLE BY {sampler}", SCHEMA)
    kept, arrived, held = Query(plan), 0, list[int]()
    for number in range(20):
        rows = [{"ts": EACH_US * number + v % EACH_US, "k": number + v, "v": v} for v in range(20)]
        kept.run({"a": rows, "b": rows})
        kept.go_on_as(plan)
        arrived += 2 * len(rows)
        held.append(sum(map(rows_held, kept.buckets)))
    assert len(kept.answers) > 0.9 * arrived
    assert min(held[6:]) > 10 and max(held[6:]) <= 90  # the size of a sample of few keys is random
    assert sum(own.bucket.position.streams[0].shed for own in kept.buckets) > 100
