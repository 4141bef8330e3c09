"""What a bucket has seen: pulses of micro-batches against what their rows are known to be."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.packing.sample_statistics import LOOKED, SETS, SampleStatistics
from joinfold.operators.stages.observed import MOST_PARTS, Observed
from joinfold.physical.measured import StreamFigures
from joinfold.window import Continuous, Landmark, Rows, Window
from tests.operators.runs import plan_of

SECOND = 1_000_000
WINDOW = "[10 SECOND SLIDE 1 SECOND]"
JOINED = f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v < 25 GROUP BY a.g"
SCHEMA = "k INT, g INT, v INT"


def table(second: int, rows: int, keys: int, groups: int = 1, late: float = 0.0, seed: int = 0) -> pa.Table:
    """The rows of one second, evenly apart; some of them half a second late."""
    random = np.random.default_rng((seed, second))
    ts = second * SECOND + np.arange(rows) * SECOND // rows
    ts = np.maximum(ts - np.where(random.random(rows) < late, SECOND // 2, 0), 0)
    columns = {"k": random.integers(0, keys, rows), "g": random.integers(0, groups, rows), "v": np.arange(rows) % 100}
    return pa.table(
        {"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), **{n: c.astype("int32") for n, c in columns.items()}}
    )


def figures(machine: InProcess, stream: int, bucket: int = 0) -> StreamFigures:
    found = machine.buckets[bucket].observed.figures(stream)
    assert found is not None
    return found


def test_what_is_measured_is_what_the_rows_are() -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA, delay_us=SECOND), 3)
    for second in range(20):
        machine.feed({"a": table(second, 1000, 50, groups=8, late=0.1), "b": table(second, 3000, 700, seed=1)})
        machine.answer()
    a, b = figures(machine, 0), figures(machine, 1)
    assert (a.rate, b.rate) == pytest.approx((1000, 3000), rel=0.01)
    assert (a.keys, a.groups, a.entries) == pytest.approx((50, 8, 400), rel=0.2)
    assert (b.keys, b.groups, b.entries) == pytest.approx((700, 1, 700), rel=0.2)
    assert (a.passes, b.passes) == (0.25, 1.0)
    assert (a.skew, b.skew) == pytest.approx((1, 1), abs=0.2)
    assert a.disorder == pytest.approx(0.1, abs=0.02)
    assert b.disorder == 0
    assert [figures(machine, 0, bucket) for bucket in range(3)] == [a] * 3


def test_keys_that_are_not_even_are_told() -> None:
    machine = InProcess(plan_of(JOINED.replace("AND a.v < 25", ""), SCHEMA), 1)
    for second in range(4):
        rows = table(second, 1000, 100)
        often = pa.array(np.where(np.arange(1000) % 2, 0, rows.column("k").to_numpy()).astype("int32"))
        machine.feed({"a": rows.set_column(1, "k", often), "b": table(second, 1000, 100)})
    assert figures(machine, 0).skew == pytest.approx(100 * (0.5**2 + 2 * 0.5 * 0.005 + 0.25 / 100), rel=0.2)
    assert figures(machine, 1).skew == pytest.approx(1, abs=0.2)


def test_figures_follow_the_window() -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA), 1)
    for second in range(40):
        keys, rows = (50, 1000) if second < 20 else (400, 4000)
        machine.feed({"a": table(second, rows, keys), "b": table(second, 100, 5)})
        machine.answer()
    found = figures(machine, 0)
    assert found.rate == pytest.approx(4000, rel=0.01)
    assert found.keys == pytest.approx(400, rel=0.2)


def test_nothing_is_told_before_the_second_micro_batch() -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA), 1)
    for second in range(2):
        assert machine.buckets[0].observed.figures(0) is None
        machine.feed({"a": table(second, 100, 5), "b": table(second, 100, 5)})
    assert figures(machine, 0).rate == pytest.approx(100, rel=0.02)


def test_a_bucket_takes_what_it_has_seen_along() -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA), 1)
    for second in range(3):
        machine.feed({"a": table(second, 100, 5), "b": table(second, 100, 5)})
    before = figures(machine, 0)
    machine.buckets[0] = pickle.loads(pickle.dumps(machine.buckets[0]))
    assert figures(machine, 0) == before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM a [RANGE 5 SECOND], b [RANGE 5 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
        "SELECT COUNT(*) AS n FROM a [ROWS 100 SLIDE 10], b [ROWS 100 SLIDE 10] WHERE a.k = b.k",
        f"SELECT COUNT(*) AS n FROM a [PARTITION BY k ROWS 2], b {WINDOW} WHERE a.k = b.k AND a.v < 50",
        f"SELECT a.v, b.v AS w FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k",
    ],
    ids=["on arrival", "rows", "last of each key", "plain"],
)
def test_all_ways_of_answering_see(text: str) -> None:
    machine = InProcess(plan_of(text, SCHEMA), 2)
    for second in range(4):
        machine.feed({"a": table(second, 100, 10), "b": table(second, 50, 20)})
        machine.answer()
    for fold in range(len(machine.buckets)):
        assert figures(machine, 0, fold).rate == pytest.approx(100, rel=0.02)
        assert figures(machine, 0, fold).keys == pytest.approx(10, rel=0.3)
        assert figures(machine, 1, fold).keys == pytest.approx(20, rel=0.3)
    assert figures(machine, 0).passes == (0.5 if "< 50" in text else 1.0)


# --- parts --------------------------------------------------------------------------------------------------------


def sample(rows: int, looked: int | None = None, value: int = 1) -> SampleStatistics:
    sketches = np.full((SETS, 128), value, np.uint8)
    return SampleStatistics(rows, rows, rows, rows, 0, rows, looked or rows, rows, 0, sketches)


def fed(window: Window, micro_batches: list[tuple[int, int]]) -> Observed:
    """Micro-batches of a stream, as rows and largest time."""
    observed = Observed((window,))
    for rows, largest_us in micro_batches:
        observed.see([(0, rows, largest_us, sample(rows))])
    return observed


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5 * SECOND)), min_size=2, max_size=200))
def test_parts_are_few_and_are_the_last_of_the_stream(steps: list[tuple[int, int]]) -> None:
    times = np.cumsum([step for _, step in steps]).tolist()
    batches = [(rows, time) for (rows, _), time in zip(steps, times, strict=True)]
    everything, lately = fed(Landmark(), batches), fed(Continuous(20 * SECOND), batches)
    assert max(len(everything.parts[0]), len(lately.parts[0])) <= MOST_PARTS
    assert sum(part.rows for part in everything.parts[0]) == sum(rows for rows, _ in batches[1:])
    assert sum(part.covered_us for part in everything.parts[0]) == times[-1] - times[0]
    covered = sum(part.covered_us for part in lately.parts[0])
    assert covered >= min(20 * SECOND, times[-1] - times[0])
    assert covered - lately.parts[0][0].covered_us < 20 * SECOND


def test_rows_are_the_measure_of_windows_that_count_them() -> None:
    observed = fed(Rows(100), [(40, second * SECOND) for second in range(9)])
    assert [part.rows for part in observed.parts[0]] == [40] * 3


def test_late_pulses_do_not_turn_time_back() -> None:
    observed = fed(
        Continuous(100 * SECOND), [(10, 10 * SECOND), (10, 20 * SECOND), (10, 5 * SECOND), (10, 30 * SECOND)]
    )
    found = observed.figures(0)
    assert found is not None and found.rate == pytest.approx(30 / 20)


def test_rows_that_all_have_one_time_have_no_rate() -> None:
    assert fed(Continuous(SECOND), [(10, 5), (10, 5), (10, 5)]).figures(0) is None


def test_batches_that_were_not_looked_at_count_by_their_rows() -> None:
    observed = Observed((Continuous(100 * SECOND),))
    for second in range(9):
        observed.see([(0, 1000, second * SECOND, sample(1000) if second == 4 else None)])
    found = observed.figures(0)
    assert found is not None
    assert found.rate == pytest.approx(1000)


@pytest.mark.parametrize(("keys", "rows"), [(100, 60_000), (4_000, 60_000), (20_000, 60_000), (20_000, 120_000)])
def test_entries_that_were_not_looked_at_are_estimated_within_a_factor_of_two(keys: int, rows: int) -> None:
    machine = InProcess(
        plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", SCHEMA), 1, by_row=True
    )
    for second in range(12):
        machine.feed({"a": table(second, rows // 10, keys), "b": table(second, 10, 1)})
    expected = keys * (1 - np.exp(-rows / keys))
    assert rows // 10 > LOOKED
    assert expected / 2 < figures(machine, 0).keys < 2 * expected
