"""What samples tell, against what the rows are known to be."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import Session
from joinfold.inprocess.frames import frame_batch
from joinfold.operators.packing.rows import timed_rows
from joinfold.operators.packing.rows_to_entries import aggregate
from joinfold.planner.stream_statistics import StreamStatistics
from joinfold.statistics.sampling import MOST_ROWS, sampled_statistics
from tests.operators.runs import plan_of, tables_of
from tests.operators.test_machine import planned
from tests.statistics.samples import JOINED, SCHEMA, SECOND, WINDOW, statistics, table
from tests.strategies import Case, cases


def stream(rows: pa.Table, text: str = JOINED) -> StreamStatistics:
    return statistics(text, a=rows).streams[0]


def test_rows_of_a_window_are_counted() -> None:
    found = stream(table(60_000, rate=100, keys=50))
    assert found.rate == pytest.approx(100)
    assert (found.keys, found.groups, found.entries, found.passes) == (50, 4, pytest.approx(199, abs=2), 0.25)
    assert found.skew == pytest.approx(1, abs=0.02)
    assert (found.disorder, found.origin) == (0, "sampled")


def test_streams_without_rows_are_as_assumed() -> None:
    found = statistics(JOINED, a=table(1000), b=table(0))
    assert [part.origin for part in found.streams] == ["sampled", "assumed"]
    assert (found.streams[1].keys, found.streams[1].groups) == (StreamStatistics().keys, 1)


@given(case=cases(inputs=(1, 3)))
def test_whatever_is_asked_of_whatever_rows_has_statistics(case: Case) -> None:
    plan = planned(case)
    if plan is None:
        return  # what no engine runs is not sampled either
    tables = tables_of(plan, case.data)
    found = sampled_statistics(plan, tables)
    for frame, own in zip(plan.frames, found.streams, strict=True):
        assert own.origin == ("sampled" if tables[frame.input.source.name].num_rows else "assumed")
        assert own.entries is None or max(own.keys, own.groups) <= own.entries
    assert 0 < found.selectivity <= 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 40)), min_size=1, max_size=60))
def test_entries_are_those_that_pack_makes(values: list[tuple[int, int, int]]) -> None:
    keys, groups, numbers = (list(column) for column in zip(*values, strict=True))
    rows = table(len(values), rate=len(values), k=keys, g=groups, v=numbers)
    plan = plan_of(JOINED.replace("[1 MINUTE SLIDE 10 SECOND]", "[TUMBLE 1 MINUTE]"), SCHEMA)
    spec = plan.pipeline.input_of(0)
    packed = timed_rows(plan.timing, spec, frame_batch(plan.frames[0], rows))
    chosen = packed.batch.filter(pa.array(packed.chosen))
    entries = aggregate(spec, spec.identity, chosen, packed.cells[packed.chosen])
    found = sampled_statistics(plan, {"a": rows}).streams[0]
    assert found.passes == pytest.approx(np.mean(np.array(numbers) < 25))
    if (
        len(values) > 1 and found.passes
    ):  # of a sample that is shorter than the window, estimates are at least what is seen
        assert (found.entries or 0) >= entries.num_rows


@pytest.mark.parametrize("keys", [20, 1_000, 5_000])
def test_what_is_not_seen_is_estimated(keys: int) -> None:
    """The table has a tenth of a window: 600 rows of 6,000."""
    found = stream(table(600, rate=100, keys=keys), JOINED.replace("AND a.v < 25", ""))
    assert found.keys == pytest.approx(keys, rel=0.25)


def test_there_are_never_more_keys_than_rows() -> None:
    found = stream(table(600, rate=100, k=np.arange(600)), JOINED.replace("AND a.v < 25", ""))
    assert found.keys == pytest.approx(6000, rel=0.01)
    assert stream(table(60_000, rate=100, k=np.arange(60_000))).keys == pytest.approx(1500, rel=0.01)


def test_large_tables_are_looked_at_in_part() -> None:
    found = stream(table(3 * MOST_ROWS, rate=MOST_ROWS, keys=50))
    assert found.rate == pytest.approx(MOST_ROWS)
    assert (found.keys, found.passes) == (50, 0.25)


def test_skew_is_told() -> None:
    keys = np.where(np.arange(10_000) % 2, 0, np.random.default_rng(0).integers(0, 100, 10_000))
    found = stream(table(10_000, k=keys), JOINED.replace("AND a.v < 25", ""))
    assert found.skew == pytest.approx(100 * (0.5**2 + 2 * 0.5 * 0.005 + 0.25 / 100), rel=0.05)
    assert stream(table(100, k=np.zeros(100))).skew == 1


def test_disorder_is_told() -> None:
    ts = np.arange(1000) * SECOND // 100
    ts[::10] -= SECOND // 2
    found = stream(table(1000, ts=np.maximum(ts, 0)))
    assert found.disorder == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("times", [[7], [7, 7, 7], [None, 7, None]])
def test_rows_of_one_time_have_no_rate(times: list[int | None]) -> None:
    found = stream(table(len(times), ts=times))
    assert found.rate == StreamStatistics().rate
    assert found.keys >= 1


def test_rows_without_any_time_tell_nothing() -> None:
    assert stream(table(3, ts=[None] * 3)).keys == StreamStatistics().keys


@pytest.mark.parametrize(
    ("window", "keys"),
    [
        ("[ROWS 5]", 5),
        ("[ROWS 500 SLIDE 100]", 500),
        ("[RANGE 1 SECOND]", 100),
        ("[RANGE 1 SECOND SLIDE 5 ROWS]", 100),
        ("[UNBOUNDED]", 10_000),
        ("[FROM TIMESTAMP '1970-01-01 00:01:00']", 4_000),
        ("[PARTITION BY k ROWS 2]", 10_000),
    ],
)
def test_every_kind_of_window_has_its_rows(window: str, keys: int) -> None:
    emit = "" if "SLIDE" in window or "PARTITION" in window or "ROWS" in window else "EMIT EVERY 1 SECOND"
    text = f"SELECT COUNT(*) AS n FROM a {window}, b {window} WHERE a.k = b.k {emit}"
    found = stream(table(10_000, rate=100, k=np.arange(10_000)), text)
    assert found.keys == pytest.approx(keys, rel=0.01)


def test_windows_are_read_at_one_instant() -> None:
    """Of streams that begin at different times those rows are sampled that meet."""
    first, second = table(6000, rate=100, k=np.arange(6000) // 100), table(6000, rate=100, k=np.arange(6000) // 100)
    ts = second.column("ts").cast(pa.int64()).to_numpy() + 30 * SECOND
    second = table(6000, ts=ts, k=np.arange(6000) // 100 + 30)
    text = "SELECT COUNT(*) AS n FROM a [5 SECOND SLIDE 1 SECOND], b [5 SECOND SLIDE 1 SECOND] WHERE a.k < b.k"
    found = sampled_statistics(plan_of(text, SCHEMA), {"a": first, "b": second})
    assert found.selectivity == pytest.approx(0.4, abs=0.05)


def test_rows_that_take_the_time_of_their_arrival_have_keys_and_no_rate() -> None:
    session = Session()
    session.stream("a", pa.table({"k": pa.array(np.arange(100) % 7)}))
    (found,) = session.sql(f"SELECT k, COUNT(*) AS n FROM a {WINDOW} WHERE k < 5 GROUP BY k").statistics.streams
    assert (found.rate, found.groups, found.entries) == (StreamStatistics().rate, 5, 5)
    assert found.passes == pytest.approx(0.72)


def test_a_clock_of_integers_counts_millions_of_ticks_as_a_second() -> None:
    session = Session()
    session.stream(
        "a", pa.table({"k": pa.array(np.arange(100) % 7), "t": pa.array(np.arange(100) * 5)}), time="t", unit="ticks"
    )
    (found,) = session.sql("SELECT k, COUNT(*) AS n FROM a [TUMBLE 20 MICROSECOND] GROUP BY k").statistics.streams
    assert (found.rate, found.groups) == (200_000, 4)


# --- relations ----------------------------------------------------------------------------------------------------


def test_a_stream_with_relations_has_the_rows_of_the_join() -> None:
    session = Session()
    session.stream("a", table(1000, k=np.arange(1000) % 10), time="ts")
    names = pa.table({"id": pa.array([0, 1, 1, 2], pa.int32()), "name": ["x", "y", "z", "x"]})
    session.table("names", names)
    text = f"SELECT n.name, COUNT(*) AS c FROM a {WINDOW}, names n WHERE a.k = n.id GROUP BY n.name"
    (found,) = session.sql(text).statistics.streams
    assert found.rate == pytest.approx(110, rel=0.01)  # one in ten rows has two matches
    assert found.passes == pytest.approx(400 / 1100)
    assert found.groups == 3
