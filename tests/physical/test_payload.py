"""Sums by what they mean: names that tell all that differs, and payloads that say what they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.algebra import Monomial
from joinfold.physical.column_names import COUNT
from joinfold.physical.payload import (
    Bit,
    Extreme,
    InputSpec,
    IntegerSum,
    Limb,
    RealSum,
    Special,
    Sums,
    ViewSum,
)
from joinfold.physical.source import StreamRows

X, PRESENT = Monomial((("a.x", 1),)), Monomial((("a.x", 0),))
monomials = st.dictionaries(st.sampled_from(["a.x", "a.y"]), st.integers(0, 2)).map(
    lambda own: Monomial.of(own.items())
)
valued = monomials.filter(lambda monomial: bool(monomial.powers))
parts = st.one_of(
    st.builds(Limb, st.integers(0, 3)),
    st.builds(Special, st.sampled_from(["nan", "inf", "-inf", "positive", "negative", "zero"])),
    st.builds(Bit, st.integers(0, 63)),
)


@given(one=st.builds(IntegerSum, valued, parts), other=st.builds(IntegerSum, valued, parts))
def test_two_sums_have_one_name_only_if_they_sum_the_same(one: IntegerSum, other: IntegerSum) -> None:
    counts = not one.is_valued and isinstance(one.part, Limb)  # the limb of a count is the count
    same = one == other or (counts and one.monomial == other.monomial and isinstance(other.part, Limb))
    assert (one.name == other.name) == same


@pytest.mark.parametrize(
    ("column", "name", "is_valued"),
    [
        (IntegerSum(), COUNT, False),
        (IntegerSum(PRESENT), "count a.x^0", False),
        (IntegerSum(X, Limb(1)), "sum a.x limb 1", True),
        (IntegerSum(X, Special("-inf")), "count -inf a.x", False),
        (IntegerSum(X, Bit(7)), "count bit 7 a.x", False),
    ],
)
def test_a_sum_is_called_what_it_means(column: IntegerSum, name: str, is_valued: bool) -> None:
    assert (column.name, column.is_valued) == (name, is_valued)


def test_extremes_and_views_are_called_what_they_mean() -> None:
    assert Extreme("a.x", True).name == "max a.x"
    assert Extreme("a.x", False, ("p", "q"), "a.y").name == "min a.x by a.y where p and q"
    assert (ViewSum().name, ViewSum(("sum a.x", "sum b.x")).name) == (COUNT, "sum a.x × sum b.x")
    assert RealSum(Monomial((("a.x", 2),))).name == "sum a.x^2"


def test_names_are_told_apart_and_rows_are_counted_first() -> None:
    sums = Sums(integers=(IntegerSum(), IntegerSum(X)), reals=(RealSum(X), RealSum(PRESENT, exact=True)))
    assert sums.integer_names == (COUNT, "sum a.x limb 0")
    assert sums.real_names[0] == ("sum a.x high", "sum a.x low")
    assert (sums.exact, sums.integer_columns) == ({1}, 4)  # one more for each real
    for integers in ((IntegerSum(X),), (IntegerSum(), IntegerSum(X), IntegerSum(X))):
        with pytest.raises(AssertionError):
            Sums(integers=integers)


def test_the_rows_of_an_entry_are_equal_in_keys_groups_and_carried_columns() -> None:
    spec = InputSpec(
        name="a", source=StreamRows(0), keys=("k", "j"), classes=(0, 2), groups=("g", "k"), carried=("v", "g")
    )
    assert spec.identity == ("k", "j", "g", "v")
    with pytest.raises(AssertionError):
        InputSpec(name="a", source=StreamRows(0), keys=("k",), classes=())
