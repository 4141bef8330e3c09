"""Order-preserving int64 codes for the values of an extreme, also where values are as long as they like.

Numbers and times are their own codes. Other values get labels with gaps between them, and new values are spread over
the gap that they fall into. Values that keep falling into one gap use it up after some forty batches; then all values
have to be labelled anew, and with them whatever holds a label.
"""

import bisect
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.values import from_order_codes, order_codes, present

STRIDE = 2**40
LIMIT = 2**62


class GapUsedUp(Exception):  # noqa: N818 - a signal to label all values anew, not an error
    """There is no label left between two neighbours."""


class OrderLabels:
    """The codes of one extreme; `complement` turns the order round, so that the smallest has the largest code."""

    def __init__(self, type_: pa.DataType, complement: bool) -> None:
        self.type = type_
        self.complement = complement
        self.sorted: list[Any] = []
        self.label_of: dict[Any, int] = {}
        self.value_of: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.sorted)

    def codes(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The code of each value, and whether it is there."""
        there = present(column)
        has = np.ones(len(column), np.bool_) if there is None else there
        codes = order_codes(column)
        if codes is None:
            codes = self._labelled(column)
        return (~codes if self.complement else codes), has

    def values(self, codes: NDArray[np.int64], has: NDArray[np.bool_]) -> pa.Array:
        """The values of codes, NULL where there is none."""
        codes = ~codes if self.complement else codes
        if order_codes(pa.array([], self.type)) is not None:
            return from_order_codes(codes, self.type, has)
        values = zip(codes.tolist(), has.tolist(), strict=True)
        return pa.array([self.value_of[code] if there else None for code, there in values], self.type)

    def _labelled(self, column: pa.Array) -> NDArray[np.int64]:
        encoded = column.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        self._label(sorted(value for value in values if value not in self.label_of))
        labels = np.array([*(self.label_of[value] for value in values), 0], np.int64)
        return np.asarray(labels[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])

    def _label(self, new: list[Any]) -> None:
        """Gives labels to new values, which are in order: those that fall into one gap are spread over it."""
        labels: list[int] = []
        while len(labels) < len(new):
            first = len(labels)
            place = bisect.bisect_left(self.sorted, new[first])
            end = bisect.bisect_left(new, self.sorted[place], first) if place < len(self.sorted) else len(new)
            low = self.label_of[self.sorted[place - 1]] if place else None
            high = self.label_of[self.sorted[place]] if place < len(self.sorted) else None
            labels += _spread(low, high, end - first)
        self.label_of.update(zip(new, labels, strict=True))
        self.value_of.update(zip(labels, new, strict=True))
        if new:
            self.sorted = sorted(self.sorted + new)


def _spread(low: int | None, high: int | None, count: int) -> list[int]:
    """That many labels between two others, or beyond one where there is no other."""
    if low is None and high is None:
        low = -(count // 2) * min(STRIDE, LIMIT // count) - 1
        high = low + (count + 1) * min(STRIDE, LIMIT // count)
    elif low is None:
        assert high is not None
        low = high - (count + 1) * STRIDE
    elif high is None:
        high = low + (count + 1) * STRIDE
    if high - low <= count or low < -LIMIT or high > LIMIT:
        raise GapUsedUp
    return [low + (high - low) * (place + 1) // (count + 1) for place in range(count)]
