"""Row boundaries that a bucket finds, micro-batch by micro-batch, are those of rows that are put in order at once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED
from joinfold.operators.stages.number_rows import RowNumbers
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.physical.column_names import CELL, COPIES, EQUAL, MOVED, NUMBER
from joinfold.physical.stored import OrderOf
from joinfold.planner.planned_query import PlannedQuery
from joinfold.window import RangeByRows, Rows
from tests.operators.calendars.numbered import VALUE, Row, boundaries_of
from tests.operators.runs import Data, feed, plan_of, rows
from tests.operators.stages.packed import absorb, buckets_of

WINDOWS: list[Rows | RangeByRows] = [Rows(6, 4), Rows(3, 1), Rows(2, 3), RangeByRows(5, 3)]
EACH_US = 4
batches = st.lists(
    st.lists(st.tuples(st.integers(0, EACH_US - 1), st.integers(0, 2)), max_size=8), min_size=1, max_size=5
)


def plan_over(window: Rows | RangeByRows) -> PlannedQuery:
    return plan_of(f"SELECT COUNT(*) AS n FROM a {window.to_sql()}, b [UNBOUNDED] WHERE a.k = b.k", "k INT")


PLANS = {window: plan_over(window) for window in WINDOWS}


def rows_of(batch: list[Row]) -> Data:
    own = [{"ts": ts, "k": value} for ts, value in batch]
    return {"a": own, "b": own}


def as_defined(found: list[dict[str, Any]]) -> list[dict[str, int]]:
    """What decides: where no rows of one time are divided, it does not matter which is the last."""
    names = (CELL, NUMBER, COPIES, EQUAL, MOVED)
    return [
        {name: own[name] for name in names}
        | {VALUE: (own[VALUE] if VALUE in own else own["order a.k"]) * (own[COPIES] > 0)}
        for own in found
    ]


@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: window.to_sql())
@given(batches=batches, restarted=st.booleans())
def test_boundaries_are_those_of_all_rows_in_order(
    window: Rows | RangeByRows, batches: list[list[Row]], restarted: bool
) -> None:
    """Whether the bucket goes on, or is made anew from the rows that wait."""
    plan = PLANS[window]
    (bucket,) = buckets_of(plan)
    stored, found, everything = list[Any](), list[dict[str, Any]](), list[Row]()
    for number, batch in enumerate(batches):
        batch = [(ts + EACH_US * number, value) for ts, value in batch]
        everything += batch
        absorb(plan, [bucket], rows_of(batch))
        (emitted,) = bucket.answer(to_the_end=number == len(batches) - 1)
        found += emitted.boundaries[0].to_pylist() if emitted.boundaries else []
        stored += bucket.take_made()
        if restarted:
            position = Position.from_facts(bucket.position.facts(plan.timing.names), plan.timing.names)
            bucket = open_bucket(bucket.stage, bucket.timing, 0, bucket.choice)
            for kind, rows_stored in stored:
                bucket.add(kind, rows_stored)
            bucket.resume(position)
    assert as_defined(found) == as_defined(boundaries_of(everything, window))
    assert bucket.position.streams[0].numbered == len(everything) and bucket.entries_held == 0


def test_a_row_is_numbered_when_the_watermark_has_passed_it() -> None:
    plan = PLANS[WINDOWS[1]]
    (bucket,) = buckets_of(plan)
    assert isinstance(bucket, RowNumbers) and list(bucket.answer()) == [NOTHING_EMITTED]
    absorb(plan, [bucket], rows_of([(1, 0), (5, 0), (5, 1)]))
    (emitted,) = bucket.answer()
    assert emitted.boundaries[0].column(CELL).to_pylist() == [1] and bucket.entries_held == 2
    assert [bucket.is_done(OrderOf("a"), cell) for cell in (4, 5)] == [True, False]
    assert bucket.bytes_held > 0 and bucket.touched == bucket.cells_held == 0
    assert [emitted.boundaries for emitted in bucket.answer()] == [{}]


def test_only_rows_that_wait_for_their_number_are_stored() -> None:
    plan = plan_of("SELECT COUNT(*) AS n FROM a [ROWS 2], b [UNBOUNDED] WHERE a.k = b.k", "k INT", delay_us=3)
    machine = InProcess(plan)
    first = feed(machine, {"a": rows([1] * 10, "k"), "b": rows([1] * 10, "k")})
    assert [(stored, cells_of(entries).tolist()) for stored, entries in first[0]] == [(OrderOf("a"), [6, 7, 8, 9])]
    second = feed(machine, {"a": rows([1] * 5, "k", start=10), "b": rows([1] * 5, "k", start=10)})
    later = [(stored, cells_of(entries).tolist()) for stored, entries in second[0]]
    assert later == [(OrderOf("a"), [11, 12, 13, 14])]
