"""Entries of rows, against sums and extremes of Python; limbs add up to the number."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.algebra import Monomial
from joinfold.operators.packing.rows_to_entries import aggregate, limbs_of
from joinfold.physical.column_names import CELL, COUNT
from joinfold.physical.payload import Bit, Extreme, Factor, IntegerSum, Limb, RealSum, Special, SpecialKind, Sums

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
KINDS: tuple[SpecialKind, ...] = ("nan", "inf", "-inf", "positive", "negative", "zero")
INTEGER, CHOSEN = Monomial.of([("i", 1)]), Monomial.of([("c", 0), ("i", 1)])
SUMS = Sums(
    groups=("g",),
    factors=(Factor("i", "integer", 2), Factor("x", "floating"), Factor("c", "condition")),
    integers=(
        IntegerSum(),
        IntegerSum(Monomial.presence(["i"])),
        *(IntegerSum(monomial, Limb(number)) for monomial in (INTEGER, CHOSEN) for number in range(2)),
        *(IntegerSum(Monomial.presence(["x"]), Special(kind)) for kind in KINDS),
        *(IntegerSum(Monomial.presence(["i"]), Bit(number)) for number in (0, 63)),
    ),
    reals=(RealSum(Monomial.of([("x", 2)])), RealSum(Monomial.of([("c", 0), ("x", 1)]))),
    extremes=(Extreme("i", False), Extreme("x", True, ("c",)), Extreme("g", True, by="i")),
)
Row = dict[str, Any]
rows = st.lists(
    st.fixed_dictionaries(
        {
            CELL: st.integers(0, 1),
            "g": st.none() | st.sampled_from(["", "p"]),
            "i": st.none() | st.sampled_from([0, 3, -7, LARGEST, SMALLEST]),
            "x": st.none() | st.sampled_from([0.0, -0.0, 0.1, -2.5, 1e8, math.nan, math.inf, -math.inf]),
            "c": st.none() | st.booleans(),
        }
    ),
    max_size=10,
)
TYPES = {"g": pa.string(), "i": pa.int64(), "x": pa.float64(), "c": pa.bool_()}


def packed(values: list[Row], single: bool) -> list[Row]:
    batch = pa.RecordBatch.from_pydict(
        {name: pa.array([row[name] for row in values], of) for name, of in TYPES.items()}
    )
    found = aggregate(SUMS, ("g",), batch, np.array([row[CELL] for row in values], np.int64), single)
    return list(found.to_pylist())


def limbs(entry: Row, first: int) -> int:
    return sum(entry[SUMS.integer_names[first + number]] << 32 * number for number in range(2))


def is_kind(value: float | None, kind: str) -> bool:
    if value is None:
        return False
    if not math.isfinite(value):
        return str(value) == kind
    return {"positive": value > 0, "negative": value < 0, "zero": value == 0}.get(kind, False)


def check(entry: Row, own: list[Row]) -> None:
    """An entry is what its rows come to."""
    there = [row["i"] for row in own if row["i"] is not None]
    chosen = [row for row in own if row["c"]]
    names = SUMS.integer_names
    assert (entry[COUNT], entry[names[1]]) == (len(own), len(there))
    assert limbs(entry, 2) == sum(there)
    assert limbs(entry, 4) == sum(row["i"] for row in chosen if row["i"] is not None)
    for number, kind in enumerate(KINDS, 6):
        assert entry[names[number]] == sum(is_kind(row["x"], kind) for row in own), kind
    assert [entry[name] for name in names[12:]] == [sum(value >> bit & 1 for value in there) for bit in (0, 63)]
    finite = [(row["x"], bool(row["c"])) for row in own if row["x"] is not None and math.isfinite(row["x"])]
    squares = sum((Fraction(x) ** 2 for x, _ in finite), Fraction(0))
    plain = sum((Fraction(x) for x, is_chosen in finite if is_chosen), Fraction(0))
    for (high, low), exact in zip(SUMS.real_names, (squares, plain), strict=True):
        assert abs(Fraction(entry[high]) + Fraction(entry[low]) - exact) <= Fraction(2) ** -100 * squares
    smallest, largest, by = (entry[name] for name in SUMS.extreme_names)
    assert smallest == min(there, default=None)
    seen = [row["x"] for row in chosen if row["x"] is not None]
    best = max(seen, key=lambda x: (math.isnan(x), 0.0 if math.isnan(x) else x), default=None)
    assert repr(largest) == repr(None if best is None else best + 0.0)  # −0.0 is 0.0
    assert by == ({"by": max(there), "value": own[0]["g"]} if there else None)  # all of an entry are of one group


@given(values=rows)
def test_rows_of_one_cell_and_group_are_one_entry(values: list[Row]) -> None:
    together: dict[Any, list[Row]] = {}
    for row in values:
        together.setdefault((row[CELL], row["g"]), []).append(row)
    found = packed(values, single=False)
    assert [(entry[CELL], entry["g"]) for entry in found] == list(together)
    for entry, own in zip(found, together.values(), strict=True):
        check(entry, own)


@given(values=rows)
def test_rows_that_stay_single_are_an_entry_each_in_their_order(values: list[Row]) -> None:
    found = packed(values, single=True)
    assert [(entry[CELL], entry["g"]) for entry in found] == [(row[CELL], row["g"]) for row in values]
    for entry, row in zip(found, values, strict=True):
        check(entry, [row])


@pytest.mark.parametrize(
    ("values", "type_", "limbs"),
    [
        ([0, 1, -1, LARGEST, SMALLEST, 2**31, -(2**31), 2**31 - 1, 2**62 + 2**31], pa.int64(), 2),
        ([0, 2**31 - 1, -(2**31)], pa.int32(), 1),
        ([Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(2**95), Decimal(-(2**95)), None], pa.decimal128(38, 0), 4),
        ([Decimal(10**19 - 1), Decimal(1 - 10**19)], pa.decimal128(19, 0), 3),
    ],
)
def test_limbs_add_up_to_the_number(values: list[Any], type_: pa.DataType, limbs: int) -> None:
    parts = limbs_of(pa.array(values, type_), limbs)
    assert [sum(int(part[i]) << 32 * at for at, part in enumerate(parts)) for i in range(len(values))] == [
        int(value or 0) for value in values
    ]
    assert max(int(np.abs(part).max()) for part in parts) <= 2**31
