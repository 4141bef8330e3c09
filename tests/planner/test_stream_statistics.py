"""Statistics of a running bucket: none at first, then what its rows are, and the share of combinations that is live."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.inprocess import InProcess
from joinfold.physical.measured import Measured, StreamFigures
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics, StreamStatistics, measured_statistics
from tests.operators.runs import plan_of

SECOND = 1_000_000
WINDOW = "[4 SECOND SLIDE 1 SECOND]"
SCHEMA = "k INT, v INT"


def rows(second: int, count: int, keys: int, seed: int) -> pa.Table:
    random = np.random.default_rng((seed, second))
    ts = second * SECOND + np.arange(count) * SECOND // count
    columns = {name: random.integers(0, most, count).astype("int32") for name, most in (("k", keys), ("v", 100))}
    return pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), **columns})


def machine_of(condition: str, buckets: int = 1, forced: Plan | None = None, seconds: int = 6) -> InProcess:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE {condition}", SCHEMA)
    machine = InProcess(plan_query(plan.query, forced), buckets)
    feed(machine, seconds)
    return machine


def feed(machine: InProcess, seconds: int) -> None:
    for second in range(seconds):
        machine.feed({"a": rows(second, 200, 10, 1), "b": rows(second, 100, 5, 2)})
        machine.answer()


def measured(condition: str, buckets: int = 1, forced: Plan | None = None, seconds: int = 6) -> Statistics | None:
    found = machine_of(condition, buckets, forced, seconds).buckets[-1].measured()
    return None if found is None else measured_statistics(found)


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
    feed(machine, 6)
    found = machine.buckets[-1].measured()
    assert found is not None and found.selectivity is None
    assert measured_statistics(found).selectivity == Statistics(()).selectivity


def test_there_are_no_fewer_entries_than_keys_or_groups() -> None:
    """Each is estimated by itself."""
    figures = StreamFigures(rate=5, passes=0.5, keys=30, groups=4, entries=29.5, skew=1.5, disorder=0.1)
    (known,) = measured_statistics(Measured((figures,), 0.25)).streams
    assert known == StreamStatistics(5, 30, 4, 30, 0.5, 1.5, 0.1, "measured")


@pytest.mark.parametrize(
    "wrong",
    [{"rate": -1.0}, {"keys": 0.5}, {"groups": 0.0}, {"skew": 0.9}, {"passes": 1.1}, {"disorder": -0.1}],
)
def test_numbers_that_no_stream_has_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        StreamStatistics(**wrong)  # type: ignore[arg-type]


def test_anything_is_known_as_soon_as_one_stream_is() -> None:
    assumed, said = StreamStatistics(), StreamStatistics(rate=50.0, passes=0.5, origin="declared")
    nothing = Statistics((assumed,) * 3, 0.25)
    known = nothing.with_stream(1, said)
    assert (nothing.is_known, known.is_known) == (False, True)
    assert known == Statistics((assumed, said, assumed), 0.25)
    assert said.passing_rate == 25.0
