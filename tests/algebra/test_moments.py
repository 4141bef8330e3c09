"""The laws of the ring, over every aggregate's basis at once, and the change of origin."""

import math
import random
import statistics
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.algebra import AGGREGATES, Argument, Monomial

from .answers import MOMENTS, answer, monomials
from .basis import COMBINATIONS, Basis
from .definitions import same
from .moments import Moments, fold, lift, one, shifted, zero

ARGUMENTS = ((), (("a.x",),), (("a.x", "b.y"),), (("a.x",), ("b.y",)), (("a.x",), ("c.z", "b.y")))


def basis_of_all(*arguments_of_calls: tuple[Argument, ...]) -> Basis:
    """The basis of a query that calls every aggregate with each of these lists of arguments."""
    return Basis.spanning(
        monomial
        for aggregate in MOMENTS
        for arguments in arguments_of_calls
        if len(arguments) in aggregate.arities
        for monomial in monomials(aggregate, arguments)
    )


BASIS = basis_of_all(*ARGUMENTS)

numbers = st.integers(-9, 9)
elements = st.dictionaries(st.sampled_from(BASIS.monomials), numbers).map(lambda sums: Moments(BASIS, sums))


def rows_of(*factors: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries({factor: st.none() | numbers for factor in factors}), max_size=4)


@given(p=elements, q=elements, r=elements)
def test_union_is_a_commutative_group(p: Moments, q: Moments, r: Moments) -> None:
    assert (p + q) + r == p + (q + r)
    assert p + q == q + p
    assert p + zero(BASIS) == p
    assert p - p == zero(BASIS)
    assert (p + q) - q == p
    assert zero(BASIS) - p == -p


@given(p=elements, q=elements, r=elements)
def test_join_is_a_commutative_monoid(p: Moments, q: Moments, r: Moments) -> None:
    assert (p * q) * r == p * (q * r)
    assert p * q == q * p
    assert p * one(BASIS) == p
    assert p * zero(BASIS) == zero(BASIS)


@given(p=elements, q=elements, r=elements)
def test_join_distributes_over_union_and_removal(p: Moments, q: Moments, r: Moments) -> None:
    assert p * (q + r) == p * q + p * r
    assert p * (q - r) == p * q - p * r


@given(p=elements, q=elements, m=st.integers(0, 5), n=st.integers(0, 5))
def test_times_is_union_with_itself_and_join_with_a_count(p: Moments, q: Moments, m: int, n: int) -> None:
    assert p.times(n) == reduce(Moments.__add__, [p] * n, zero(BASIS))
    assert p.times(n) == p * one(BASIS).times(n)
    assert p.times(m).times(n) == p.times(m * n)
    assert p.times(m) - p.times(n) == p.times(m - n)
    assert (p + q).times(n) == p.times(n) + q.times(n)


@given(p=elements, q=elements)
def test_elements_are_equal_only_where_all_sums_are(p: Moments, q: Moments) -> None:
    assert (p == q) == all(p[monomial] == q[monomial] for monomial in BASIS)
    assert p + one(BASIS) != p


@given(a=rows_of("a.x"), b=rows_of("b.y"), c=rows_of("c.z"))
def test_fold_of_a_join_is_the_product_of_folds(a: list[Any], b: list[Any], c: list[Any]) -> None:
    triples = [{**row_a, **row_b, **row_c} for row_a, row_b, row_c in product(a, b, c)]
    assert fold(BASIS, triples) == fold(BASIS, a) * fold(BASIS, b) * fold(BASIS, c)


@given(a=rows_of("a.x"), b=rows_of("b.y"), more=rows_of("a.x"))
def test_a_join_moves_by_what_enters_and_what_leaves(a: list[Any], b: list[Any], more: list[Any]) -> None:
    whole = fold(BASIS, [{**left, **right} for left, right in product(a + more, b)])
    assert whole == fold(BASIS, a) * fold(BASIS, b) + fold(BASIS, more) * fold(BASIS, b)
    assert whole - fold(BASIS, more) * fold(BASIS, b) == fold(BASIS, a) * fold(BASIS, b)


@given(rows=rows_of("a.x", "b.y"))
def test_a_sum_skips_the_rows_in_which_a_factor_of_it_is_null(rows: list[dict[str, Any]]) -> None:
    payload = fold(BASIS, rows)
    both = [row for row in rows if None not in row.values()]
    assert payload.count == len(rows)
    assert payload[Monomial((("a.x", 0),))] == sum(row["a.x"] is not None for row in rows)
    assert payload[Monomial((("a.x", 1), ("b.y", 0)))] == sum(row["a.x"] for row in both)
    assert payload[Monomial((("a.x", 1), ("b.y", 1)))] == sum(row["a.x"] * row["b.y"] for row in both)


def test_nan_leaves_with_its_row() -> None:
    """The engine replaces a NaN by 0 and counts it in another factor."""
    nan = Monomial((("x is nan", 1),))
    basis = Basis.spanning([Monomial((("x", 1),)), nan])
    clean, broken = {"x": 2.5, "x is nan": 0}, {"x": 0.0, "x is nan": 1}
    payload = fold(basis, [clean, broken])
    assert payload[nan] == 1
    assert payload - lift(basis, broken) == lift(basis, clean)
    with pytest.raises(AssertionError, match="do not subtract"):
        lift(basis, {"x": math.nan, "x is nan": 0})


def test_arrays_are_many_payloads_at_once() -> None:
    x = Monomial((("x", 1),))
    y = Monomial((("y", 1),))
    both = Monomial((("x", 1), ("y", 1)))
    basis = Basis.spanning([both])
    left = Moments(basis, {COMBINATIONS: np.array([1, 2]), x: np.array([3, 4])})
    right = Moments(basis, {COMBINATIONS: np.array([5, 0]), y: np.array([7, 0])})
    assert (left * right)[both].tolist() == [21, 0]
    assert (left * right).count.tolist() == [5, 0]
    assert (left + left) - left == left
    assert left != Moments(basis, {COMBINATIONS: np.array([1, 2]), x: np.array([3, 5])})


def test_a_basis_holds_all_parts_and_no_more() -> None:
    assert str(Basis.spanning([Monomial((("a.x", 2), ("b.y", 1)))])) == "(), a.x^2, a.x^2·b.y^1, b.y^1"
    assert str(Basis.spanning([])) == "()"
    with pytest.raises(AssertionError):
        Basis((COMBINATIONS, Monomial((("a.x", 1), ("b.y", 1)))))


def test_an_input_keeps_what_the_others_can_ask_of_it() -> None:
    corr = AGGREGATES["corr"]
    apart = Basis.spanning(monomials(corr, (("a.x",), ("b.y",))))
    assert [str(monomial) for monomial in apart.over(["a.x"])] == ["()", "a.x^0", "a.x^1", "a.x^2"]
    together = Basis.spanning(monomials(corr, (("a.x",), ("a.y",))))
    assert [str(monomial) for monomial in together.over(["b.z"])] == ["()"]


def test_repeated_factors_add_their_exponents() -> None:
    assert str(Monomial.of([("b.y", 1), ("a.x", 2), ("b.y", 0), ("a.x", 1)])) == "a.x^3·b.y^1"


PAIR_BASIS = basis_of_all((("a.x",),), (("a.x",), ("b.y",)))
SHIFTABLE = Basis.spanning([Monomial((("a.x", 2), ("b.y", 1), ("c.z", 1)))]).with_lower_powers()
fractions = st.fractions(-20, 20, max_denominator=7)
shifts = st.fixed_dictionaries({"a.x": fractions, "b.y": fractions})


def moved(rows: list[dict[str, Any]], shift: Mapping[str, Fraction]) -> list[dict[str, Any]]:
    return [{k: None if v is None else v - shift.get(k, 0) for k, v in row.items()} for row in rows]


@given(rows=rows_of("a.x", "b.y", "c.z"), shift=shifts)
def test_shifted_is_the_payload_of_shifted_rows(rows: list[dict[str, Any]], shift: dict[str, Fraction]) -> None:
    payload = fold(SHIFTABLE, rows)
    assert shifted(payload, shift) == fold(SHIFTABLE, moved(rows, shift))
    assert shifted(shifted(payload, shift), {factor: -offset for factor, offset in shift.items()}) == payload


@given(a=rows_of("a.x"), b=rows_of("b.y"), shift=shifts)
def test_shifting_is_a_homomorphism(a: list[Any], b: list[Any], shift: dict[str, Fraction]) -> None:
    p, q = fold(SHIFTABLE, a), fold(SHIFTABLE, b)
    assert shifted(p * q, shift) == shifted(p, shift) * shifted(q, shift)
    assert shifted(p + q, shift) == shifted(p, shift) + shifted(q, shift)


@given(rows=rows_of("a.x", "b.y"), shift=shifts)
def test_statistics_about_the_mean_are_the_same_from_every_origin(
    rows: list[dict[str, Any]], shift: dict[str, Fraction]
) -> None:
    payload = fold(PAIR_BASIS, rows)
    about = shifted(payload, shift)
    back = shifted(about, {factor: -offset for factor, offset in shift.items()})
    for aggregate in MOMENTS:
        arguments = (("a.x",), ("b.y",))[: aggregate.arities[-1]]
        expected = answer(aggregate, payload, arguments)
        assert same(answer(aggregate, back, arguments), expected), aggregate.name
        if aggregate.name not in ("sum", "avg", "regr_intercept"):
            assert same(answer(aggregate, about, arguments), expected), aggregate.name


def test_doubles_about_a_near_origin_keep_what_doubles_about_0_lose() -> None:
    """At |mean| = 1e6·stddev, the bound of the semantics, sums about the first value have six correct digits."""
    source = random.Random(7)
    values = [1e6 + source.gauss(0, 1) for _ in range(2_000)]
    truth = statistics.pvariance(map(Fraction, values))
    variance = AGGREGATES["var_pop"]
    basis = Basis.spanning(monomials(variance, (("x",),)))

    def error(origin: float) -> float:
        payload = fold(basis, [{"x": value - origin} for value in values])
        return abs(float(answer(variance, payload, (("x",),)) / truth) - 1)

    assert error(values[0]) < 1e-12
    assert error(0.0) > 1e-6
