"""Estimates in MERGE: the totals of a sample become aggregates of everything, and bounds of what SELECT makes of them.

    totals by group and replicate ──▶ sums of the sample ──▶ scaled ──▶ aggregates          (HAVING, SELECT)
                                  └─▶ cells of a group   ──▶ bounds of outputs              (`shedding.intervals`)

A group has a *cell* for each replicate, and one for what is not sampled; if rows of several inputs are sampled, a table
of cells. The bounds of COUNT and SUM come from the cells themselves. Every other number is computed again from the
aggregates without each cell, for all groups and cells in one batch.

Where nothing was shed there are no bounds here: SELECT gives the value itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate
from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Column, Expression, walk
from joinfold.operators.merging.finish import finish_rounded, nearest, outward
from joinfold.operators.merging.group_sums import GroupSums, LeftOutSums, ScaledSums, Sums, WeightedSums
from joinfold.physical.column_names import ANSWER, aggregate_column, bound_columns, group_column, kept_column
from joinfold.physical.payload import AggregateSpec
from joinfold.physical.shedding import WHOLE, EstimatedOutput, Estimates
from joinfold.physical.stage import Merge
from joinfold.shedding.intervals import (
    ENOUGH_KEYS,
    ENOUGH_ROWS,
    ENOUGH_TO_COUNT,
    Bounds,
    bounds_about,
    count_bounds,
    effective_number,
    total_bounds,
)

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

AT_ONCE = 2**20
"""How many cells are computed together: a batch of answers may have many groups."""


@dataclass(frozen=True, slots=True)
class SampledTotals:
    """Totals of a sample: the number of the group of each row, and the sampling rate of each group out of `WHOLE`.

    ``expected`` is the effective number of keys that the sample of a group's instant should have. If the heaviest keys
    are missing, the sample itself looks as if it had more.
    """

    last: Merge
    emitted: pa.RecordBatch
    group_of_row: Integers
    rates: Integers
    expected: Integers

    @property
    def estimates(self) -> Estimates:
        """How estimates are made."""
        assert self.last.estimates is not None
        return self.last.estimates

    @property
    def _cell_of_row(self) -> Integers:
        """The number of each row's cell; the last one is not sampled on any axis."""
        cell = np.zeros(self.emitted.num_rows, np.int64)
        for name, cells in zip(self.estimates.replicates, self.estimates.cells, strict=True):
            replicate = self.emitted.column(name).to_numpy()
            cell = cell * cells + np.where(replicate < 0, cells - 1, replicate)
        return cell

    @property
    def shares(self) -> Doubles:
        """The probability with which a key, or a row, of each group was kept. Of rows, that is one in m."""
        return self.rates / WHOLE if self.estimates.scales else 1 / np.round(WHOLE / self.rates)

    @property
    def kept(self) -> Doubles:
        """The probability with which a combination of each group was kept."""
        return self.shares ** float(len(self.estimates.replicates))

    def sums(self) -> Sums:
        """The sums from which aggregates are finished. If nothing is scaled, they are those of any totals."""
        groups, totals, estimates = len(self.rates), self.last.totals, self.estimates
        sample = GroupSums.of(totals, self.emitted, self.group_of_row, groups)
        if estimates.complete or (self.rates == WHOLE).all():
            return sample
        if not estimates.scales:
            return WeightedSums(sample, np.round(WHOLE / self.rates).astype(np.int64) ** len(estimates.replicates))
        half = 2 * self.group_of_row + (self._cell_of_row < prod(estimates.cells) - 1)
        halves = GroupSums.without_extremes(totals, self.emitted, half, 2 * groups)
        return ScaledSums(sample, halves.every(0, 2), halves.every(1, 2), self.rates)

    def left_out(self) -> Iterator[tuple[Integers, LeftOutSums]]:
        """Groups of which something was shed, some at a time, with the sums without each cell."""
        number = prod(self.estimates.cells)
        cell_of_row, shed = self._cell_of_row, np.flatnonzero(self.rates < WHOLE)
        for start in range(0, len(shed), max(1, AT_ONCE // number)):
            chosen = shed[start : start + max(1, AT_ONCE // number)]
            place = np.full(len(self.rates), -1)
            place[chosen] = np.arange(len(chosen))
            rows = np.flatnonzero(place[self.group_of_row] >= 0)
            cell = place[self.group_of_row[rows]] * number + cell_of_row[rows]
            own = self.emitted.take(pa.array(rows))
            cells = GroupSums.without_extremes(self.last.totals, own, cell, len(chosen) * number)
            scale = np.ones((len(chosen), number))
            if self.estimates.scales:
                scale[:, :-1] = (WHOLE / self.rates[chosen])[:, np.newaxis]
            yield chosen, LeftOutSums(cells, scale, (number - 1) / (number - 2) if self.estimates.scales else 1.0)


def bounds_and_kept(
    totals: SampledTotals, sums: Sums, answers: Mapping[str, pa.Array], zone: str
) -> dict[str, pa.Array]:
    """The columns of bounds of the outputs, NULL where nothing was shed, and the share that was kept."""
    found = {output.number: _no_bounds(len(totals.rates)) for output in totals.estimates.bounded}
    computed = [output for output in totals.estimates.bounded if output.rule in ("count", "total", "ratio")]
    for chosen, left_out in totals.left_out() if computed else ():
        groups = ShedGroups(totals, sums.sample, chosen, left_out, answers, zone)
        for output in computed:
            own = groups.bounds(output)
            found[output.number].low[chosen], found[output.number].high[chosen] = own.low, own.high
    columns: dict[str, pa.Array] = {}
    for output in totals.estimates.bounded:
        arrays = _arrays(output, found[output.number], answers)
        columns |= dict(zip(bound_columns(output.number), arrays, strict=True))
    columns[kept_column()] = pa.array(totals.kept)
    return columns


def _arrays(output: EstimatedOutput, bounds: Bounds, answers: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Bounds in the type of their output. A maximum bounds itself from below, a minimum from above."""
    nothing = pa.nulls(len(bounds.low), arrow_type(output.type))
    match output.rule:
        case "lower bound":
            return _value(output, answers), nothing
        case "upper bound":
            return nothing, _value(output, answers)
        case "unknown":
            return nothing, nothing
        case "count" | "total" | "ratio":
            return outward(bounds.low, output.type, is_upper=False), outward(bounds.high, output.type, is_upper=True)
        case _:
            assert_never(output.rule)


def _value(output: EstimatedOutput, answers: Mapping[str, pa.Array]) -> pa.Array:
    assert output.aggregate is not None
    return answers[aggregate_column(output.aggregate)]


def _no_bounds(groups: int) -> Bounds:
    return Bounds(np.full(groups, np.nan), np.full(groups, np.nan))


@dataclass(frozen=True, slots=True)
class ShedGroups:
    """Groups of which something was shed: their numbers ``chosen``, and their sums without each cell.

    ``sample`` and ``answers`` have the sums and the answers of all groups.
    """

    totals: SampledTotals
    sample: GroupSums
    chosen: Integers
    left_out: LeftOutSums
    answers: Mapping[str, pa.Array]
    zone: str

    def bounds(self, output: EstimatedOutput) -> Bounds:
        """The bounds of an output; NaN where there are none."""
        estimates, rates = self.totals.estimates, self.totals.shares[self.chosen]
        if output.rule == "ratio":
            return self._ratio_bounds(output, rates)
        assert output.aggregate is not None
        aggregate = self.totals.last.aggregates[output.aggregate]
        counts = self._cells(aggregate, 0)
        number = self._number(counts)
        if output.rule == "count":
            seen = self.sample.exact(aggregate.moments[0]).doubles()[self.chosen]
            return count_bounds(counts, rates, seen, number, estimates.confidence, ENOUGH_TO_COUNT)
        found = total_bounds(self._cells(aggregate, 1), rates, number, estimates.confidence, self._enough)
        special = np.any([self.sample.integers[self.chosen, ref.index] > 0 for _, ref in aggregate.specials], axis=0)
        return Bounds(np.where(special, np.nan, found.low), np.where(special, np.nan, found.high))

    def _ratio_bounds(self, output: EstimatedOutput, rates: Doubles) -> Bounds:
        """The bounds of a number that is computed from several sums, where each of its aggregates has enough units."""
        used = self._aggregates_in(output.expression)
        number = np.min([self._number(self._cells(aggregate, 0)) for aggregate in used.values()], axis=0)
        given, found = np.flatnonzero(number >= self._enough), _no_bounds(len(self.chosen))
        if not len(given):
            return found
        left_out, groups = self.left_out.take(given), self.chosen[given]
        estimate = {name: self.answers[name].take(pa.array(groups)) for name in used}
        without = {name: _left(aggregate, left_out) for name, aggregate in used.items()}
        each = len(left_out) // len(given)
        value = self._numbers(output.expression, groups, estimate, 1)[:, 0]
        others = self._numbers(output.expression, groups, without, each)
        cells = np.append(-others / left_out.more, np.zeros((len(given), 1)), axis=1)  # the last one is never left out
        cells = cells.reshape(len(given), *self.totals.estimates.cells)
        confidence = self.totals.estimates.confidence
        own = bounds_about(value, cells, rates[given], number[given], confidence, self._enough)
        found.low[given], found.high[given] = own.low, own.high
        return found

    def _number(self, counts: Doubles) -> Doubles:
        """The effective number of sampled units, by the sample and by all rows."""
        return np.minimum(effective_number(counts), self.totals.expected[self.chosen])

    @property
    def _enough(self) -> float:
        return ENOUGH_KEYS if self.totals.estimates.scales else ENOUGH_ROWS

    def _cells(self, aggregate: AggregateSpec, moment: int) -> Doubles:
        """What each cell adds to a moment, float64[groups, cells of each axis]."""
        found = self.left_out.table(aggregate.moments[moment], aggregate.is_exact).doubles()
        return found.reshape(len(self.chosen), *self.totals.estimates.cells)

    def _aggregates_in(self, expression: Expression) -> dict[str, AggregateSpec]:
        """The aggregates that an expression reads, by the names of their columns."""
        read = {node.name for node in walk(expression) if isinstance(node, Column)}
        named = {aggregate_column(number): own for number, own in enumerate(self.totals.last.aggregates)}
        return {name: aggregate for name, aggregate in named.items() if name in read}

    def _numbers(
        self, expression: Expression, groups: Integers, aggregates: Mapping[str, pa.Array], each: int
    ) -> Doubles:
        """The values of an expression, float64[groups, each], from as many values of the aggregates."""
        names = [group_column(number) for number in range(len(self.totals.last.groups))]
        repeated = pa.array(np.repeat(groups, each))
        columns = {(ANSWER, name): self.answers[name].take(repeated) for name in names}
        columns |= {(ANSWER, name): column for name, column in aggregates.items()}
        return _evaluated(expression, columns, len(groups), each, self.zone)


def _left(aggregate: AggregateSpec, left_out: LeftOutSums) -> pa.Array:
    """An aggregate without each cell, in its type."""
    found = finish_rounded(aggregate, left_out)
    return nearest(np.where(found.missing, np.nan, found.doubles), aggregate.type)


def _evaluated(expression: Expression, columns: Mapping[Key, pa.Array], groups: int, each: int, zone: str) -> Doubles:
    """The values of a numeric expression, float64[groups, each]; NaN for NULL, and for a group that cannot be computed.

    It may be that HAVING removes this group, or that it could be computed from all cells. So it has no bounds, and
    SELECT decides whether it is an error.
    """
    try:
        values = evaluate(expression, columns, groups * each, zone)
    except EvaluationError:
        if groups == 1:
            return np.full((1, each), np.nan)
        parts = ((0, groups // 2), (groups // 2, groups - groups // 2))
        return np.concatenate(
            [
                _evaluated(expression, _sliced(columns, start * each, length * each), length, each, zone)
                for start, length in parts
            ]
        )
    doubles = values.cast(pa.float64(), safe=False).fill_null(np.nan)
    return np.asarray(doubles.to_numpy(zero_copy_only=False), np.float64).reshape(groups, each)


def _sliced(columns: Mapping[Key, pa.Array], start: int, length: int) -> dict[Key, pa.Array]:
    return {name: column.slice(start, length) for name, column in columns.items()}
