"""Aggregates as sums of products: their limbs put together are the exact sum, and nothing is kept twice."""

from collections.abc import Sequence
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.expressions import Aggregate
from joinfold.physical.payload import LIMB_BITS, Bit, ColumnRef, IntegerSum, Limb, Special
from joinfold.planner.drafting.input_columns import InputColumns
from joinfold.planner.drafting.summing import Summing
from tests.planner.gathering import Row, carried_rows, frame_row, gathered_for
from tests.planner.known import JOINED, query_of


def aggregates_of(select: str) -> tuple[Aggregate, ...]:
    return query_of(f"SELECT {select} {JOINED}").aggregates


def limbs_of(value: int, count: int) -> list[int]:
    """Parts of 32 bits, balanced about zero; the uppermost takes what is left."""
    found = []
    for _ in range(count - 1):
        low = (value + 2 ** (LIMB_BITS - 1)) % 2**LIMB_BITS - 2 ** (LIMB_BITS - 1)
        found.append(low)
        value = (value - low) >> LIMB_BITS
    return [*found, value]


def column_sum(side: InputColumns, number: int, frames: Sequence[Row]) -> int:
    """An integer column of entries, summed over rows."""
    column = side.sums().integers[number]
    assert isinstance(column, IntegerSum) and isinstance(column.part, Limb)
    factors = [side.factor(name) for name in column.monomial.factors]
    limbs = max((factor.limbs for factor in factors if factor is not None), default=1)
    total = 0
    for row in frames:
        if all(row[name] not in (None, False) for name in column.monomial.factors):
            powers = [(row[name], power) for name, power in column.monomial.powers if power]
            total += limbs_of(prod(value**power for value, power in powers), limbs)[column.part.number]
    return total


integers = st.one_of(st.none(), st.sampled_from([-(2**63), 2**63 - 1, 2**31, -(2**31), 0]), st.integers(-9, 9))
small = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))
rows = st.lists(st.fixed_dictionaries({"x": integers, "v": integers, "k": small, "g": st.integers(0, 1)}), max_size=4)


def summed(value: Any, row: dict[str, Row]) -> int:
    """A number that is there, as it is written in Python."""
    parts = value(row["a"], row["b"])
    return 0 if None in parts else prod(parts)


@pytest.mark.parametrize(
    ("select", "value"),
    [
        ("SUM(a.x)", lambda a, b: (a["x"],)),
        ("SUM(a.k * b.k)", lambda a, b: (a["k"], b["k"])),
        ("SUM(a.x * b.v)", lambda a, b: (a["x"], b["v"])),
        ("SUM(a.x) FILTER (WHERE b.g = 1)", lambda a, b: (a["x"], b["g"])),
        ("SUM(a.k) FILTER (WHERE a.g < b.g)", lambda a, b: (a["k"], int(a["g"] < b["g"]))),
        ("COUNT(a.x)", lambda a, b: (1,) if a["x"] is not None else (None,)),
    ],
)
@given(first=rows, second=rows)
def test_the_limbs_of_a_sum_add_up_to_the_exact_sum(
    select: str, value: Any, first: list[Row], second: list[Row]
) -> None:
    (aggregate,), gathered = aggregates_of(f"{select} AS s"), gathered_for("ab")
    summing = Summing(gathered)
    (*_, moment) = summing.spec_of(aggregate).moments
    found = 0
    for pair in ({"a": a, "b": b} for a in first for b in second):
        carried = carried_rows(gathered, pair)
        frames = [*carried.values(), frame_row(gathered.pair, carried)]
        for ref, shift in moment.limbs:
            columns = summing.integers[ref.index] if ref.is_integer else [own.index for own in summing.reals[ref.index]]
            places = zip(gathered.all, columns, frames, strict=True)
            found += prod(column_sum(side, number, [frame]) for side, number, frame in places) << shift
    assert found == sum(summed(value, {"a": a, "b": b}) for a in first for b in second)


def test_numbers_of_several_inputs_are_multiplied_in_more_bits() -> None:
    summing = Summing(gathered_for("ab"))
    wide, narrow, alone = aggregates_of("SUM(a.x * b.v) AS p, SUM(a.k * b.k) AS q, SUM(a.x) AS r")
    (*_, both), (*_, single), (*_, own) = (summing.spec_of(each).moments for each in (wide, narrow, alone))
    assert [(ref.is_integer, shift) for ref, shift in both.limbs] == [(False, bits) for bits in (0, 32, 32, 64)]
    assert [(ref.is_integer, shift) for ref, shift in single.limbs] == [(False, 0)]
    assert [(ref.is_integer, shift) for ref, shift in own.limbs] == [(True, 0), (True, 32)]


def test_equal_columns_and_products_are_kept_once() -> None:
    gathered = gathered_for("ab")
    summing = Summing(gathered)
    total, mean, again, count = aggregates_of("SUM(a.k) AS s, AVG(a.k) AS m, SUM(-a.k) AS t, COUNT(*) AS n")
    first = summing.spec_of(total)
    kept = list(summing.integers)
    assert summing.spec_of(mean).moments == first.moments and summing.spec_of(total) == first
    (rows_of_count,) = summing.spec_of(count).moments
    assert rows_of_count.limbs == ((ColumnRef(True, 0), 0),) and summing.integers[0] == (0, 0, 0)
    assert summing.integers == kept
    summing.spec_of(again)
    assert len(summing.integers) > len(kept)


def test_an_extreme_is_of_one_place_and_all_others_must_have_a_row_that_passes() -> None:
    gathered = gathered_for("ab")
    summing = Summing(gathered)
    highest, filtered, both, own = aggregates_of(
        "MAX(a.v) AS h, MAX(a.v) FILTER (WHERE b.g = 1) AS f, MIN(a.v - b.v) FILTER (WHERE b.g = 1) AS d, "
        "MAX(a.v) FILTER (WHERE a.g = 1) AS o"
    )
    assert [summing.spec_of(each).extreme for each in (highest, filtered, both, own)] == [0, 1, 2, 3]
    one, two, three, four = summing.extremes
    assert (one.ordinal, one.partners) == (0, (0, 0, 0))
    assert (two.ordinal, two.index, two.partners) == (0, one.index, (0, 1, 0))
    assert three.ordinal == len(gathered.inputs) and three.partners == (0, 1, 0)
    assert four.index != one.index and four.partners == (0, 0, 0), "its own condition is part of the extreme"


@pytest.mark.parametrize(
    ("select", "specials"),
    [
        ("SUM(a.x)", []),
        ("SUM(a.d)", ["nan", "inf", "-inf"]),
        ("VAR_POP(a.d)", ["nan"] * 3),
        ("SUM(a.d * b.d)", ["nan"] * 6 + ["inf", "-inf"] * 6),
    ],
)
def test_floating_numbers_that_are_not_finite_are_counted_apart(select: str, specials: list[str]) -> None:
    gathered = gathered_for("ab")
    summing = Summing(gathered)
    spec = summing.spec_of(aggregates_of(f"{select} AS s")[0])
    assert spec.is_exact == (not specials)
    assert sorted(kind for kind, _ in spec.specials) == sorted(specials)
    parts = [column.part for side in gathered.all for column in side.sums().integers if isinstance(column, IntegerSum)]
    assert any(isinstance(part, Special) for part in parts) == bool(specials)


def test_every_bit_of_the_type_that_was_written_is_counted() -> None:
    gathered = gathered_for("ab")
    spec = Summing(gathered).spec_of(aggregates_of("BIT_AND(a.k) AS b")[0])
    bits = [column.part for column in gathered.inputs[0].sums().integers if isinstance(column, IntegerSum)]
    assert [part.number for part in bits if isinstance(part, Bit)] == list(range(32))
    assert len(spec.moments) == 32 + 1
