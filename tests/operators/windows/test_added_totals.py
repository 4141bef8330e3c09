"""Totals to which rows are added and from which they are taken, against a dictionary; integers never wrap around."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.entries import Payload
from joinfold.operators.windows.added_totals import AddedTotals, by_group
from joinfold.operators.windows.pair_values import PairValues
from tests.operators.methods.combined import TIMED, Combination, combinations, values_of
from tests.operators.runs import plan_of


@given(steps=st.lists(st.tuples(combinations, st.booleans()), max_size=6))
def test_totals_are_sums_by_group(steps: list[tuple[list[Combination], bool]]) -> None:
    totals, expected = AddedTotals(TIMED, False), dict[int, tuple[int, float]]()
    for some, is_taken in steps:
        sign = -1 if is_taken else 1
        totals.add(values_of(TIMED, some), sign)
        for own in some:
            rows, total = expected.get(own.group, (0, 0.0))
            expected[own.group] = (rows + sign * own.rows, total + sign * own.value / 2)
        found = totals.totals
        assert found.groups == max(expected, default=-1) + 1
        for group in range(found.groups):
            rows, total = expected.get(group, (0, 0.0))
            assert found.ints[group].tolist() == [rows] * len(totals.products) and found.dds[group, 0] == total
    assert totals.totals.take_touched().tolist() == sorted(expected)
    totals.clear()
    assert totals.totals.groups == 0


@given(some=combinations)
def test_rows_with_equal_codes_become_one(some: list[Combination]) -> None:
    values = values_of(TIMED, some)
    if not some:
        return
    codes = np.stack([values.leaves, values.group])
    values.payload = values.payload._replace(drift=None)  # single rows: each drifts by its size
    found, expected = by_group(values, codes), dict[tuple[int, int], tuple[int, float, float]]()
    for own in some:
        rows, total, size = expected.get((own.group, own.leave), (0, 0.0, 0.0))
        expected[own.group, own.leave] = (rows + own.rows, total + own.value / 2, size + abs(own.value / 2))
    assert list(zip(found.group.tolist(), found.leaves.tolist(), strict=True)) == list(expected)
    ints, reals = found.payload.ints[:, 0].tolist(), found.payload.reals[:, 0].tolist()
    assert list(zip(ints, reals, found.payload.sizes()[:, 0].tolist(), strict=True)) == list(expected.values())
    assert found.payload.codes.shape == (len(expected), 0)  # extremes do not add up


@pytest.mark.parametrize(("held", "more", "sign"), [(2**62, 2**62, 1), (-(2**62), 2**62 + 1, -1)])
def test_an_integer_that_wraps_around_is_noticed(held: int, more: int, sign: int) -> None:
    """One less is not."""
    for less in (1, 0):
        totals = AddedTotals(TIMED, False)
        for rows, of in ((held, 1), (more - less, sign)):
            values = values_of(TIMED, [Combination(0, 9, 1, 0, False)])
            values.payload.ints[:] = rows
            totals.add(values, of)
        assert totals.may_have_wrapped != bool(less)
        exact = held + sign * (more - less)
        assert int(totals.totals.ints[0, 0]) == (exact + 2**63) % 2**64 - 2**63


def test_products_of_integers_need_wide_totals_beyond_their_limit_and_are_refused_beyond_the_next() -> None:
    window = "[TUMBLE 9 MICROSECOND]"
    body = plan_of(f"SELECT SUM(a.v * b.v) AS s FROM a {window}, b {window} WHERE a.k = b.k", "k INT, v BIGINT").body
    totals = AddedTotals(body, False)
    assert totals.exact and totals.totals.groups == 1  # a query without groups has one, whether anything is in it
    payload = Payload.zeros(1, len(totals.products), len(body.real_products), 0)
    payload.reals[:, 2 * totals.exact[0]] = 2.0**99
    values = PairValues(np.zeros(1, np.int64), np.zeros(1, np.int64), payload)
    totals.add(values, 1)
    assert not totals.may_have_wrapped
    totals.add(values, 1)
    assert totals.may_have_wrapped
    wide = AddedTotals(body.widened, False)
    payload = Payload.zeros(1, len(wide.products), len(body.widened.real_products), 0)
    payload.reals[:, 2 * wide.exact[0]] = 2.0**129
    values = PairValues(np.zeros(1, np.int64), np.zeros(1, np.int64), payload)
    wide.add(values, 1)
    assert not wide.may_have_wrapped
    with pytest.raises(EvaluationError, match="too many combinations"):
        wide.add(values, 1)
