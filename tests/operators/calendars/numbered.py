"""Row boundaries by the definition: rows are put in order and counted, one by one."""

from collections.abc import Sequence

import pyarrow as pa

from joinfold.physical.column_names import CELL, COPIES, EQUAL, MOVED, NUMBER
from joinfold.window import RangeByRows, Rows

VALUE = "v"
Row = tuple[int, int]  # time and value


def rows_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as they wait for their block."""
    return pa.RecordBatch.from_pydict({name: pa.array(list(own), pa.int64()) for name, own in columns(rows).items()})


def columns(rows: Sequence[Row]) -> dict[str, list[int]]:
    return {CELL: [ts for ts, _ in rows], VALUE: [value for _, value in rows]}


def boundaries_of(rows: Sequence[Row], window: Rows | RangeByRows) -> list[dict[str, int]]:
    """A boundary behind every last row of a block; of rows of one time that it divides, which and how many."""
    ordered, found, moved = sorted(rows), list[dict[str, int]](), 0
    for number in range(window.block, len(ordered) + 1, window.block):
        ts, value = row = ordered[number - 1]
        divides = ordered[number : number + 1] != [] and ordered[number][0] == ts
        copies, equal = (own.count(row) if divides else 0 for own in (ordered[:number], ordered))
        moved += not found or found[-1][CELL] != ts
        found.append({CELL: ts, VALUE: value, NUMBER: number, COPIES: copies, EQUAL: equal, MOVED: moved})
    return found


def boundaries_batch(boundaries: Sequence[dict[str, int]]) -> pa.RecordBatch:
    """The boundaries as they travel."""
    names = (CELL, VALUE, NUMBER, COPIES, EQUAL, MOVED)
    return pa.RecordBatch.from_pydict({name: pa.array([own[name] for own in boundaries], pa.int64()) for name in names})
