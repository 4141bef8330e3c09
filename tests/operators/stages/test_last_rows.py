"""The view of the last rows of each key, row by row of the view, against a list for each key."""

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.calendars.position import Position
from joinfold.operators.stages.last_rows import LastRows
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.physical.column_names import CELL, COUNT, ORIGIN
from joinfold.physical.stored import Inside, Waiting
from tests.operators.runs import Row, plan_of
from tests.operators.stages.packed import absorb, blobs_of, buckets_of

SIZE = 2
EACH_US = 4
PLAN = plan_of(
    f"SELECT a.v, COUNT(*) AS n FROM a [PARTITION BY j ROWS {SIZE}], b [TUMBLE 5 MICROSECOND] "
    "WHERE a.k = b.k AND a.v > 0 GROUP BY a.v",
    "k INT, j STRING, v INT",
)
batches = st.lists(
    st.lists(
        st.fixed_dictionaries(
            {
                "ts": st.integers(0, EACH_US - 1),
                "k": st.none() | st.just(1),
                "j": st.none() | st.sampled_from("pq"),
                "v": st.integers(0, 3),
            }
        ),
        max_size=6,
    ),
    min_size=1,
    max_size=4,
)


def current(view: list[Row], instant: int) -> Counter[int]:
    """The values of rows that are in the view at an instant, by what the view has said until then."""
    rows: dict[int, Row] = {}
    for row in sorted(view, key=lambda row: (row[CELL], -row[COUNT])):  # what leaves at once leaves after it entered
        if row[CELL] <= instant:
            rows[row[ORIGIN]] = row
    return Counter(row["a.v"] for row in rows.values() if row[COUNT])


def defined(rows: list[Row], instant: int) -> Counter[int]:
    """The last rows of each key; of these, those that pass the filter and have a key to be joined by."""
    by_key: dict[Any, list[Row]] = {}
    in_order = sorted(rows, key=lambda row: (row["ts"], row["k"] or 0, row["v"]))  # as the query reads columns
    for row in in_order:
        if row["ts"] < instant:
            by_key.setdefault(row["j"], []).append(row)
    last = [row for own in by_key.values() for row in own[-SIZE:]]
    return Counter(row["v"] for row in last if row["v"] > 0 and row["k"] is not None)


@given(batches=batches, restarted=st.booleans())
def test_the_view_has_the_last_rows_of_each_key(batches: list[list[Row]], restarted: bool) -> None:
    """Rows that are not in it drive others out all the same."""
    assert PLAN.stages[0].by == ("order a.j",)  # type: ignore[union-attr]
    (bucket,) = buckets_of(PLAN)
    assert isinstance(bucket, LastRows)
    view, everything, stored = list[Row](), list[Row](), list[tuple[Any, pa.RecordBatch]]()
    for number, batch in enumerate(batches):
        come = [row | {"ts": row["ts"] + EACH_US * number} for row in batch]
        everything += come
        stored += bucket.absorb(blobs(come))
        (emitted,) = bucket.answer(to_the_end=number == len(batches) - 1)
        view += [] if emitted.rows is None else emitted.rows.to_pylist()
        stored += bucket.take_made()
        if restarted:
            position = Position.from_facts(bucket.position.facts(PLAN.timing.names), PLAN.timing.names)
            again = open_bucket(bucket.stage, bucket.timing, 0, bucket.choice)
            for kind, rows in stored:
                again.add(kind, rows)
            again.resume(position)
            assert again.entries_held == bucket.entries_held
            assert isinstance(again, LastRows)
            bucket = again
    for instant in range(EACH_US * len(batches) + 1):
        assert current(view, instant) == defined(everything, instant)
    keys = Counter(row["j"] for row in everything)
    assert bucket.entries_held == sum(min(SIZE, count) for count in keys.values())


def blobs(rows: list[Row]) -> list[bytes]:
    return blobs_of(PLAN, {"a": rows, "b": rows})[0]


def test_rows_wait_for_the_watermark_and_then_have_their_turn() -> None:
    (bucket,) = buckets_of(PLAN)
    rows = [{"ts": ts, "k": 1, "j": "p", "v": ts + 1} for ts in range(5)]
    absorb(PLAN, [bucket], {"a": rows, "b": rows})
    (emitted,) = bucket.answer()
    assert emitted.rows is not None
    assert [bucket.is_done(Waiting(), cell) for cell in (3, 4)] == [True, False]
    assert not bucket.is_done(Inside(), BEGINNING)
    ((kind, made),) = bucket.take_made()
    assert kind == Inside() and made.num_rows == 4 and bucket.take_made() == []
    kept = bucket.compacted(Inside(), made, are_all=True)
    assert kept.column(CELL).to_pylist() == [2, 3]  # the others have left
    assert bucket.compacted(Waiting(), made, are_all=True) is made
    assert (bucket.alike_before(Inside()), bucket.alike_before(Waiting())) == (END, BEGINNING)
    assert bucket.entries_held == SIZE + 1 and bucket.touched == bucket.cells_held == 0
