"""A range join in codes: the code of each carried row, and the range of codes that matches it in the other input.

             low           high
    ──────────├──────x──────┤──────────     an entry with bounds, and the value x of an entry that it matches

Values and bounds share one order, so their codes can be compared. Bounds match a range of values. A value x matches the
bounds around it, but an index can be sorted by one end only. It is sorted by the low ends. No entry is longer than the
longest one, so all that hold x begin between x − longest and x; their high ends are compared afterwards.

Bands such as b ± 5 all have one width, also in codes where these are the numbers themselves. Such bands are *level*:
they are sorted by both ends at once. All level bands that begin between x − width and x hold x, without a comparison.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.entries import Ids, Integers
from joinfold.operators.labels import OrderLabels
from joinfold.physical.combining import RangeJoin

Flags = NDArray[np.bool_]
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class CodedColumn:
    """The code of a carried column, and whether it is not NULL, by the id of the carried row."""

    def __init__(self) -> None:
        self.codes = np.zeros(0, np.int64)
        self.has = np.zeros(0, np.bool_)

    def extend(self, codes: Integers, has: Flags) -> None:
        """Adds the codes of the next ids."""
        self.codes = np.concatenate([self.codes, codes])
        self.has = np.concatenate([self.has, has])


class RangeCodes:
    """The codes of one range join; ``longest`` is the largest distance so far between the two ends of an entry.

    ``width`` is the most common distance among the first bands, and ``level`` tells which carried rows have it.
    """

    def __init__(self, join: RangeJoin) -> None:
        self.join = join
        self.labels: OrderLabels | None = None
        self.columns = {name: CodedColumn() for name in self._names(0) + self._names(1)}
        self.longest = 0
        self.width = 0
        self.level = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return 0 if self.labels is None else len(self.labels)

    @property
    def ordinals(self) -> tuple[int, int]:
        """The input with the value, and the input with the bounds."""
        return self.join.value_input, self.join.bound_input

    def learn(self, ordinal: int, columns: dict[str, pa.Array]) -> None:
        """Adds the carried columns of the next ids of an input."""
        names = self._names(self.ordinals.index(ordinal)) if ordinal in self.ordinals else []
        for name in names:
            column = columns[name]
            if self.labels is None:
                self.labels = OrderLabels(column.type, complement=False)
            self.columns[name].extend(*self.labels.codes(column))
        if ordinal == self.join.bound_input and self.join.low and self.join.high:
            self._measure(self.columns[self.join.low.column], self.columns[self.join.high.column])

    def _measure(self, low: CodedColumn, high: CodedColumn) -> None:
        """Measures the widths of new bands."""
        new = slice(len(self.level), None)
        inside = low.has[new] & high.has[new] & (low.codes[new] <= high.codes[new])
        widths = high.codes[new].astype(np.uint64) - low.codes[new].astype(np.uint64)
        if inside.any():
            self.longest = max(self.longest, int(widths[inside].max()))
            if not self.level.any():
                found, counts = np.unique(widths[inside], return_counts=True)
                self.width = int(found[counts.argmax()])
        level = inside & (widths == np.uint64(self.width))
        self.level = np.concatenate([self.level, level])

    def index_codes(self, ordinal: int, carried: Ids) -> tuple[Integers, Flags]:
        """The codes by which members of an input are indexed, and which members can match at all."""
        join = self.join
        if ordinal == join.value_input:
            column = self.columns[join.value]
            return column.codes[carried], column.has[carried]
        ends = [self.columns[bound.column] for bound in (join.low, join.high) if bound is not None]
        can = np.logical_and.reduce([end.has[carried] for end in ends])
        if len(ends) == 2:
            low, high = (end.codes[carried] for end in ends)
            assert join.low is not None and join.high is not None
            can = can & ((low < high) | ((low == high) & (join.low.inclusive or join.high.inclusive)))
        return ends[0].codes[carried], can

    def probe_codes(self, ordinal: int, carried: Ids) -> tuple[Integers, Integers, Flags]:
        """For carried rows of the other input, the codes to look for in input ``ordinal``, and which rows can match."""
        join = self.join
        if ordinal == join.value_input:
            low, can = self._edge(join.low.column if join.low else None, carried, LEAST)
            high, can_too = self._edge(join.high.column if join.high else None, carried, MOST)
            low, can = _above(low, can, bool(join.low and not join.low.inclusive))
            high, can_too = _below(high, can_too, bool(join.high and not join.high.inclusive))
            return low, high, can & can_too
        if join.low is not None and join.high is not None:
            return self.beginnings(carried, self.longest)
        value, can = self._edge(join.value, carried, 0)
        if join.low is None:
            assert join.high is not None
            low, can = _above(value, can, not join.high.inclusive)
            return low, np.full(len(low), MOST), can
        high, can = _below(value, can, not join.low.inclusive)
        return np.full(len(high), LEAST), high, can

    def beginnings(self, carried: Ids, width: int) -> tuple[Integers, Integers, Flags]:
        """For each value, the range of codes in which bands begin that hold it, if none is wider than ``width``.

        Every band of exactly this width that begins there holds the value.
        """
        join = self.join
        assert join.low is not None and join.high is not None
        value, can = self._edge(join.value, carried, 0)
        high, can = _below(value, can, not join.low.inclusive)
        if not join.high.inclusive:
            can, width = can & (width > 0), max(width - 1, 0)
        room = value.astype(np.uint64) - np.uint64(LEAST % 2**64)
        low = np.where(room < width, LEAST, (value.astype(np.uint64) - np.uint64(width)).astype(np.int64))
        return low, high, can

    def check(self, values: Ids, bounds: Ids) -> Flags:
        """Which pairs of a carried row with a value and one with bounds match."""
        value = self.columns[self.join.value]
        found, codes = value.has[values], value.codes[values]
        if self.join.low is not None:
            low = self.columns[self.join.low.column]
            low_codes = low.codes[bounds]
            found = found & low.has[bounds] & ((low_codes <= codes) if self.join.low.inclusive else (low_codes < codes))
        if self.join.high is not None:
            high = self.columns[self.join.high.column]
            high_codes = high.codes[bounds]
            found = (
                found & high.has[bounds] & ((codes <= high_codes) if self.join.high.inclusive else (codes < high_codes))
            )
        return found

    def _names(self, which: int) -> list[str]:
        """The columns of the input with the value (0), or of that with the bounds (1)."""
        if which == 0:
            return [self.join.value]
        return list(dict.fromkeys(bound.column for bound in (self.join.low, self.join.high) if bound is not None))

    def _edge(self, name: str | None, carried: Ids, otherwise: int) -> tuple[Integers, Flags]:
        if name is None:
            return np.full(len(carried), otherwise, np.int64), np.ones(len(carried), np.bool_)
        column = self.columns[name]
        return column.codes[carried], column.has[carried]


def _above(codes: Integers, can: Flags, exclusive: bool) -> tuple[Integers, Flags]:
    """The smallest codes that are ≥ these, or > if ``exclusive``."""
    if not exclusive:
        return codes, can
    return codes + (codes < MOST), can & (codes < MOST)


def _below(codes: Integers, can: Flags, exclusive: bool) -> tuple[Integers, Flags]:
    """The largest codes that are ≤ these, or < if ``exclusive``."""
    if not exclusive:
        return codes, can
    return codes - (codes > LEAST), can & (codes > LEAST)
