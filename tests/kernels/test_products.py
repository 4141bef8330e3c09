"""Products against the double loop that they replace, in every mode, and the totals that they fill."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.identity import IdTable
from joinfold.kernels.products import add_products
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA, PAIRED, Totals

from .test_aggregation_set import WORD, arrays, entries, random_entries, wrap

MODES = {
    OF_DELTA: lambda delta, slot: delta,
    OF_SLOT: lambda delta, slot: slot,
    OF_DELTA_AND_SLOT: lambda delta, slot: (delta, slot),
    OF_SLOT_AND_DELTA: lambda delta, slot: (slot, delta),
    OF_ALL: lambda delta, slot: 0,
}
INT_PRODUCTS = [(0, 0), (1, 0), (0, 1), (1, 1), (1, 0)]
DD_PRODUCTS = [(1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0), (1, 1, 1, 1)]

Groups = dict[object, tuple[list[int], list[Fraction]]]


def filled(batch: list[tuple[int, int, int, int, int]]) -> AggregationSet:
    aggregated = AggregationSet(2, 1)
    aggregated.update(*arrays(batch), 1)
    return aggregated


def twin(
    delta: list[tuple[int, int, int, int, int]], sign: int, other: AggregationSet, mode: int, ints: int, dds: int
) -> Groups:
    """Every product by itself, in integers and Fractions."""
    totals: Groups = defaultdict(lambda: ([0] * ints, [Fraction(0)] * dds))
    for key, group, rows, value, double in delta:
        for slot_group, (slot_ints, (hi, lo)) in other.entries_of(key).items():
            sums, doubles = totals[MODES[mode](group, slot_group)]
            own, slot = (rows, value), Fraction(hi) + Fraction(lo)
            for product, (left, right) in enumerate(INT_PRODUCTS[:ints]):
                sums[product] = wrap(sums[product] + sign * own[left] * slot_ints[right])
            for product, (left_int, left, right_int, right) in enumerate(DD_PRODUCTS[:dds]):
                factor = own[left] if left_int else double
                doubles[product] += sign * factor * (slot_ints[right] if right_int else slot)
    return totals


def add(
    delta: list[tuple[int, int, int, int, int]],
    sign: int,
    other: AggregationSet,
    mode: int,
    totals: Totals,
    pairs: IdTable | None,
) -> None:
    add_products(
        *arrays(delta),
        sign,
        other,
        mode,
        pairs,
        np.array(INT_PRODUCTS)[: totals.ints.shape[1]],
        np.array(DD_PRODUCTS)[: totals.dds.shape[1] // 2],
        totals,
    )


def groups_of(totals: Totals, pairs: IdTable | None) -> Groups:
    """What the totals say of every group that was touched."""
    names = list(zip(*(half.tolist() for half in pairs.pairs()), strict=True)) if pairs else None
    return {
        names[group] if names else group: (
            totals.ints[group].tolist(),
            [Fraction(hi) + Fraction(lo) for hi, lo in totals.dds[group].reshape(-1, 2).tolist()],
        )
        for group in np.flatnonzero(totals.touched).tolist()
    }


def close(found: Groups, expected: Groups, scale: Fraction) -> bool:
    return found.keys() == expected.keys() and all(
        found[group][0] == expected[group][0]
        and all(
            abs(value - truth) <= scale * Fraction(2.0**-95)
            for value, truth in zip(found[group][1], expected[group][1], strict=True)
        )
        for group in expected
    )


@pytest.mark.parametrize("mode", MODES)
@given(
    other=st.lists(entries, max_size=40),
    delta=st.lists(entries, max_size=25),
    sign=st.sampled_from([1, -1]),
    ints=st.integers(0, 5),
    dds=st.integers(0, 4),
)
def test_products_are_those_of_the_double_loop(
    other: list[tuple[int, int, int, int, int]],
    delta: list[tuple[int, int, int, int, int]],
    sign: int,
    ints: int,
    dds: int,
    mode: int,
) -> None:
    aggregated, totals = filled(other), Totals(ints, dds)
    pairs = IdTable(1) if mode in PAIRED else None
    add(delta, sign, aggregated, mode, totals, pairs)
    scale = Fraction(WORD * WORD * 1000)
    assert close(groups_of(totals, pairs), twin(delta, sign, aggregated, mode, ints, dds), scale)


@pytest.mark.parametrize("mode", MODES)
def test_many_products_with_long_slabs_are_exact(mode: int) -> None:
    aggregated, totals = filled(random_entries(1, 3000, keys=20, groups=300)), Totals(5, 4)
    pairs = IdTable(1) if mode in PAIRED else None
    delta = random_entries(2, 60, keys=30, groups=7)
    add(delta, 1, aggregated, mode, totals, pairs)
    found = groups_of(totals, pairs)
    assert found == twin(delta, 1, aggregated, mode, 5, 4)
    assert mode not in PAIRED or len(found) > 1000
    assert totals.bytes_held >= 8 * 5 * len(found)


@pytest.mark.parametrize("mode", MODES)
def test_what_entered_leaves_and_nothing_stays(mode: int) -> None:
    aggregated, totals = filled(random_entries(1, 200, keys=10, groups=9)), Totals(2, 3)
    pairs = IdTable(1) if mode in PAIRED else None
    for delta in (random_entries(seed, 20, keys=10, groups=5) for seed in (2, 3)):
        add(delta, 1, aggregated, mode, totals, pairs)
    touched = totals.take_touched()
    assert touched.tolist() == sorted(touched.tolist()) and len(touched) > 0
    assert not totals.touched.any()
    for delta in (random_entries(seed, 20, keys=10, groups=5) for seed in (2, 3)):
        add(delta, -1, aggregated, mode, totals, pairs)
    assert totals.take_touched().tolist() == touched.tolist()
    assert not totals.ints.any() and not totals.dds.any()


def test_a_group_that_empties_is_exactly_empty() -> None:
    aggregated, totals = filled([(0, 0, 1, 0, 1)]), Totals(1, 1)
    one, zero = np.ones((1, 1), np.int64), np.zeros(1, np.int32)
    for value, sign in ((0.1, 1), (1e-40, -1)):
        add_products(
            zero, zero, one, np.array([[value, 0.0]]), sign, aggregated, OF_DELTA, None,
            np.array([[0, 0]]), np.array([[0, 0, 0, 0]]), totals,
        )  # fmt: skip
    assert totals.dds[0, 0] == 0.1
    assert totals.take_touched().tolist() == [0]
    assert totals.dds.tolist() == [[0.0, 0.0]]


def test_keys_that_the_other_input_never_had_meet_nothing() -> None:
    totals = Totals(1, 0, groups=1)
    add([(5, 0, 1, 1, 1), (10**6, 0, 1, 1, 1)], 1, filled([(2, 0, 1, 1, 1)]), OF_ALL, totals, None)
    assert totals.ints.tolist() == [[0]] and not totals.touched.any()
