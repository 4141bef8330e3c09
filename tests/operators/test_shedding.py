"""Estimates of whole queries, micro-batch by micro-batch, against the definition over the same samples.

A run tells which sample it used for each answer: its rate, and the keys that were certain. The definition sheds by the
same draws from all rows that are not late, so every row that a sample needs must have been held.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery, Source
from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.state.bucket_state import BucketState
from joinfold.operators.state.state_id import StateId
from joinfold.physical.shedding import WHOLE
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.drawing import sample_of
from joinfold.reference.streaming import stream
from joinfold.shedding.rates import Sample
from tests.operators.runs import Answers, Data, answer, feed
from tests.strategies import same_value

SCHEMA = read_schema("ts TIMESTAMP, k INT, j INT, g INT, v BIGINT, d DOUBLE")
SLIDING = ["[6 MICROSECOND SLIDE 2 MICROSECOND]", "[TUMBLE 4 MICROSECOND]"]
ROWS = ["[ROWS 8 SLIDE 2]", "[RANGE 5 MICROSECOND SLIDE 3 ROWS]"]
LONG = ["[UNBOUNDED]", "[5 MICROSECOND]"]
ON_ARRIVAL = [*LONG, "[9 MICROSECOND]", "[ROWS 4]", "[ROWS 12]"]
SELECTED = "COUNT(*) AS n, SUM(a.v) AS s, AVG(b.v) AS m, MAX(a.v) AS top, SUM(b.d) AS f, VAR_POP(a.v) AS p"


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Queries that shed, of every kind that may."""
    sampler = draw(st.sampled_from(["BY KEY", "BY ROW"]))
    last = ["[PARTITION BY k ROWS 2]"] if sampler == "BY KEY" else []
    emit = draw(st.sampled_from(["", "", "EMIT ON ARRIVAL"]))
    first, second = draw(
        st.tuples(st.sampled_from(ON_ARRIVAL), st.sampled_from(ON_ARRIVAL))
        if emit
        else st.one_of(
            st.tuples(st.sampled_from([*SLIDING, *ROWS, *LONG]), st.sampled_from([*SLIDING, *ROWS])),
            st.tuples(st.sampled_from([*SLIDING, *last]), st.sampled_from(SLIDING)),
        )
    )
    inputs, where = f"a {first}, b {second}", draw(st.sampled_from(["a.k = b.k", "a.k = b.k AND a.j = b.j"]))
    if "PARTITION" in first:
        where = "a.k = b.k"
    if sampler == "BY KEY":
        more = draw(st.sampled_from(["", "", " AND a.v <> b.v", " AND a.v < b.v", " AND b.j = c.j"]))
        inputs, where = inputs + (f", c {'[ROWS 9]' if emit else SLIDING[0]}" if "c.j" in more else ""), where + more
    groups = draw(st.sampled_from(["", "a.g", "a.k", "a.g, b.j"]))
    select = draw(
        st.sampled_from(
            [SELECTED, "COUNT(*) AS n", "COUNT(*) AS n, SUM(a.v) AS s", "COUNT(*) * 2 AS n2, MIN(b.v) AS low"]
        )
    )
    changes = draw(st.sampled_from(["", "CHANGES"]))
    sync = "SYNC ON WINDOW ID" if {first, second} <= {*SLIDING, *ROWS} and draw(st.booleans()) else ""
    ic = "OPTION (method = ic)" if not re.search("MIN|MAX", select) and draw(st.booleans()) else ""
    hold, seed = draw(st.integers(1, 40)), draw(st.integers(0, 3))
    by = f"GROUP BY {groups}" if groups else ""
    shown = f"{groups}, {select}" if groups else select
    return (
        f"SELECT {shown} FROM {inputs} WHERE {where} {by} {emit} {changes} {sync} "
        f"SHED TO HOLD {hold} ROWS SAMPLE {sampler} SEED {seed} {ic}"
    )


def rows_at(time: int) -> st.SearchStrategy[dict[str, Any]]:
    key = st.one_of(st.sampled_from([0, 0, 1]), st.integers(2, 12), st.none())
    number = st.integers(-3, 9)
    values = {"k": key, "j": st.integers(0, 1), "g": st.integers(0, 1), "v": number, "d": number.map(float)}
    return st.fixed_dictionaries({"ts": st.integers(max(time - 3, 0), time + 3), **values})


@st.composite
def batches_of(draw: st.DrawFn) -> list[Data]:
    """Micro-batches whose rows overlap in time; some rows are late."""
    return [
        {name: draw(st.lists(rows_at(4 * number), max_size=9)) for name in "abc"}
        for number in range(draw(st.integers(1, 7)))
    ]


def planned(text: str) -> PlannedQuery:
    return plan_query(bind(parse(text), {name: Source(name, SCHEMA, True, "ts", 2) for name in "abc"}))


def run(machine: InProcess, batches: Sequence[Data]) -> tuple[Answers, dict[int, Sample]]:
    """The answers, and the sample of each, which is the same in all buckets; ON ARRIVAL rows are counted from 0."""
    found, samples = Answers(), dict[int, Sample]()
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
        last = machine.buckets[-len(machine.shuffle_keys) :]
        folds = [bucket for bucket in last if isinstance(bucket, LiveBucket) and bucket.sampler is not None]
        assert all(fold.samples == folds[0].samples for fold in folds)
        before = len(samples) if any(isinstance(fold, ArrivalFold) for fold in folds) else 0
        for fold in folds:
            samples |= {before + number: sample for number, sample in fold.samples.items()}
            fold.samples = {}
    return found, samples


def expected(plan: PlannedQuery, batches: Sequence[Data], samples: dict[int, Sample]) -> Answers:
    known = {(own, own.expected): sample_of(plan, own) for own in samples.values()}
    return stream(plan.query, batches, samples=lambda at: known[samples[at], samples[at].expected]).answers


def assert_same_estimates(query: LogicalQuery, left: Answers, right: Answers) -> None:
    """The same rows; quantiles, and so bounds, are equal to about four digits."""
    names = query.schema.names
    bounds = [name.endswith(("_low", "_high")) for name in names]

    def sorted_rows(rows: Answers) -> Answers:
        return sorted(
            rows, key=lambda row: repr([value for value, is_bound in zip(row, bounds, strict=True) if not is_bound])
        )

    assert len(left) == len(right)
    for one, other in zip(sorted_rows(left), sorted_rows(right), strict=True):
        for name, is_bound, x, y in zip(names, bounds, one, other, strict=True):
            if is_bound and None not in (x, y):
                assert abs(x - y) <= 1 + 1e-3 * max(abs(x), abs(y)), (name, one, other)
            else:
                assert same_value(x, y, 1e-6), (name, one, other)


@given(texts(), batches_of(), st.integers(1, 3))
def test_estimates_are_those_of_the_definition(text: str, batches: list[Data], buckets: int) -> None:
    plan = planned(text)
    found, samples = run(InProcess(plan, buckets), batches)
    assert_same_estimates(plan.query, expected(plan, batches, samples), found)


@pytest.mark.parametrize("groups", ["", "a.g"])
@pytest.mark.parametrize(("sampler", "number_of_keys"), [("KEY", 100), ("ROW", 15)])
def test_bounds_are_those_of_the_definition(sampler: str, number_of_keys: int, groups: str) -> None:
    """With keys or rows enough for bounds, one heavy key, and a rate that changes from batch to batch."""
    random, window = Random(1), "[TUMBLE 20 MICROSECOND]"
    by, shown = (f"GROUP BY {groups}", f"{groups}, ") if groups else ("", "")
    select = f"{shown}COUNT(*) AS n, SUM(a.v) AS s, AVG(b.v) AS m, SUM(a.v) / COUNT(*) AS q"
    text = f"SELECT {select} FROM a {window}, b {window} WHERE a.k = b.k {by}"
    plan = planned(f"{text} SHED TO HOLD 330 ROWS SAMPLE BY {sampler}")
    batches = []
    for number in range(4):
        times = [random.randrange(10 * number, 10 * number + 10) for _ in range(100 + 10 * number)]
        rows = [{"ts": ts, "j": 0, "g": random.randrange(2), "v": random.randrange(50), "d": 0.0} for ts in times]
        keys = [random.choice([0, *range(number_of_keys)]) for _ in times]
        own = [row | {"k": key} for row, key in zip(rows, keys, strict=True)]
        batches.append({"a": own, "b": [row | {"k": random.randrange(number_of_keys)} for row in own], "c": []})
    found, samples = run(InProcess(plan, 2), batches)
    assert min(sample.rate for sample in samples.values()) < WHOLE
    assert_same_estimates(plan.query, expected(plan, batches, samples), found)
    if not groups:
        assert any(row[plan.query.schema.names.index("n_high")] is not None for row in found)


@given(texts(), batches_of())
def test_buckets_play_no_part(text: str, batches: list[Data]) -> None:
    plan = planned(text)
    one, three = (run(InProcess(plan, buckets), batches) for buckets in (1, 3))
    assert one[1] == three[1]
    assert_same_estimates(plan.query, one[0], three[0])


@given(texts(), batches_of())
def test_a_budget_that_is_not_exceeded_changes_nothing(text: str, batches: list[Data]) -> None:
    text, _, rest = text.partition("SHED")
    shed, exact = planned(f"{text} SHED TO HOLD 100000 ROWS {rest[rest.index('SAMPLE') :]}"), planned(text)
    found, samples = run(InProcess(shed, 2), batches)
    assert {sample.rate for sample in samples.values()} <= {WHOLE}
    names = shed.query.schema.names
    wanted = [names.index(name) for name in exact.query.schema.names]
    plain = [tuple(row[place] for place in wanted) for row in found]
    others, _ = run(InProcess(exact, 2), batches)
    assert sorted(map(repr, plain)) == sorted(map(repr, others))
    for row in found:
        values = dict(zip(names, row, strict=True))
        assert values["kept"] == 1.0
        for name in (name for name in names if f"{name}_low" in names):
            assert repr(values[name]) == repr(values[f"{name}_low"]) == repr(values[f"{name}_high"])


class Stored:
    """A machine whose buckets are opened from their state in every micro-batch, as after a crash."""

    def __init__(self, plan: PlannedQuery) -> None:
        self.machine = InProcess(plan, 2)
        self.stores: list[dict[Any, Any]] = [{} for _ in self.machine.buckets]
        self.batches = 0

    def state(self, number: int) -> BucketState:
        stage, bucket = divmod(number, len(self.machine.shuffle_keys))
        state_id = StateId(None, stage, bucket, self.batches)
        return BucketState(Store(self.stores[number]), self.machine.plan.pipeline, state_id, 2)

    def step(self, batch: Data) -> Answers:
        machine = self.machine
        states = [self.state(number) for number in range(len(machine.buckets))]
        each = len(machine.shuffle_keys)
        machine.buckets = [state.open(machine.plan.choices[number // each]) for number, state in enumerate(states)]
        for state, accepted in zip(states, feed(machine, batch), strict=True):
            state.chunks.add(accepted)
        found = answer(machine)
        for state, bucket in zip(states, machine.buckets, strict=True):
            self.keep(state, bucket)
        self.batches += 1
        return found

    def keep(self, state: BucketState, bucket: Bucket) -> None:
        state.chunks.forget(bucket.is_done)
        if bucket.has_shed_more:
            state.chunks.thin(bucket)
        state.chunks.merge(bucket)
        state.save(bucket)


class Store:
    """A map like that of Spark's state."""

    def __init__(self, kept: dict[Any, Any]) -> None:
        self.kept = kept

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.kept.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.kept[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.kept[key]


IC = "OPTION (method = ic)"
EARLY = "OPTION (method = ic, early = 'a, b')"


@pytest.mark.parametrize(
    ("window", "where", "emit", "sampled"),
    [
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k", "", "BY KEY"),
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k", "", "BY ROW"),
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k AND a.v <> b.v", "", f"BY KEY {IC}"),
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k AND a.v <> b.v", "", "BY KEY OPTION (method = tc)"),
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k AND a.v <> b.v", "", "BY KEY OPTION (method = pc)"),
        ("[8 MICROSECOND SLIDE 2 MICROSECOND]", "a.k = b.k AND a.v <> b.v", "", f"BY KEY {EARLY}"),
        ("[8 MICROSECOND]", "a.k = b.k", "EMIT ON ARRIVAL", "BY KEY"),
        ("[8 MICROSECOND]", "a.k = b.k", "EMIT ON ARRIVAL CHANGES", "BY ROW"),
        ("[8 MICROSECOND]", "a.k = b.k AND a.v <> b.v", "EMIT ON ARRIVAL", f"BY KEY {IC}"),
        ("[ROWS 12]", "a.k = b.k", "EMIT ON ARRIVAL CHANGES", "BY KEY"),
    ],
)
def test_a_peak_passes(window: str, where: str, emit: str, sampled: str) -> None:
    """Rates fall and rise again, so that samples are exchanged; at the end the answers are exact."""
    random, hold = Random(3), 40 if "ROWS" in window else 60
    text = f"SELECT a.g, COUNT(*) AS n, SUM(a.v) AS s FROM a {window}, b {window} WHERE {where} GROUP BY a.g {emit}"
    plan = planned(f"{text} SHED TO HOLD {hold} ROWS SAMPLE {sampled}")
    batches: list[Data] = []
    for number, count in enumerate([4, 4, 4, 9, 18, 18, 14, 8, 3, 3, *[2] * 20]):
        rows = [{"ts": 4 * number + random.randrange(4), "j": 0, "g": 0, "d": 0.0} for _ in range(2 * count)]
        rows = [row | {"k": random.randrange(9), "v": random.randrange(3)} for row in rows]
        batches.append({"a": rows[:count], "b": rows[count:], "c": []})
    found, samples = run(InProcess(plan, 2), batches)
    rates = [sample.rate for sample in samples.values()]
    assert rates[0] == rates[-1] == WHOLE and min(rates) < WHOLE
    assert_same_estimates(plan.query, expected(plan, batches, samples), found)
    stored = Stored(plan)
    assert_same_estimates(plan.query, found, [row for batch in batches for row in stored.step(batch)])


@given(texts(), batches_of())
def test_a_restart_goes_on_with_the_same_sample(text: str, batches: list[Data]) -> None:
    plan = planned(text)
    found, _ = run(InProcess(plan, 2), batches)
    stored = Stored(plan)
    again = [row for batch in batches for row in stored.step(batch)]
    assert_same_estimates(plan.query, found, again)


@pytest.mark.parametrize("sampler", ["KEY", "ROW"])
def test_the_budget_is_kept_and_what_is_shed_is_counted(sampler: str) -> None:
    text = f"SELECT COUNT(*) AS n FROM a {SLIDING[0]}, b {SLIDING[0]} WHERE a.k = b.k"
    plan = planned(f"{text} SHED TO HOLD 200 ROWS SAMPLE BY {sampler}")
    machine, held = InProcess(plan, 2), []
    for number in range(30):
        rows = [{"ts": number, "k": key, "j": 0, "g": 0, "v": key, "d": 0.0} for key in range(number % 7, 200, 3)]
        feed(machine, {"a": rows, "b": rows})
        answer(machine)
        intakes = [intake for bucket in machine.buckets for intake in bucket.intakes.values()]  # type: ignore[attr-defined]
        held.append(sum(intake.held for intake in intakes))
    assert max(held[8:]) <= 260 and min(held[8:]) > 60  # the size of a sample of few keys is random
    assert machine.shed["a"] > 500 and machine.shed["b"] == pytest.approx(machine.shed["a"], rel=0.3)
    assert machine.late == {"a": 0, "b": 0}


def test_a_bucket_without_rows_misses_no_group() -> None:
    text = f"SELECT a.k, COUNT(*) AS n FROM a [PARTITION BY k ROWS 3], b {SLIDING[0]} WHERE a.k = b.k GROUP BY a.k"
    machine = InProcess(planned(f"{text} SHED TO HOLD 8 ROWS SAMPLE BY KEY"), 5)
    for number in range(12):
        rows = [{"ts": number, "k": key, "j": 0, "g": 0, "v": key, "d": 0.0} for key in range(2)]
        feed(machine, {"a": rows, "b": rows})
        answer(machine)
    missing = [bucket.missing_groups for bucket in machine.buckets if isinstance(bucket, LiveBucket)]
    assert len(missing) == 5 and missing.count(0) >= 3
