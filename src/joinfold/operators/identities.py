"""Dense int32 ids for rows of values, and the values of ids: keys and groups become int32, whatever their types.

Each column has its own ids, with 0 for NULL. Ids of columns are combined pair by pair into one id for the row. A table
never forgets a value, so a bucket rebuilds its tables when they have many more ids than it has live entries.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.identity import IdTable
from joinfold.operators.values import floats, integers, names, present

Ids = NDArray[np.int32]


class ColumnIds:
    """The ids of one column's values: found by their bits where a value has at most 64 bits, else in a dict."""

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.bits = IdTable()
        self.known: dict[object, int] = {}
        self.values: list[object] = []
        self._objects = pa.array([], type_)

    def __len__(self) -> int:
        return len(self.bits) + len(self.values)

    def intern(self, column: pa.Array) -> Ids:
        """The id of each value; new values get new ids. NULL has the id 0."""
        codes = floats(column).view(np.int64) if pa.types.is_floating(self.type) else integers(column)
        if codes is None:
            return self._intern_objects(column)
        there = present(column)
        if there is None:
            return self.bits.intern(codes) + np.int32(1)
        ids = np.zeros(len(column), np.int32)
        ids[there] = self.bits.intern(codes[there]) + 1
        return ids

    def take(self, ids: Ids) -> pa.Array:
        """The values of ids."""
        if self.values or not len(self.bits):
            if len(self._objects) <= len(self.values):
                self._objects = pa.array([None, *self.values], self.type)
            return self._objects.take(pa.array(ids))
        codes = self.bits.values
        if pa.types.is_floating(self.type):
            distinct = pa.array(codes.view(np.float64)).cast(self.type)
        elif pa.types.is_boolean(self.type):
            distinct = pa.array(codes == 1)
        else:
            narrow = pa.int32() if pa.types.is_date32(self.type) else pa.int64()
            distinct = pa.array(codes, pa.int64()).cast(narrow).cast(self.type)
        return distinct.take(pa.array(ids.astype(np.int64) - 1, mask=ids == 0))

    def _intern_objects(self, column: pa.Array) -> Ids:
        nested = pa.types.is_nested(self.type)
        encoded = None if nested else column.dictionary_encode()
        distinct = column.to_pylist() if encoded is None else encoded.dictionary.to_pylist()
        named = names(column).to_pylist() if nested else distinct
        ids = np.zeros(len(distinct) + 1, np.int32)
        for at, (value, name) in enumerate(zip(distinct, named, strict=True)):
            if value is None:
                continue
            if name not in self.known:
                self.values.append(value)
                self.known[name] = len(self.values)
            ids[at] = self.known[name]
        if encoded is None:
            return ids[:-1]
        return np.asarray(ids[encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)])


class RowIds:
    """The ids of rows of several columns. Without columns every row has the id 0."""

    def __init__(self) -> None:
        self.columns: list[ColumnIds] = []
        self.pairs: list[IdTable] = []

    def __len__(self) -> int:
        return max([*map(len, self.columns), *map(len, self.pairs)], default=0)

    @property
    def count(self) -> int:
        """How many ids there are. A single column has one for NULL, too; without columns it is 0."""
        if self.pairs:
            return len(self.pairs[-1])
        return len(self.columns[0]) + 1 if self.columns else 0

    def intern(self, columns: list[pa.Array], rows: int) -> Ids:
        """The id of each row; new rows get new ids."""
        if not self.columns:
            self.columns = [ColumnIds(column.type) for column in columns]
            self.pairs = [IdTable() for _ in columns[1:]]
        if not columns:
            return np.zeros(rows, np.int32)
        ids = self.columns[0].intern(columns[0])
        for table, ids_of, column in zip(self.pairs, self.columns[1:], columns[1:], strict=True):
            ids = table.intern_pairs(ids, ids_of.intern(column))
        return ids

    def take(self, ids: Ids) -> list[pa.Array]:
        """The columns of the rows that have these ids."""
        found: list[pa.Array] = []
        for table, column in zip(reversed(self.pairs), reversed(self.columns[1:]), strict=True):
            earlier, last = table.pairs()
            found.append(column.take(last[ids]))
            ids = earlier[ids]
        if self.columns:
            found.append(self.columns[0].take(ids))
        return found[::-1]
