"""Arithmetic on int64 that switches to Python's integers, compared with Python's integers."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from joinfold.columnar.exact import (
    absolute,
    combine,
    exact_text,
    narrowed,
    negative,
    quotient,
    remainder,
    require_fit,
    rescaled,
    truncated,
)
from joinfold.errors import EvaluationError
from joinfold.types import BIGINT, INT
from joinfold.types import decimal as decimal_type

ENDS = [0, 1, -1, 2, 3, 2**31, -(2**32), 2**53 + 1, 2**62, -(2**62) - 1, 2**63 - 1, -(2**63), 10**18]
NUMBERS = st.sampled_from(ENDS) | st.integers(-100, 100) | st.integers(-(2**63), 2**63 - 1)
LARGE = NUMBERS | st.integers(-(10**60), 10**60)
PLENTY = Context(prec=200)


def exact(values: list[int]) -> NDArray[Any]:
    return narrowed(np.array(values, object))


def pairs(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, int, bool]]]:
    return st.lists(st.tuples(numbers, numbers, st.booleans()), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("operation", "of_integers"),
    [(np.add, int.__add__), (np.subtract, int.__sub__), (np.multiply, int.__mul__)],
    ids=["add", "subtract", "multiply"],
)
def test_rings_are_exact_wherever_present(operation: np.ufunc, of_integers: Callable[[int, int], int]) -> None:
    @given(pairs(NUMBERS) | pairs(LARGE))
    def agree(rows: list[tuple[int, int, bool]]) -> None:
        left, right = (exact([row[place] for row in rows]) for place in (0, 1))
        present = np.array([row[2] for row in rows])
        wanted = [of_integers(row[0], row[1]) for row in rows]
        assert combine(operation, left, right, None).tolist() == wanted
        some = combine(operation, left, right, present)
        kept = [value for value, there in zip(wanted, present, strict=True) if there]
        assert some[present].tolist() == kept
        if all(-(2**63) <= value < 2**63 for value in kept):
            assert some.dtype == np.int64

    agree()


@given(pairs(NUMBERS) | pairs(LARGE))
@example([(5, 2, True), (-5, 2, True), (5, -2, True), (-5, -2, True), (7, 3, True)])
def test_quotients_are_rounded_half_up_and_remainders_have_the_sign_of_the_dividend(
    rows: list[tuple[int, int, bool]],
) -> None:
    dividends, divisors = [row[0] for row in rows], [row[1] or 7 for row in rows]
    left, right = exact(dividends), exact(divisors)
    divided = [PLENTY.divide(Decimal(one), Decimal(other)) for one, other in zip(dividends, divisors, strict=True)]
    assert quotient(left, right, None).tolist() == [int(value.to_integral_value(ROUND_HALF_UP)) for value in divided]
    rest = [abs(one) % abs(other) * (-1 if one < 0 else 1) for one, other in zip(dividends, divisors, strict=True)]
    assert remainder(left, right, None).tolist() == rest


@given(st.lists(LARGE, min_size=1, max_size=8) | st.lists(NUMBERS, min_size=1, max_size=8), st.integers(0, 30))
def test_scales_signs_and_digits(numbers: list[int], digits: int) -> None:
    values = exact(numbers)
    assert negative(values).tolist() == [-number for number in numbers]
    assert absolute(values).tolist() == [abs(number) for number in numbers]
    assert rescaled(values, 2, 2 + digits, None).tolist() == [number * 10**digits for number in numbers]
    down = [PLENTY.scaleb(Decimal(number), -digits) for number in numbers]
    assert rescaled(values, digits, 0, None).tolist() == [int(value.to_integral_value(ROUND_HALF_UP)) for value in down]
    assert truncated(values, digits).tolist() == [int(value) for value in down]
    assert [exact_text(number, digits) for number in numbers] == [f"{value:f}" for value in down]


def test_what_does_not_fit_is_told_only_where_it_is_present() -> None:
    values = np.array([1, 2**31, -(2**31)])
    require_fit(values, np.array([True, False, True]), INT)
    with pytest.raises(EvaluationError, match="2147483648 does not fit INT"):
        require_fit(values, None, INT)
    large = np.array([10**40, 2**63, 5], object)
    with pytest.raises(EvaluationError, match="9223372036854775808 does not fit BIGINT"):
        require_fit(large, np.array([False, True, True]), BIGINT)
    with pytest.raises(EvaluationError, match=r"-100\.00 does not fit DECIMAL\(4, 2\)"):
        require_fit(np.array([9999, -10000]), None, decimal_type(4, 2))
