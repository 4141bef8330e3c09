"""Arrivals in order, names of rows, and the queue of an input."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.operators.calendars.calendar import BEGINNING
from joinfold.operators.entries import Entries, Payload
from joinfold.operators.stages.arrival_queues import Arrivals, RowNames, RowQueue, first_inside, numbers_of
from joinfold.physical.column_names import BATCH, ROW
from joinfold.window import Continuous, Landmark, Rows


def entries(*keys: int) -> Entries:
    """An entry for each key, which is also its draw."""
    count, key = len(keys), np.array(keys, np.int32)
    zeros = np.zeros(count, np.int32)
    payload = Payload.zeros(count, 1, 0, 0)
    return Entries(np.zeros(count, np.int64), key, np.zeros((count, 0), np.int32), zeros, zeros, payload, key + 0)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def keys(queue: RowQueue) -> list[int]:
    return [] if queue.entries is None else queue.entries.key.tolist()


def test_names_tell_rows_of_different_batches_apart() -> None:
    names = RowNames()
    rows = pa.table({BATCH: [7, 9, 7], ROW: [0, 0, 1]})
    found = names.of(rows)
    assert len(set(found.tolist())) == 3
    assert names.of(rows.slice(1, 2)).tolist() == found[1:].tolist()
    names.keep([found[1:2]])  # of batch 9
    again = names.of(rows)
    assert again[1] == found[1] and not {again[0], again[2]} & set(found.tolist())


def test_arrivals_are_ordered_by_time_then_stream_then_their_own_order() -> None:
    ordered = Arrivals.ordered([(numbers(3, 5, 5), numbers(1, 2, 3)), (numbers(3, 4, 5), numbers(4, 5, 6))])
    assert ordered.names.tolist() == [1, 4, 5, 2, 3, 6]
    assert ordered.streams.tolist() == [0, 1, 1, 0, 0, 1]
    assert ordered.nths.tolist() == [1, 2, 1, 1, 2, 3]


def test_the_entries_of_due_arrivals_follow_those_inside() -> None:
    """A row may have several entries, or none, and rows that are not due wait."""
    queue = RowQueue()
    queue.waiting = [(numbers(12, 10, 10), entries(2, 0, 1)), (numbers(99, 12), entries(9, 3))]
    queue.take_due(numbers(10, 11, 12), numbers(0, 2, 3), numbers(5, 6, 7), 4)
    assert keys(queue) == [0, 1, 2, 3] and queue.marks.tolist() == [5, 5, 7, 7]
    assert queue.entered.tolist() == [2, 2, 2, 4] and queue.span == (0, 0)
    assert [(names.tolist(), own.key.tolist()) for names, own in queue.waiting] == [([99], [9])]
    queue.head, queue.tail = 1, 4
    assert queue.held == 4
    queue.take_due(numbers(99), numbers(0), numbers(8), 1)
    assert keys(queue) == [1, 2, 3, 9] and queue.span == (0, 3) and queue.entered.tolist() == [4]


def test_shedding_drops_entries_that_wait_and_those_inside() -> None:
    queue = RowQueue(
        [(numbers(1, 2), entries(1, 2)), (numbers(3), entries(3))], entries(4, 5, 6), numbers(1, 2, 3), 1, 3
    )
    queue.thin(lambda draws: draws % 2 == 0)
    assert [(names.tolist(), own.key.tolist()) for names, own in queue.waiting] == [([2], [2])]
    assert keys(queue) == [6] and queue.marks.tolist() == [3] and queue.span == (0, 1)


@pytest.mark.parametrize(
    ("window", "first"), [(Continuous(4), [6, 7]), (Rows(3), [3, 5]), (Landmark(), [BEGINNING, BEGINNING])]
)
def test_the_first_mark_that_is_inside(window: Continuous | Rows | Landmark, first: list[int]) -> None:
    """At the times 10 and 11, with 5 and 7 rows by then."""
    assert first_inside(window, numbers(10, 11), numbers(5, 7)).tolist() == first


def test_numbers_of_names() -> None:
    assert numbers_of(numbers(8, 5, 7), numbers(7, 8), numbers(1, 2)).tolist() == [2, 0, 1]
    assert numbers_of(numbers(8), numbers(), numbers()).tolist() == [0]
