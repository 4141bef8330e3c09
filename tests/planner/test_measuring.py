"""Statistics of a running bucket: none at first, then what its rows are, and the share of combinations that is live."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.fold import Fold
from joinfold.planner.folding import plan_fold
from joinfold.planner.forcing import Plan
from joinfold.planner.measuring import equal_combinations, measured_statistics
from joinfold.planner.statistics import Statistics
from tests.operators.runs import plan_of

SECOND = 1_000_000
WINDOW = "[4 SECOND SLIDE 1 SECOND]"
SCHEMA = "k INT, v INT"


def rows(second: int, count: int, keys: int, seed: int) -> pa.Table:
    random = np.random.default_rng((seed, second))
    ts = second * SECOND + np.arange(count) * SECOND // count
    columns = {name: random.integers(0, most, count).astype("int32") for name, most in (("k", keys), ("v", 100))}
    return pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), **columns})


def measured(condition: str, buckets: int = 1, forced: Plan | None = None, seconds: int = 6) -> Statistics | None:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE {condition}", SCHEMA)
    machine = InProcess(plan_fold(plan.query, forced), buckets)
    for second in range(seconds):
        machine.feed({"a": rows(second, 200, 10, 1), "b": rows(second, 100, 5, 2)})
        machine.answer()
    return measured_statistics(machine.folds[-1])


def test_nothing_is_known_at_first() -> None:
    assert measured("a.k = b.k", seconds=0) is None
    assert measured("a.k = b.k", seconds=1) is None


def test_streams_are_as_measured() -> None:
    found = measured("a.k = b.k AND a.v < 50")
    assert found is not None and found.is_known
    a, b = found.streams
    assert (a.origin, b.origin) == ("measured", "measured")
    assert (a.rate, b.rate) == pytest.approx((200, 100), rel=0.02)
    assert (a.keys, b.keys) == pytest.approx((10, 5), rel=0.25)
    assert a.passes == pytest.approx(0.5, abs=0.1)
    assert found.selectivity == 1


@pytest.mark.parametrize("buckets", [1, 3])
@pytest.mark.parametrize("forced", [None, Plan(method="tc"), Plan(method="pc"), Plan(early=())])
def test_the_share_that_conditions_let_through_is_counted(buckets: int, forced: Plan | None) -> None:
    for condition, share in (
        ("a.k = b.k AND a.v < b.v", 0.5),
        ("a.k = b.k AND a.v + b.v < 20", 0.02),
        ("a.v BETWEEN b.v AND b.v + 10", 0.1),
    ):
        found = measured(condition, buckets, forced)
        assert found is not None
        assert found.selectivity == pytest.approx(share, rel=0.35)


def test_what_nobody_counts_is_as_assumed() -> None:
    plan = plan_of(f"SELECT a.v, b.v AS w FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v < b.v", SCHEMA)
    machine = InProcess(plan)
    for second in range(6):
        machine.feed({"a": rows(second, 200, 10, 1), "b": rows(second, 100, 5, 2)})
        machine.answer()
    found = measured_statistics(machine.folds[-1])
    assert found is not None
    assert found.selectivity == Statistics(()).selectivity


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8), min_size=2, max_size=3)
)
def test_combinations_with_equal_keys_are_counted_one_by_one(keys: list[list[tuple[int, int]]]) -> None:
    plan = plan_of(
        f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v = b.v AND a.k < b.v", SCHEMA
    )
    fold = InProcess(plan).folds[0]
    assert isinstance(fold, Fold)
    names, carried = plan.layout.inputs[0].keys, plan.layout.inputs[0].carried
    inputs = []
    for own in keys:
        values = [pa.array([row[place] for row in own], pa.int32()) for place in range(2)]
        batch = {"cell": pa.array([0] * len(own)), **dict(zip(names, values, strict=True))}
        batch |= dict.fromkeys(carried, values[0]) | {"i0": pa.array([2] * len(own))}
        inputs.append(fold.live.vocabulary.entries_of(0, pa.RecordBatch.from_pydict(batch)))
    expected = 0
    for row in keys[0]:
        expected += 2 ** len(keys) * int(np.prod([other.count(row) for other in keys[1:]]))
    assert equal_combinations(inputs) == expected


@pytest.mark.parametrize("method", ["ic", "tc", "pc"])
def test_windows_that_were_made_anew_tell_the_same_share(method: str) -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v + b.v < 100"
    machine = InProcess(plan_fold(plan_of(text, SCHEMA).query, Plan(method=method)), 1)
    for second in range(6):
        machine.feed({"a": rows(second, 200, 10, 1), "b": rows(second, 100, 5, 2)})
        machine.answer()
    (bucket,) = machine.folds
    assert isinstance(bucket, Fold)
    shares = []
    for is_anew in (False, True):
        if is_anew:
            bucket.renew()
        bucket.observed.counted_at, bucket.observed.selectivity = 0, None
        found = measured_statistics(bucket)
        assert found is not None
        shares.append(found.selectivity)
    assert shares[0] == shares[1] == pytest.approx(0.5, abs=0.1)
