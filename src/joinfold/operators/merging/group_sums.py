"""The sums from which aggregates are finished: over all combinations, or over a sample of them.

    GroupSums       what was summed, as it is
    ScaledSums      an estimate: what is certain, and what was sampled divided by the sampling rate
    WeightedSums    an estimate that was summed as such: every combination counts for several
    LeftOutSums     the same without one part of the sample; for every part

Exact numbers are put together from their limbs, as int64 where they fit and as Python integers where they do not. So is
a limb whose sum is beyond 64 bits (see `operators.wide_totals`). All other numbers are double-doubles.
"""

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.grouping import sum_dds, sum_ints
from joinfold.numbers import ExactNumbers, RoundedNumbers
from joinfold.numbers import double_double as dd
from joinfold.operators.values import extreme_of
from joinfold.operators.wide_totals import WHOLE as WRAPPED
from joinfold.operators.wide_totals import is_wide, whole_numbers
from joinfold.physical.column_names import error_column, extreme_column, integer_column, real_columns
from joinfold.physical.payload import ColumnRef, MomentSum
from joinfold.physical.shedding import WHOLE
from joinfold.physical.stage import Totals

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_SMALL = 2**46  # a sum below this, times a rate, fits int64 with room for another one


class Sums(Protocol):
    """What an aggregate is finished from, for some groups."""

    def __len__(self) -> int: ...

    @property
    def sample(self) -> "GroupSums":
        """The sums over the combinations that are there, whatever they count for."""

    def exact(self, moment: MomentSum) -> ExactNumbers:
        """An exact moment."""

    def rounded(self, moment: MomentSum, is_exact: bool = False) -> RoundedNumbers:
        """A moment in double-doubles; ``is_exact``: of an exact aggregate."""


@dataclass(slots=True)
class GroupSums:
    """The sums over all live combinations of some groups, one row per group.

    ``large`` has the columns of integers that do not all fit int64, as Python integers.
    """

    integers: Integers
    high: Doubles
    low: Doubles
    error: Doubles
    extremes: list[pa.Array] = field(default_factory=list)
    large: dict[ColumnRef, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, totals: Totals, emitted: pa.RecordBatch, group_of_row: Integers, groups: int) -> "GroupSums":
        """The sums of totals that were emitted, by the number of the group of each row; 0 and NULL without rows."""
        sums = cls.without_extremes(totals, emitted, group_of_row, groups)
        everywhere = np.ones(emitted.num_rows, np.bool_)
        sums.extremes = [
            extreme_of(emitted.column(extreme_column(number)), everywhere, extreme.largest, group_of_row, groups)
            for number, extreme in enumerate(totals.extremes)
        ]
        return sums

    @classmethod
    def without_extremes(
        cls, totals: Totals, emitted: pa.RecordBatch, group_of_row: Integers, groups: int
    ) -> "GroupSums":
        """The same without extremes."""
        parts, wide = _Parts(emitted, group_of_row, groups), is_wide(totals, emitted)
        integers = [parts.integers(number) for number in range(totals.integers)]
        reals = [parts.reals(number) for number in range(totals.reals)]
        large: dict[ColumnRef, NDArray[Any]] = {}
        for number in range(totals.integers):
            if wide:
                large[ColumnRef(True, number)] = whole_numbers(integers[number], *parts.reals(totals.reals + number))
            elif parts.may_wrap(number):
                large[ColumnRef(True, number)] = whole_numbers(integers[number], *parts.sizes(number))
        for place, number in enumerate(totals.whole_reals if wide else ()):
            residues = parts.integers(totals.integers + place)
            large[ColumnRef(False, number)] = whole_numbers(residues, *reals[number])
        errors = [
            np.bincount(group_of_row, emitted.column(error_column(number)).to_numpy(), groups)
            for number in range(totals.reals)
        ]
        nothing = np.zeros((groups, 0))
        return cls(
            np.stack(integers, axis=1),
            np.stack([high for high, _ in reals], axis=1) if reals else nothing,
            np.stack([low for _, low in reals], axis=1) if reals else nothing,
            np.stack(errors, axis=1) if reals else nothing,
            large={ref: values for ref, values in large.items() if not ref.is_integer or values.dtype == object},
        )

    def __len__(self) -> int:
        return len(self.integers)

    @property
    def sample(self) -> "GroupSums":
        """The sums themselves."""
        return self

    def every(self, start: int, step: int) -> "GroupSums":
        """The sums of every ``step``-th group, without extremes."""
        return self._rows(slice(start, None, step))

    def take(self, groups: Integers) -> "GroupSums":
        """The sums of some groups, without extremes."""
        return self._rows(groups)

    def _rows(self, rows: Integers | slice) -> "GroupSums":
        large = {ref: values[rows] for ref, values in self.large.items()}
        return GroupSums(self.integers[rows], self.high[rows], self.low[rows], self.error[rows], large=large)

    def exact(self, moment: MomentSum) -> ExactNumbers:
        """The exact sums: int64 if only the lowest limb is used, else Python integers."""
        parts = [(self._exact_column(ref), shift) for ref, shift in moment.limbs]
        used = [(part, shift) for part, shift in parts if part.dtype == object or shift == 0 or part.any()]
        if len(used) == 1 and used[0][0].dtype != object:
            return ExactNumbers(used[0][0], 10**moment.scale)
        whole = sum((part.astype(object) << shift for part, shift in used), np.zeros(len(self), object))
        return ExactNumbers(whole, 10**moment.scale)

    def rounded(self, moment: MomentSum, is_exact: bool = False) -> RoundedNumbers:
        """The sums in double-doubles."""
        if not is_exact:
            ((ref, _),) = moment.limbs
            return self._rounded_column(ref)
        whole = RoundedNumbers.exactly(np.zeros(len(self)), np.zeros(len(self)))
        for ref, shift in moment.limbs:
            whole += self._rounded_column(ref).scaled(shift)
        return whole / _constant(10**moment.scale, len(self)) if moment.scale else whole

    def _exact_column(self, ref: ColumnRef) -> NDArray[Any]:
        if ref in self.large:
            return self.large[ref]
        if ref.is_integer:
            return self.integers[:, ref.index]
        pairs = zip(self.high[:, ref.index].tolist(), self.low[:, ref.index].tolist(), strict=True)
        return np.array([int(high) + int(low) for high, low in pairs], object)

    def _rounded_column(self, ref: ColumnRef) -> RoundedNumbers:
        if ref.is_integer and ref in self.large:
            high = self.large[ref].astype(np.float64)
            rest = [value - int(near) for value, near in zip(self.large[ref].tolist(), high.tolist(), strict=True)]
            return RoundedNumbers.exactly(high, np.array(rest, np.float64))
        if ref.is_integer:
            return RoundedNumbers.of_integers(self.integers[:, ref.index])
        high, low, error = (part[:, ref.index].copy() for part in (self.high, self.low, self.error))
        return RoundedNumbers(high, low, error)


@dataclass(frozen=True, slots=True)
class ScaledSums:
    """Estimates of the sums over all combinations, from a sample with a rate out of `WHOLE` for each group."""

    sample: GroupSums
    certain: GroupSums
    sampled: GroupSums
    rates: Integers

    def __len__(self) -> int:
        return len(self.sample)

    def exact(self, moment: MomentSum) -> ExactNumbers:
        """The exact estimates."""
        certain, sampled = self.certain.exact(moment), self.sampled.exact(moment)
        parts, rates = [certain.numerator, sampled.numerator], self.rates
        if not all(part.dtype == np.int64 and _is_small(part) for part in parts):
            parts, rates = [part.astype(object) for part in parts], rates.astype(object)
        assert isinstance(certain.denominator, int)
        denominator = rates if certain.denominator == 1 else rates.astype(object) * certain.denominator
        return ExactNumbers(parts[0] * rates + parts[1] * WHOLE, denominator)

    def rounded(self, moment: MomentSum, is_exact: bool = False) -> RoundedNumbers:
        """The estimates in double-doubles."""
        certain, sampled = self.certain.rounded(moment, is_exact), self.sampled.rounded(moment, is_exact)
        return certain + sampled * WHOLE / RoundedNumbers.of_integers(self.rates)


@dataclass(frozen=True, slots=True)
class WeightedSums:
    """Sums in which every combination of a group counts for ``weights``."""

    total: GroupSums
    weights: Integers

    def __len__(self) -> int:
        return len(self.total)

    @property
    def sample(self) -> GroupSums:
        """What was counted, and the extremes; real sums are not needed."""
        total, integers = self.total, self.total.integers // self.weights[:, np.newaxis]
        large = {ref: values // self.weights for ref, values in total.large.items() if ref.is_integer}
        return GroupSums(integers, total.high, total.low, total.error, total.extremes, large)

    def exact(self, moment: MomentSum) -> ExactNumbers:
        """The exact estimates."""
        return self.total.exact(moment)

    def rounded(self, moment: MomentSum, is_exact: bool = False) -> RoundedNumbers:
        """The estimates in double-doubles."""
        return self.total.rounded(moment, is_exact)


@dataclass(frozen=True, slots=True)
class LeftOutSums:
    """Estimates in which one cell of the sample is left out, for each cell but the last of each group.

    ``cells`` has the sums of all cells, group by group; ``scale`` is what each of them counts for, float64[groups,
    cells]. The rest of the sample counts ``more``, for the cell that is left out. The last cell of a group is certain:
    it is never left out.
    """

    cells: GroupSums
    scale: Doubles
    more: float

    def __len__(self) -> int:
        groups, cells = self._shape
        return groups * (cells - 1)

    @property
    def _shape(self) -> tuple[int, int]:
        groups, cells = self.scale.shape
        return groups, cells

    @property
    def sample(self) -> GroupSums:
        """What is left of the sample, as far as it is counted."""
        table = self.cells.integers.reshape(*self._shape, -1)
        left = (table.sum(axis=1, keepdims=True) - table)[:, :-1]
        nothing = np.zeros((len(self), 0))
        return GroupSums(left.reshape(len(self), -1), nothing, nothing, nothing)

    def take(self, groups: Integers) -> "LeftOutSums":
        """The same for some of the groups."""
        number = self._shape[1]
        rows = (groups[:, np.newaxis] * number + np.arange(number)).ravel()
        return LeftOutSums(self.cells.take(rows), self.scale[groups], self.more)

    def table(self, moment: MomentSum, is_exact: bool) -> RoundedNumbers:
        """The moment in each cell, for what it counts."""
        scale = RoundedNumbers.exactly(self.scale.ravel(), np.zeros(self.scale.size))
        return self.cells.rounded(moment, is_exact) * scale

    def exact(self, moment: MomentSum) -> ExactNumbers:
        """Nothing is computed exactly here."""
        raise AssertionError("parts of a sample are estimated in double-doubles")

    def rounded(self, moment: MomentSum, is_exact: bool = False) -> RoundedNumbers:
        """The estimates without each cell."""
        table, (groups, number) = self.table(moment, is_exact), self._shape
        cells = [table.rearranged(itemgetter(slice(cell, None, number))) for cell in range(number)]
        sampled = sum(cells[1:-1], cells[0])
        total, certain = (own.rearranged(lambda part: np.repeat(part, number - 1)) for own in (sampled, cells[-1]))
        left = total - table.rearranged(lambda part: part.reshape(groups, number)[:, :-1].ravel())
        return certain + left * RoundedNumbers.exactly(np.full(len(self), self.more), np.zeros(len(self)))


def _constant(value: int, length: int) -> RoundedNumbers:
    high = float(value)
    return RoundedNumbers.exactly(np.full(length, high), np.full(length, float(value - int(high))))


def _is_small(values: Integers) -> bool:
    return not len(values) or max(-int(values.min()), int(values.max())) < _SMALL


class _Parts:
    """The rows of totals that make up each group."""

    def __init__(self, emitted: pa.RecordBatch, group_of_row: Integers, groups: int) -> None:
        self.emitted, self.group_of_row, self.groups = emitted, group_of_row, groups
        self.is_added = bool(np.bincount(group_of_row, minlength=1).max() > 1)

    def integers(self, number: int) -> Integers:
        """The sums of an integer product, modulo 2^64."""
        return sum_ints(self.group_of_row, self.groups, self._column(integer_column(number)))

    def reals(self, number: int) -> dd.DoubleDoubles:
        """The sums of a real product."""
        high, low = real_columns(number)
        return self._sum(self._column(high), self._column(low))

    def may_wrap(self, number: int) -> bool:
        """Whether a sum of an integer product may have wrapped around, of rows in which none has."""
        if not self.is_added:
            return False
        sizes = np.bincount(self.group_of_row, self._column(integer_column(number)), self.groups)
        return bool(np.abs(sizes).max() >= WRAPPED / 2)

    def sizes(self, number: int) -> dd.DoubleDoubles:
        """The sums of an integer product as double-doubles."""
        return self._sum(*dd.from_int64(self._column(integer_column(number))))

    def _sum(self, high: Doubles, low: Doubles) -> dd.DoubleDoubles:
        return dd.add(*(sum_dds(self.group_of_row, self.groups, part) for part in (high, low)))

    def _column(self, name: str) -> NDArray[Any]:
        return self.emitted.column(name).to_numpy()  # type: ignore[no-any-return]
