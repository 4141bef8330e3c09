"""Functions of the reference, on values that Python's own defaults would round."""

from datetime import UTC
from decimal import Decimal

import pytest

from joinfold.reference.functions import arithmetic, call_function
from joinfold.types import decimal

LONGEST = Decimal("9" * 37 + ".1")


@pytest.mark.parametrize(("function", "expected"), [("negate", -1), ("abs", 1)])
def test_a_decimal_keeps_all_its_digits(function: str, expected: int) -> None:
    found = call_function(function, [LONGEST], decimal(38, 1), UTC)
    assert found == LONGEST.copy_sign(Decimal(expected))
    assert arithmetic("+", found, Decimal(0), decimal(38, 1), wide=False) == found
