"""Rows become entries, as soon as PACK gets them from Spark.

Rows of one cell, key and group become one entry with their sums and extremes.
"""

from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.algebra import Monomial
from joinfold.kernels.grouping import count, group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.values import (
    extreme_of,
    flags_of,
    floats,
    identity_codes,
    integers,
    ordered_pairs,
    present,
)
from joinfold.physical.column_names import CELL
from joinfold.physical.payload import (
    LIMB_BITS,
    Bit,
    Extreme,
    Factor,
    IntegerSum,
    Limb,
    RealSum,
    Special,
    SpecialKind,
    Sums,
)

HALF_LIMB = np.int64(2 ** (LIMB_BITS - 1))
LIMB = np.int64(2**LIMB_BITS - 1)


def aggregate(
    sums: Sums, named: tuple[str, ...], batch: pa.RecordBatch, cells: Integers, single: bool = False
) -> pa.RecordBatch:
    """One entry for each cell and value of the ``named`` columns; ``single``: one entry for each row."""
    if single:
        entry_of_row = first_row = np.arange(len(cells))
    else:
        codes = [cells, *(code for name in named for code in identity_codes(batch.column(name)))]
        entry_of_row, first_row = group_rows(np.stack(codes))
    grouping = _Grouping(sums, batch, entry_of_row, len(first_row))
    first = pa.array(first_row)
    columns: dict[str, pa.Array] = {CELL: pa.array(cells[first_row])}
    columns |= {name: batch.column(name).take(first) for name in named}
    for name, integer in zip(sums.integer_names, sums.integers, strict=True):
        assert isinstance(integer, IntegerSum)
        columns[name] = pa.array(grouping.integer(integer))
    for names, real in zip(sums.real_names, sums.reals, strict=True):
        assert isinstance(real, RealSum)
        columns |= dict(zip(names, map(pa.array, grouping.real(real.monomial)), strict=True))
    for name, extreme in zip(sums.extreme_names, sums.extremes, strict=True):
        columns[name] = grouping.extreme(extreme)
    return pa.RecordBatch.from_pydict(columns)


class _Grouping:
    """The rows of a batch, and the entry that each belongs to."""

    def __init__(self, sums: Sums, batch: pa.RecordBatch, entry_of_row: Integers, entries: int) -> None:
        self.batch = batch
        self.entry_of_row = entry_of_row
        self.entries = entries
        self.factors = {factor.name: factor for factor in sums.factors}
        self.cache: dict[tuple[str, str], Any] = {}

    def integer(self, column: IntegerSum) -> Integers:
        """For each entry: the sum of a limb, or the number of rows, of special values, or of values with a bit set."""
        mask = self._mask(column.monomial)
        match column.part:
            case Special(kind=kind):
                return count(self.entry_of_row, self.entries, mask & self._special(column.monomial, kind))
            case Bit(number=number):
                return count(self.entry_of_row, self.entries, mask & self._bit(column.monomial, number))
            case Limb() if not column.is_valued:
                return count(self.entry_of_row, self.entries, mask)
            case Limb(number=number):
                ((name, _),) = [power for power in column.monomial.powers if power[1]]
                limb = self._limbs(self.factors[name])[number]
                return sum_ints(self.entry_of_row, self.entries, limb if mask.all() else np.where(mask, limb, 0))
            case _:
                assert_never(column.part)

    def real(self, monomial: Monomial) -> double_double.DoubleDoubles:
        """For each entry: the sum of a monomial as a double-double; products are computed as double-doubles too."""
        mask = self._mask(monomial)
        product = (mask.astype(np.float64), np.zeros(len(mask)))
        for name, power in monomial.powers:
            for _ in range(power):
                value = np.where(mask, self._number(self.factors[name]), 0.0)
                product = double_double.multiply(product, (value, np.zeros(len(mask))))
        high = sum_dds(self.entry_of_row, self.entries, product[0])
        return double_double.add(high, sum_dds(self.entry_of_row, self.entries, product[1]))

    def extreme(self, column: Extreme) -> pa.Array:
        """The smallest or largest value of each entry, NULL where it has none."""
        values = self.batch.column(column.column)
        if column.by is not None:
            values = ordered_pairs(self.batch.column(column.by), values)
        mask = self._mask(Monomial.presence(column.conditions))
        return extreme_of(values, mask, column.largest, self.entry_of_row, self.entries)

    def _mask(self, monomial: Monomial) -> Flags:
        """The rows in which no number of the monomial is NULL and all its conditions are true."""
        mask = np.ones(self.batch.num_rows, np.bool_)
        for name, _ in monomial.powers:
            column = self.batch.column(name)
            if self.factors[name].kind == "condition":
                mask = mask & flags_of(column)
            else:
                valid = present(column)
                mask = mask if valid is None else mask & valid
        return mask

    def _numbers(self, monomial: Monomial) -> list[Factor]:
        return [factor for name, _ in monomial.powers if (factor := self.factors[name]).kind != "condition"]

    def _bit(self, monomial: Monomial, number: int) -> Flags:
        """The rows in which a bit of the monomial's integer is set."""
        (factor,) = self._numbers(monomial)
        value = self._cached("integers", factor, lambda: integers(self.batch.column(factor.name)))
        return (value >> number) & 1 == 1  # type: ignore[no-any-return]

    def _special(self, monomial: Monomial, kind: SpecialKind) -> Flags:
        """The rows in which some number of the monomial is of this kind."""
        flags = np.zeros(self.batch.num_rows, np.bool_)
        for factor in self._numbers(monomial):
            value = self._raw(factor)
            match kind:
                case "nan":
                    flags |= np.isnan(value)
                case "inf" | "-inf":
                    flags |= value == float(kind)
                case "positive":
                    flags |= (value > 0) & np.isfinite(value)
                case "negative":
                    flags |= (value < 0) & np.isfinite(value)
                case "zero":
                    flags |= value == 0
                case _:
                    assert_never(kind)
        return flags

    def _raw(self, factor: Factor) -> NDArray[np.float64]:
        return self._cached("raw", factor, lambda: _as_floats(self.batch.column(factor.name)))  # type: ignore[no-any-return]

    def _number(self, factor: Factor) -> NDArray[np.float64]:
        raw = self._raw(factor)
        return self._cached("number", factor, lambda: np.where(np.isfinite(raw), raw, 0.0))  # type: ignore[no-any-return]

    def _limbs(self, factor: Factor) -> list[Integers]:
        return self._cached("limbs", factor, lambda: limbs_of(self.batch.column(factor.name), factor.limbs))  # type: ignore[no-any-return]

    def _cached(self, what: str, factor: Factor, make: Any) -> Any:
        key = (what, factor.name)
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]


def limbs_of(column: pa.Array, limbs: int) -> list[Integers]:
    """Exact numbers as 32-bit limbs balanced about zero, lowest first; the last limb has the rest. NULL counts as 0."""
    if pa.types.is_decimal(column.type):
        words = np.frombuffer(column.fill_null(0).buffers()[1], np.int64).reshape(-1, 2)
        words = words[column.offset : column.offset + len(column)]
        low, high = words[:, 0].copy(), words[:, 1].copy()
    else:
        whole = integers(column)
        assert whole is not None
        low, high = whole, whole >> 63
    parts = []
    for _ in range(limbs - 1):
        part = ((low + HALF_LIMB) & LIMB) - HALF_LIMB
        parts.append(part)
        borrowed = low.view(np.uint64) < part.view(np.uint64)
        high = high - (part >> 63) - borrowed
        low = (((low - part) >> LIMB_BITS) & LIMB) | (high << LIMB_BITS)
        high = high >> LIMB_BITS
    return [*parts, low]


def _as_floats(column: pa.Array) -> NDArray[np.float64]:
    return floats(column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column)
