"""Sums over numbers that are not finite, against what Python's own floating point says of every combination."""

from collections.abc import Sequence
from itertools import product
from math import inf, isfinite, isnan, nan, prod

import pytest

from joinfold.physical.payload import SpecialKind
from joinfold.planner.drafting.specials import Kinds, any_special, special_products

NUMBERS: dict[SpecialKind, float] = {"nan": nan, "inf": inf, "-inf": -inf, "positive": 2, "negative": -3, "zero": 0}


def counted(found: Sequence[tuple[SpecialKind, Kinds]], kinds: Sequence[SpecialKind]) -> list[SpecialKind]:
    """What a combination of numbers of these kinds is counted as."""
    return [kind for kind, wanted in found if all(own in (None, is_) for own, is_ in zip(wanted, kinds, strict=True))]


@pytest.mark.parametrize("places", [1, 2, 3])
def test_a_product_is_counted_as_what_it_is(places: int) -> None:
    found = special_products(places)
    for kinds in product(NUMBERS, repeat=places):
        value = prod(NUMBERS[kind] for kind in kinds)
        expected = set() if isfinite(value) else {"nan"} if isnan(value) else {"inf"} if value > 0 else {"-inf"}
        assert set(counted(found, kinds)) == expected, kinds
        assert expected == {"nan"} or len(counted(found, kinds)) <= 1, "an infinity is counted once"


@pytest.mark.parametrize("places", [1, 2, 3])
def test_a_statistic_is_nan_where_any_number_is_not_finite(places: int) -> None:
    found = any_special(places)
    for kinds in product(NUMBERS, repeat=places):
        is_finite = all(isfinite(NUMBERS[kind]) for kind in kinds)
        assert set(counted(found, kinds)) == (set() if is_finite else {"nan"}), kinds
