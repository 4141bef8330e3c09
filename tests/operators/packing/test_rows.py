"""What PACK knows of rows, against a definition that goes row by row."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.packing.rows import distinct_values, timed_rows
from joinfold.physical.column_names import FIRST, KEEP, MATCHES, TIME
from joinfold.physical.payload import InputSpec
from joinfold.physical.source import StreamRows
from joinfold.physical.timing import AtTriggers, Timing
from joinfold.window import Landmark, Sliding
from tests.physical.timings import every, timing

SPEC = InputSpec(name="a", source=StreamRows(0), keys=("a.k", "a.j"), classes=(0, 1))
FROM_3 = timing([Landmark(3)], every(5))
GAPS = timing([Sliding(2, 5)])  # of every 5 µs the first 3 are in no window
TRIGGERED = timing([Sliding(2, 5)], AtTriggers())
Row = dict[str, Any]
flags = st.none() | st.booleans()
rows = st.lists(
    st.fixed_dictionaries(
        {
            TIME: st.none() | st.integers(-12, 12),
            KEEP: flags,
            FIRST: flags,
            MATCHES: flags,
            "a.k": st.none() | st.just(1),
            "a.j": st.none() | st.just("x"),
        }
    ),
    min_size=3,
    max_size=8,
)


def batch_of(values: list[Row], left_out: tuple[str, ...]) -> pa.RecordBatch:
    types = {TIME: pa.timestamp("us", tz="Asia/Tokyo"), "a.k": pa.int64(), "a.j": pa.string()}
    names = [name for name in (TIME, KEEP, FIRST, MATCHES, "a.k", "a.j") if name not in left_out]
    return pa.RecordBatch.from_pydict(
        {name: pa.array([row[name] for row in values], types.get(name, pa.bool_())) for name in names}
    )


@pytest.mark.parametrize("own", [FROM_3, GAPS, TRIGGERED], ids=["from a mark", "with gaps", "on trigger"])
@pytest.mark.parametrize("left_out", [(), (KEEP,), (FIRST, MATCHES)], ids=["relations", "unfiltered", "alone"])
@given(values=rows)
def test_rows_count_for_what_they_are(own: Timing, left_out: tuple[str, ...], values: list[Row]) -> None:
    def says(row: Row, name: str) -> bool:
        return name in left_out or bool(row[name])

    def accepted(row: Row) -> bool:
        return row[TIME] >= 3 if own is FROM_3 else own is TRIGGERED or row[TIME] % 5 >= 3

    def keyed(row: Row) -> bool:
        return row["a.k"] is not None and row["a.j"] is not None

    found = timed_rows(own, SPEC, batch_of(values, left_out))
    timed = [row for row in values if row[TIME] is not None]
    assert found.rows == sum(says(row, FIRST) for row in values)
    assert found.timeless == sum(row[TIME] is None and says(row, FIRST) and says(row, KEEP) for row in values)
    assert found.ts.tolist() == [row[TIME] for row in timed]
    assert found.largest_us == max((row[TIME] for row in timed), default=None)
    assert found.is_first.tolist() == [says(row, FIRST) for row in timed]
    assert found.chosen.tolist() == [
        says(row, KEEP) and says(row, MATCHES) and accepted(row) and keyed(row) for row in timed
    ]
    assert found.uncounted.tolist() == [
        says(row, KEEP) and (says(row, FIRST) if FIRST not in left_out else not (accepted(row) and keyed(row)))
        for row in timed
    ]
    cell_us = own.cell_us(0)
    assert found.cells.tolist() == [(row[TIME] - own.cells[0].phase_us) // cell_us for row in timed]
    assert found.batch.num_rows == len(timed)


@given(st.lists(st.integers(-9, 9) | st.integers(-(2**60), 2**60), max_size=8))
def test_distinct_values_are_in_order_whether_they_lie_close_together_or_not(values: list[int]) -> None:
    assert distinct_values(np.array(values, np.int64)).tolist() == sorted(set(values))


@pytest.mark.parametrize("outside", [2**62 + 1, 2**63 - 1, -(2**62) - 1, -(2**63)])
def test_an_event_time_beyond_the_range_is_an_error_that_says_the_range(outside: int) -> None:
    def packed(ts: int) -> int | None:
        columns = {TIME: pa.array([1, ts, None]), "a.k": pa.array([1, 1, 1]), "a.j": pa.array([1, 1, 1])}
        return timed_rows(GAPS, SPEC, pa.RecordBatch.from_pydict(columns)).largest_us

    assert packed(2**62) == 2**62 and packed(-(2**62)) == 1
    with pytest.raises(EvaluationError, match=f"the event time {outside} of 'a' is outside the range from {-(2**62)}"):
        packed(outside)
