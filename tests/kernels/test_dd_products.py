"""Products with double-doubles where rounding decides; ``test_products`` has them in every mode."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.products import add_products
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_SLOT, Totals

from .test_products import filled


def test_cancellation_leaves_the_small_term() -> None:
    aggregated, totals = filled([(0, 0, 1, 0, 1)]), Totals(1, 1)
    one, zero = np.ones((1, 1), np.int64), np.zeros(1, np.int32)
    for value, sign in ((1e16, 1), (1.0, 1), (1e16, -1)):
        add_products(
            zero, zero, one, np.array([[value, 0.0]]), sign, aggregated, OF_SLOT, None,
            np.array([[0, 0]]), np.array([[0, 0, 1, 0]]), totals,
        )  # fmt: skip
    assert totals.dds.tolist() == [[1.0, 0.0]]


def test_drift_follows_products_and_is_gone_with_the_group() -> None:
    """Weight is Σ|x·y|; turnover grows with every step, those of the slots included."""
    aggregated = AggregationSet(1, 1)
    key, one = np.zeros(1, np.int32), np.ones((1, 1), np.int64)
    for value in (2.0, -3.0):
        aggregated.update(key, key, one, np.array([[value, 0.0]]), 1)
    totals = Totals(1, 1)
    arguments = (aggregated, OF_ALL, None, np.array([[0, 0]]), np.array([[0, 0, 0, 0]]), totals)
    add_products(key, key, one, np.array([[-10.0, 0.0]]), 1, *arguments)
    weight, turnover = totals.drift[0].tolist()
    assert totals.dds[0].tolist() == [10.0, 0.0] and weight == 10.0 * (2.0 + 3.0)
    assert turnover >= weight + 10.0 * (2.0 + 5.0)
    assert totals.largest.tolist() == [10.0]
    add_products(key, key, one, np.array([[-10.0, 0.0]]), -1, *arguments)
    assert totals.drift[0, 0] == 0.0 and totals.drift[0, 1] > turnover
    totals.take_touched()
    assert not totals.drift.any()


def test_a_sum_over_a_slab_takes_in_the_drift_of_every_slot() -> None:
    """Slots of 2 and −3 have weights 2 and 3, turnovers 4 and 6. Their sum has weight 5 and turnover 4 + 6 + 5."""
    aggregated, totals = AggregationSet(1, 1), Totals(1, 1)
    one, zero = np.ones((1, 1), np.int64), np.zeros(1, np.int32)
    for group, value in enumerate((2.0, -3.0)):
        aggregated.update(zero, np.array([group], np.int32), one, np.array([[value, 0.0]]), 1)
    products = np.array([[0, 0]]), np.array([[0, 0, 0, 0]])
    add_products(zero, zero, one, np.array([[10.0, 0.0]]), 1, aggregated, OF_ALL, None, *products, totals)
    assert totals.dds.tolist() == [[-10.0, 0.0]]
    assert totals.drift.tolist() == [[10 * 5.0, 10 * 5.0 + 10 * (5.0 + 15.0)]]


@given(st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=6), st.sampled_from([OF_DELTA, OF_SLOT, OF_ALL]))
def test_a_product_of_two_integers_is_exact_and_does_not_drift(values: list[int], mode: int) -> None:
    factor = 2**60 + 1
    other, totals = filled([(0, 0, 1, factor, 0)]), Totals(0, 1)
    zeros, ints = np.zeros(len(values), np.int32), np.array([[1, value] for value in values])
    nothing, products = np.zeros((len(values), 0)), (np.zeros((0, 2), np.int64), np.array([[1, 1, 1, 1]]))
    add_products(zeros, zeros, ints, nothing, 1, other, mode, None, *products, totals)
    hi, lo = totals.dds[0].tolist()
    assert int(hi) + int(lo) == sum(values) * factor
    assert not totals.drift.any()
    met = [*values, *(sum(values[: end + 1]) for end in range(len(values)))]
    assert totals.largest[0] == max(float(abs(value) * factor) for value in met)
