"""Order-preserving int64 codes for the values of an extreme, also where values are as long as they like.

Numbers and times are their own codes. Other values get labels with gaps between them, and a new value the middle of
the gap that it falls into; values that keep falling into one gap use it up after some sixty.
"""

import bisect
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.values import from_order_codes, order_codes, present

STRIDE = 2**32
LIMIT = 2**62


class GapUsedUp(Exception):  # noqa: N818 - a signal to label all values anew, not an error
    """There is no label left between two neighbours."""


class OrderLabels:
    """The codes of one extreme; `complement` turns the order round, so that the smallest has the largest code."""

    def __init__(self, type_: pa.DataType, complement: bool) -> None:
        self.type = type_
        self.complement = complement
        self.sorted: list[Any] = []
        self.labels: list[int] = []

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
        by_label = dict(zip(self.labels, self.sorted, strict=True))
        return pa.array(
            [by_label[code] if there else None for code, there in zip(codes.tolist(), has, strict=True)], self.type
        )

    def _labelled(self, column: pa.Array) -> NDArray[np.int64]:
        encoded = column.dictionary_encode()
        labels = np.array([self._label(value) for value in encoded.dictionary.to_pylist()] or [0], np.int64)
        return np.asarray(labels[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)])

    def _label(self, value: Any) -> int:
        place = bisect.bisect_left(self.sorted, value)
        if place < len(self.sorted) and self.sorted[place] == value:
            return self.labels[place]
        low = self.labels[place - 1] if place else None
        high = self.labels[place] if place < len(self.labels) else None
        if low is None or high is None:
            label = 0 if low is high else (high or 0) - STRIDE if low is None else low + STRIDE
        else:
            label = (low + high) // 2
        if label in (low, high) or abs(label) > LIMIT:
            raise GapUsedUp
        self.sorted.insert(place, value)
        self.labels.insert(place, label)
        return label
