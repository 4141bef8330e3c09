"""Time at its edges: before 1970, ties at boundaries, phases, gaps of years, streams that are empty, late or over."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from joinfold.inprocess import InProcess
from joinfold.operators.cells import Cells
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.fold import Fold
from joinfold.timetext import timestamp_text
from tests.operators.runs import Data, answered, check, check_stream, plan_of, tuples

HOUR = 3_600_000_000
DAY = 24 * HOUR
SCHEMA = "k INT, v BIGINT"
SELECT = "SELECT COUNT(*) AS n, SUM(a.v) AS s, MAX(b.v) AS m"


def at(*times: int, k: int = 1) -> list[dict[str, Any]]:
    return [{"ts": ts, "k": k, "v": ordinal} for ordinal, ts in enumerate(times)]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("[6 MICROSECOND SLIDE 4 MICROSECOND]", "[5 MICROSECOND SLIDE 5 MICROSECOND]"),
        (
            "[7 MICROSECOND SLIDE 3 MICROSECOND]",
            "[2 MICROSECOND SLIDE 5 MICROSECOND]",
        ),
        ("[6 MICROSECOND]", "[4 MICROSECOND SLIDE 4 MICROSECOND]"),
        ("[UNBOUNDED]", "[4 MICROSECOND SLIDE 3 MICROSECOND START TIMESTAMP '1970-01-01 00:00:00.000002']"),
        ("[FROM TIMESTAMP '1969-12-31 23:59:59.999997']", "[6 MICROSECOND SLIDE 3 MICROSECOND]"),
        (
            "[6 MICROSECOND SLIDE 3 MICROSECOND START TIMESTAMP '2024-01-01 00:00:00.000001']",
            "[6 MICROSECOND SLIDE 2 MICROSECOND START TIMESTAMP '1900-01-01 00:00:00.000001']",
        ),
    ],
)
@pytest.mark.parametrize("emit", ["", "EMIT EVERY 7 MICROSECONDS", "EMIT ON TRIGGER", "CHANGES"])
def test_rows_at_every_microsecond_around_1970(left: str, right: str, emit: str) -> None:
    """Each microsecond has its row, so every boundary has one on it and one on either side."""
    data = {"a": at(*range(-14, 12)), "b": at(*range(-12, 14), 3, 3, -3, -3)}
    text = f"{SELECT} FROM a {left}, b {right} WHERE a.k = b.k {emit}"
    check(text, SCHEMA, data)
    batches: list[Data] = [{}, {}, {}]
    for name, rows in data.items():
        for ordinal, row in enumerate(sorted(rows, key=lambda row: row["ts"])):
            batches[min(2, ordinal // 9)].setdefault(name, []).append(row)
    check_stream(text, SCHEMA, batches)
    check_stream(text, SCHEMA, batches[::-1], delay_us=4)


@pytest.mark.parametrize(
    "make",
    [
        lambda start: {"a": at(start, start + 1), "b": []},
        lambda start: {"a": [], "b": []},
        lambda start: {"a": at(start, start + 5 * HOUR), "b": at(start + HOUR, start + HOUR + 1)},
        lambda start: {"a": at(*range(start, start + 6 * HOUR, HOUR // 4)), "b": at(start, start + HOUR // 2)},
        lambda start: {"a": at(start, start + 40 * 365 * DAY), "b": at(start + 1, start + 40 * 365 * DAY + 1)},
    ],
    ids=["one is empty", "both are empty", "one starts an hour late", "one ends", "a gap of forty years"],
)
@pytest.mark.parametrize("start", [0, -(10**9) * 10**6, 1_700_000_000_000_000])
def test_streams_that_are_empty_late_or_over(make: Callable[[int], Data], start: int) -> None:
    data = make(start)
    text = f"{SELECT} FROM a [2 HOUR SLIDE 12 HOUR], b [3 HOUR SLIDE 1 HOUR] WHERE a.k = b.k EMIT EVERY 1 DAY"
    check(text, SCHEMA, data)
    text = f"{SELECT} FROM a [2 HOUR SLIDE 2 HOUR], b [1 DAY SLIDE 1 DAY] WHERE a.k = b.k"
    found = answered(text, SCHEMA, data)
    assert len(found) < 40  # a gap costs one empty answer, however long it is
    halves: list[Data] = [{}, {}]
    for name, rows in data.items():
        for ordinal, row in enumerate(rows):
            halves[2 * ordinal // len(rows)].setdefault(name, []).append(row)
    text = text.replace("[2 HOUR SLIDE 2 HOUR]", "[2 HOUR SLIDE 1 DAY]")
    check_stream(text, SCHEMA, halves)


def test_the_first_and_the_last_year() -> None:
    first, last = -62_135_596_800_000_000, 253_402_300_799_999_999
    assert (timestamp_text(first)[:4], timestamp_text(last)[:4]) == ("0001", "9999")
    text = f"{SELECT} FROM a [2 DAY SLIDE 1 DAY], b [UNBOUNDED] WHERE a.k = b.k"
    found = answered(text, SCHEMA, {"a": at(first, last), "b": at(first, last)})
    assert [row[1] for row in found] == [1, 1, 0, 2, 2, 0]


# --- large and small cells ----------------------------------------------------------------------------------------


def same_rows(times: NDArray[np.int64], keys: NDArray[np.int64]) -> dict[str, pa.Table]:
    """Both streams with the same rows."""
    ts = pa.array(times, pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": ts, "k": pa.array(keys, pa.int32()), "v": np.ones(len(times), np.int64)})
    return {"a": table, "b": table}


def test_a_million_rows_in_one_cell() -> None:
    text = "SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a [TUMBLE 1 HOUR], b [TUMBLE 1 HOUR] WHERE a.k = b.k"
    machine = InProcess(plan_of(text, SCHEMA))
    machine.feed(same_rows(np.arange(10**6), np.zeros(10**6, np.int64)))
    assert tuples(machine.answer(to_the_end=True))[0] == (HOUR, 10**12, 10**12)


@pytest.mark.parametrize("size", [6, 600])
def test_a_move_costs_what_enters_and_leaves(size: int) -> None:
    """A row in each cell: the time for a move does not grow with the number of cells in the window."""
    window = f"[{size} MICROSECOND SLIDE 1 MICROSECOND]"
    text = f"SELECT COUNT(*) AS n FROM a {window}, b {window} WHERE a.k = b.k"
    machine = InProcess(plan_of(text, SCHEMA))
    spent = []
    for start in range(0, 4000, 1000):
        machine.feed(same_rows(np.arange(start, start + 1000), np.arange(1000) % 10))
        before = time.process_time()
        assert machine.answer().num_rows >= 999
        spent.append(time.process_time() - before)
    (fold,) = machine.buckets
    assert isinstance(fold, Fold) and max(len(intake.cells) for intake in fold.intakes.values()) <= size + 1
    assert min(spent) < 2.0  # 0.2 s when it was written, either way


def test_cells_stay_in_order_however_they_come() -> None:
    plan = plan_of("SELECT COUNT(*) AS n FROM a [8 MICROSECOND SLIDE 1 MICROSECOND]", SCHEMA)
    (fold,) = InProcess(plan).buckets
    assert isinstance(fold, Fold)
    blobs = []
    for ts in (5, -3, 9, 5, 0):
        columns = {"ts": pa.array([ts], pa.timestamp("us", tz="UTC"))}
        blobs += [blob for _, _, blob in pack(plan.pipeline, 0, (0,), pa.RecordBatch.from_pydict(columns))]
    fold.absorb(blobs)
    cells = fold.intakes[0].cells
    assert isinstance(cells, Cells) and cells.occupied.tolist() == [-3, 0, 5, 9]
    everything, some = cells.between(-3, 10), cells.between(0, 6)
    assert everything is not None and everything.cells.tolist() == [-3, 0, 5, 5, 9] and cells.held == 5
    assert some is not None and some.cells.tolist() == [0, 5, 5] and cells.between(1, 5) is None
