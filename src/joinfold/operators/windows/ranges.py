"""A range join in codes: where in the order of values a carried row lies, and which rows of the other input match.

              low ──────── high          the bounds of an entry
    ─────────┴──────x──────┴────────     x: the value of an entry of the other input, which matches

Values and bounds share one order, so their codes can be compared, and a code range finds what matches: a range of
values for given bounds, or for a given value x the bounds around it. Of these only one end can be in order. The entries
are in the order of their low ends, and since no entry reaches further than the longest, those that can hold x begin
between x − longest and x; their high ends are compared afterwards.

Bands such as b ± 5 all have one width, in codes too where these are the numbers themselves: they are *level*, and in
the order of both ends at once. What begins between x − width and x is then what holds x, and nothing is compared.
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
    """The codes of a carried column by the id of the carried row, and whether it is not NULL."""

    def __init__(self) -> None:
        self.codes = np.zeros(0, np.int64)
        self.has = np.zeros(0, np.bool_)

    def extend(self, codes: Integers, has: Flags) -> None:
        """Codes for the next ids."""
        self.codes = np.concatenate([self.codes, codes])
        self.has = np.concatenate([self.has, has])


class RangeCodes:
    """One range join; ``longest`` is the longest distance between the two ends of an entry so far.

    ``width`` is the most common one among the first bands seen, and ``level`` says which carried rows have it.
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
        """The place with the value and the one with the bounds."""
        return self.join.value_input, self.join.bound_input

    def learn(self, ordinal: int, columns: dict[str, pa.Array]) -> None:
        """Takes in the carried columns of the next ids of a place."""
        names = self._names(self.ordinals.index(ordinal)) if ordinal in self.ordinals else []
        for name in names:
            column = columns[name]
            if self.labels is None:
                self.labels = OrderLabels(column.type, complement=False)
            self.columns[name].extend(*self.labels.codes(column))
        if ordinal == self.join.bound_input and self.join.low and self.join.high:
            self._measure(self.columns[self.join.low.column], self.columns[self.join.high.column])

    def _measure(self, low: CodedColumn, high: CodedColumn) -> None:
        """Takes in the widths of the bands that are new."""
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
        """The code by which members of a place are indexed, and which of them can match at all."""
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
        """For rows of the other place, the codes of members of ``ordinal`` that can match, and which rows can match."""
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
        """For rows of the value's place, from and to which code bands of at most this width begin that hold the value.

        All bands of just this width that begin there hold it.
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
        """Which combinations of carried rows, of the value's place and of the bounds', match."""
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
        """The columns of the value's place (0) or of the bounds' (1)."""
        if which == 0:
            return [self.join.value]
        return list(dict.fromkeys(bound.column for bound in (self.join.low, self.join.high) if bound is not None))

    def _edge(self, name: str | None, carried: Ids, otherwise: int) -> tuple[Integers, Flags]:
        if name is None:
            return np.full(len(carried), otherwise, np.int64), np.ones(len(carried), np.bool_)
        column = self.columns[name]
        return column.codes[carried], column.has[carried]


def _above(codes: Integers, can: Flags, exclusive: bool) -> tuple[Integers, Flags]:
    """The least codes that are at least, or above, these."""
    if not exclusive:
        return codes, can
    return codes + (codes < MOST), can & (codes < MOST)


def _below(codes: Integers, can: Flags, exclusive: bool) -> tuple[Integers, Flags]:
    """The largest codes that are at most, or below, these."""
    if not exclusive:
        return codes, can
    return codes - (codes > LEAST), can & (codes > LEAST)
