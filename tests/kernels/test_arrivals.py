"""A loop over arrivals against its twin: two dictionaries of payloads, and every product by itself."""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.arrivals import DONE, INEXACT, ArrivalLoop, Queue, Settling
from joinfold.kernels.compiling import readable
from joinfold.kernels.identity import IdTable
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA, Totals

MODES = {  # of the two inputs, and the group of a pair of groups
    (OF_ALL, OF_ALL): lambda left, right: 0,
    (OF_DELTA, OF_SLOT): lambda left, right: left,
    (OF_SLOT, OF_DELTA): lambda left, right: right,
    (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA): lambda left, right: (left, right),
}
NOTHING = Settling(np.full(1, -2), -1, 0, 0.0, 0.0, np.full(1, np.inf))

Row = tuple[int, int, int, float]  # key, group, value, double
entries = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(-5, 5), st.integers(-4, 4).map(lambda x: x / 4))
arrivals = st.lists(
    st.tuples(st.integers(0, 1), st.lists(entries, max_size=3), st.integers(0, 2), st.integers(0, 2)), max_size=12
)


def queue_of(steps: list[Any], ordinal: int) -> tuple[Queue, list[Row]]:
    """The queue of an input: every step brings rows to one of them, and lets some of both leave."""
    rows, gone, entered, left = list[Row](), list[int](), list[int](), 0
    for to, own, *leaving in steps:
        left = min(left + leaving[ordinal], len(rows))
        rows += own if to == ordinal else []
        gone.append(left)
        entered.append(len(rows))
    delta = (
        readable([row[0] for row in rows], np.int32),
        readable([row[1] for row in rows], np.int32),
        readable(np.array([[1, row[2]] for row in rows], np.int64).reshape(-1, 2), np.int64),
        readable(np.array([[row[3], 0.0] for row in rows], np.float64).reshape(-1, 2), np.float64),
    )
    return Queue(delta, np.array(gone, np.int64), np.array(entered, np.int64)), rows


def twin(steps: list[Any], group_of: Any) -> list[dict[Any, tuple[int, int, Fraction]]]:
    """The groups after every arrival: how many pairs, Σ value · value, Σ double · value; without empty groups."""
    queues, found = [queue_of(steps, ordinal) for ordinal in range(2)], []
    for step in range(len(steps)):
        lefts, rights = (rows[queue.gone[step] : queue.entered[step]] for queue, rows in queues)
        totals: dict[Any, tuple[int, int, Fraction]] = defaultdict(lambda: (0, 0, Fraction(0)))
        for left, right in product(lefts, rights):
            if left[0] == right[0]:
                pairs, values, doubles = totals[group_of(left[1], right[1])]
                own = pairs + 1, values + left[2] * right[2], doubles + Fraction(left[3]) * right[2]
                totals[group_of(left[1], right[1])] = own
        found.append(dict(totals))
    return found


def loop_of(steps: list[Any], modes: tuple[int, int], settling: Settling = NOTHING) -> tuple[ArrivalLoop, IdTable]:
    pairs, products = IdTable(1), readable(np.array([(0, 0), (1, 1)]), np.int64)
    queues = queue_of(steps, 0)[0], queue_of(steps, 1)[0]
    doubles = readable(np.array([(0, 0, 1, 1)]), np.int64), readable(np.array([(1, 1, 0, 0)]), np.int64)
    sets, totals = (AggregationSet(2, 1), AggregationSet(2, 1)), Totals(2, 1)
    table = pairs if OF_DELTA_AND_SLOT in modes else None
    inside = ((0, 0), (0, 0))
    return ArrivalLoop(queues, sets, modes, (products, products), doubles, totals, table, settling, inside), pairs


@pytest.mark.parametrize("modes", MODES)
@given(steps=arrivals, cut=st.integers(0, 12))
def test_the_groups_after_every_arrival(modes: tuple[int, int], steps: list[Any], cut: int) -> None:
    """What is written lasts until the group is written again; the loop may be left and entered again."""
    loop, pairs = loop_of(steps, modes)
    written: dict[int, list[tuple[Any, tuple[int, int, Fraction]]]] = defaultdict(list)
    for until in sorted((min(cut, len(steps)), len(steps))):
        assert loop.run(until) == DONE and loop.arrival == until
        changed = loop.take_changed()
        for number, group, ints, dds in zip(*(column.tolist() for column in changed[:4]), strict=True):
            name = tuple(int(half[group]) for half in pairs.pairs()) if OF_DELTA_AND_SLOT in modes else group
            written[number].append((name, (ints[0], ints[1], Fraction(dds[0]) + Fraction(dds[1]))))
    standing: dict[Any, tuple[int, int, Fraction]] = {}
    for number, expected in enumerate(twin(steps, MODES[modes])):
        assert len({name for name, _ in written[number]}) == len(written[number])
        standing |= dict(written[number])
        assert {name: own for name, own in standing.items() if own[0]} == expected
    for ordinal in range(2):
        queue, _ = queue_of(steps, ordinal)
        ends = (queue.gone[-1], queue.entered[-1]) if steps else (0, 0)
        assert loop.inside(ordinal) == ends


STEPS = [(0, [(0, 1, 2, 0.5)], 0, 0), (1, [(0, 0, 3, 0.0)], 0, 0), (1, [(0, 0, 4, 0.0)], 0, 0)]


def test_a_group_can_be_written_although_nothing_changes() -> None:
    loop, _ = loop_of(STEPS[:1], (OF_ALL, OF_ALL))
    loop.touch(0)
    loop.touch(0)
    assert loop.run(1) == DONE
    assert loop.take_changed().group.tolist() == [0] and loop.take_changed().group.tolist() == []


def test_it_stops_before_an_inexact_product_is_written_and_goes_on_after_it() -> None:
    limit = NOTHING._replace(limits=np.array([2.0]))  # 0.5 · 3 is below it, 0.5 · 4 is not
    loop, _ = loop_of(STEPS, (OF_DELTA, OF_SLOT), limit)
    assert loop.run(3) == INEXACT and loop.arrival == 2
    assert loop.take_changed().number.tolist() == [1] and loop.pending().tolist() == [1]
    loop.skip()
    assert loop.arrival == 3 and loop.pending().tolist() == []
    assert not loop.totals.touched.any()


def test_a_sum_that_has_drifted_is_not_written() -> None:
    """1 comes and goes beside 2^-30: the turnover is far above what is left."""
    steps = [
        (1, [(0, 0, 1, 0.0)], 0, 0),
        (0, [(0, 0, 1, 1.0)], 0, 0),
        (0, [(0, 0, 1, 2.0**-30)], 1, 0),
    ]
    watching = NOTHING._replace(watched=1, drifted=2.0**-20, weighed=2.0**-20)
    loop, _ = loop_of(steps, (OF_ALL, OF_ALL), watching)
    assert loop.run(3) == INEXACT and loop.arrival == 2


def test_a_floating_sum_without_rows_is_exactly_zero() -> None:
    steps = [(1, [(0, 0, 3, 0.0)], 0, 0), (0, [(0, 0, 1, 0.1)], 0, 0), (0, [(0, 0, 1, 0.7)], 0, 0), (0, [], 2, 0)]
    loop, _ = loop_of(steps, (OF_ALL, OF_ALL))
    assert loop.run(4) == DONE
    changed = loop.take_changed()
    assert changed.ints[-1].tolist() == [0, 0] and changed.dds[-1].tolist() == [0.0, 0.0]
    assert changed.drift[-1].tolist() == [0.0, 0.0]
