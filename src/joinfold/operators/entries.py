"""Entries and payloads as FOLD holds them: keys, groups and carried values as ids, extremes as codes.

A payload is what is summed of some rows, as arrays with one row for each of them: the sums and extremes, without keys
and groups. Entries, the sides of combinations, pair values and the members of windows all have one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joinfold.physical.stage import Body

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]
Rows = Integers | Flags | slice


class Payload(NamedTuple):
    """The sums and extremes of entries or combinations: arrays with a row for each of them.

    ``ints`` int64[n, integers] has, after the integers of the plan, one more for each real; it counts the rows in which
    the real is not zero. ``reals`` float64[n, 2·reals] are double-doubles (high, low, high, low, …). ``drift``
    float64[n, 2·reals] has the weight and the turnover of each real, from which its rounding error is bounded. It is
    None for single entries: there both are the absolute value. ``codes`` int64[n, extremes] have the order of the
    values that they stand for; ``has`` is false where there is no value.
    """

    ints: Integers
    reals: Doubles
    drift: Doubles | None
    codes: Integers
    has: Flags

    @staticmethod
    def zeros(rows: int, integers: int, reals: int, extremes: int, with_drift: bool = False) -> "Payload":
        """Payloads of zeros, as no rows have."""
        return Payload(
            np.zeros((rows, integers), np.int64),
            np.zeros((rows, 2 * reals)),
            np.zeros((rows, 2 * reals)) if with_drift else None,
            np.zeros((rows, extremes), np.int64),
            np.zeros((rows, extremes), np.bool_),
        )

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return sum(column.nbytes for column in self if column is not None)

    def take(self, rows: Rows) -> "Payload":
        """The payloads of some rows."""
        if isinstance(rows, slice):
            drift = None if self.drift is None else self.drift[rows]
            return Payload(self.ints[rows], self.reals[rows], drift, self.codes[rows], self.has[rows])
        return Payload(
            rows_of(self.ints, rows),
            rows_of(self.reals, rows),
            None if self.drift is None else rows_of(self.drift, rows),
            rows_of(self.codes, rows),
            rows_of(self.has, rows),
        )

    def sizes(self) -> Doubles:
        """Weight and turnover of each real. Without ``drift`` both are the absolute value."""
        return np.repeat(np.abs(self.reals[:, 0::2]), 2, axis=1) if self.drift is None else self.drift


def joined_payloads(many: Sequence[Payload]) -> Payload:
    """The payloads of all parts, one part after another. Either all of them have ``drift`` or none."""
    columns = zip(*many, strict=True)
    return Payload(*(None if parts[0] is None else np.concatenate(parts) for parts in columns))  # type: ignore[arg-type]


def rows_of(array: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Some rows of an array [n, columns].

    NumPy's ``take`` and ``compress`` copy rows ten times as fast as indexing does, except where there are no columns.
    """
    if isinstance(rows, slice):
        return array[rows]
    if not array.shape[1]:
        return np.empty((int(rows.sum()) if rows.dtype == np.bool_ else len(rows), 0), array.dtype)
    return array.compress(rows, axis=0) if rows.dtype == np.bool_ else array.take(rows, axis=0)


@dataclass(slots=True)
class Entries:
    """Entries of an input.

    ``key`` is one id for all keys together, ``parts`` int32[n, keys] has an id for each key within its key class. A
    vocabulary fills one of the two: with ``by_class`` it fills ``parts``, and ``key`` is 0. ``carried`` is one id for
    the carried values. ``draws`` decide what SHED keeps; None if the input is kept whole.
    """

    cells: Integers
    key: Ids
    parts: Ids
    group: Ids
    carried: Ids
    payload: Payload
    draws: Integers | None = None

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: Rows) -> "Entries":
        """Some of the entries."""
        return Entries(
            self.cells[rows],
            self.key[rows],
            rows_of(self.parts, rows),
            self.group[rows],
            self.carried[rows],
            self.payload.take(rows),
            None if self.draws is None else self.draws[rows],
        )


def joined(many: Sequence[Entries]) -> Entries:
    """Entries of one input, one part after another."""
    return Entries(
        np.concatenate([entries.cells for entries in many]),
        np.concatenate([entries.key for entries in many]),
        np.concatenate([entries.parts for entries in many]),
        np.concatenate([entries.group for entries in many]),
        np.concatenate([entries.carried for entries in many]),
        joined_payloads([entries.payload for entries in many]),
        None if many[0].draws is None else np.concatenate([entries.draws for entries in many]),
    )


def constant_entries(body: Body) -> Entries:
    """The constant row that a query over one stream is joined with."""
    spec = body.inputs[-1]
    assert not spec.reals and not spec.keys
    nothing: Ids = np.zeros(1, np.int32)
    payload = Payload.zeros(1, len(spec.integers), 0, len(body.extremes))
    payload.ints[:] = 1
    return Entries(np.zeros(1, np.int64), nothing, np.zeros((1, 0), np.int32), nothing, nothing, payload)
