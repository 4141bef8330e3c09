"""int64 codes in the order of the values that they stand for, also for values of any length such as texts.

Numbers and times are their own codes. Other values get *order labels* with gaps between them. New values that fall into
one gap are spread evenly over it. A gap is used up after about forty batches that all fall into it; then all values
need new labels, and everything that holds a label is rebuilt. A value that is ordered by another one (MAX_BY) is a pair
of codes, and pairs get order labels too.
"""

import bisect
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.grouping import group_rows
from joinfold.operators.values import PAIR, from_order_codes, is_wanted, order_codes, present

STRIDE = 2**40
LIMIT = 2**62


class GapUsedUp(Exception):  # noqa: N818 - a signal to label all values anew, not an error
    """No label is left between two neighbours."""


Item = TypeVar("Item", bound=Any)


class Labels(Generic[Item]):
    """Order labels for items that can be compared."""

    def __init__(self) -> None:
        self.sorted: list[Item] = []
        self.label_of: dict[Item, int] = {}
        self.item_of: dict[int, Item] = {}

    def __len__(self) -> int:
        return len(self.sorted)

    def of(self, items: list[Item]) -> list[int]:
        """The labels of items. An item without a label gets one."""
        self._label(sorted(item for item in items if item not in self.label_of))
        return [self.label_of[item] for item in items]

    def _label(self, new: list[Item]) -> None:
        """Labels new items, which are sorted: those that fall into one gap are spread over it."""
        labels: list[int] = []
        while len(labels) < len(new):
            first = len(labels)
            at = bisect.bisect_left(self.sorted, new[first])
            end = bisect.bisect_left(new, self.sorted[at], first) if at < len(self.sorted) else len(new)
            low = self.label_of[self.sorted[at - 1]] if at else None
            high = self.label_of[self.sorted[at]] if at < len(self.sorted) else None
            labels += _spread(low, high, end - first)
        self.label_of.update(zip(new, labels, strict=True))
        self.item_of.update(zip(labels, new, strict=True))
        if new:
            self.sorted = sorted(self.sorted + new)


class OrderLabels:
    """The codes of one extreme. ``complement`` reverses the order: the smallest value gets the largest code."""

    def __init__(self, type_: pa.DataType, complement: bool) -> None:
        self.type = type_
        self.complement = complement
        self.labels: Labels[Any] = Labels()

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The code of each value, and whether it is not NULL."""
        there = present(column)
        has = np.ones(len(column), np.bool_) if there is None else there
        codes = order_codes(column)
        if codes is None:
            codes = self._labelled(column)
        return (~codes if self.complement else codes), has

    def values(self, codes: NDArray[np.int64], has: NDArray[np.bool_]) -> pa.Array:
        """The values of codes, NULL where ``has`` is false."""
        codes = ~codes if self.complement else codes
        if order_codes(pa.array([], self.type)) is not None:
            return from_order_codes(codes, self.type, has)
        values = zip(codes.tolist(), has.tolist(), strict=True)
        return pa.array([self.labels.item_of[code] if there else None for code, there in values], self.type)

    def labelled(self) -> pa.Array:
        """All values that have a label."""
        return pa.array(self.labels.sorted, self.type)

    def _labelled(self, column: pa.Array) -> NDArray[np.int64]:
        encoded = column.dictionary_encode()
        labels = np.array([*self.labels.of(encoded.dictionary.to_pylist()), 0], np.int64)
        return np.asarray(labels[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


class PairLabels:
    """The codes of values that are ordered by other values: order labels of (code of the other, NULL flag, code)."""

    def __init__(self, type_: pa.DataType, complement: bool) -> None:
        self.type = type_
        self.complement = complement
        self.by, self.value = (OrderLabels(type_.field(number).type, False) for number in range(len(PAIR)))
        self.labels: Labels[tuple[int, int, int]] = Labels()

    def __len__(self) -> int:
        return max(len(self.labels), len(self.by), len(self.value))

    def codes(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The code of each pair, and whether the pair is not NULL."""
        there = present(column)
        has = np.ones(len(column), np.bool_) if there is None else there
        by, value = column.field(0).filter(pa.array(has)), column.field(1).filter(pa.array(has))
        wanted = is_wanted(value, not self.complement).astype(np.int64)
        parts = np.stack([self.by.codes(by)[0], wanted, self.value.codes(value)[0]])
        number, first = group_rows(parts)
        labels = self.labels.of([(a, b, c) for a, b, c in parts[:, first].T.tolist()])
        codes = np.zeros(len(column), np.int64)
        codes[has] = np.array(labels, np.int64)[number]
        return (~codes if self.complement else codes), has

    def values(self, codes: NDArray[np.int64], has: NDArray[np.bool_]) -> pa.Array:
        """The pairs of codes, NULL where ``has`` is false."""
        codes = ~codes if self.complement else codes
        known = zip(codes.tolist(), has.tolist(), strict=True)
        return self._pairs([self.labels.item_of[code] if there else (0, 0, 0) for code, there in known], has)

    def labelled(self) -> pa.Array:
        """All pairs that have a label."""
        return self._pairs(self.labels.sorted, np.ones(len(self.labels), np.bool_))

    def _pairs(self, parts: list[tuple[int, int, int]], has: NDArray[np.bool_]) -> pa.Array:
        by, wanted, value = np.array(parts, np.int64).reshape(-1, 3).T
        has_value = has & ((wanted == 1) != self.complement)
        columns = [self.by.values(by, has), self.value.values(value, has_value)]
        return pa.StructArray.from_arrays(columns, fields=list(self.type), mask=pa.array(~has))


def _spread(low: int | None, high: int | None, count: int) -> list[int]:
    """``count`` labels between two others, or beyond one where there is no other."""
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
    return [low + (high - low) * (at + 1) // (count + 1) for at in range(count)]
