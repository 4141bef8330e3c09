"""Rows of streams and relations as Arrow has them, and their columns in the types that they were registered with.

A stream without a time column takes the time at which its rows arrive: one for all rows of a micro-batch, or, where
everything is there from the beginning, the number of the row.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.types import TIMESTAMP

Rows: TypeAlias = pa.Table | pa.RecordBatch
Arrival: TypeAlias = int | Mapping[str, range]  # of all rows that come together, or of each row of a stream


def column_of(source: Source, rows: Rows, name: str) -> pa.Array:
    """A column of a source's rows, in one piece and in the type that the source has it in."""
    whose = f"{kind_of(source)} '{source.name}'"
    if name not in rows.schema.names:
        has = ", ".join(rows.schema.names)
        raise UsageError(f"rows of {whose} come without its column '{name}'", f"they have: {has}.")
    column, type_ = rows.column(name), source.schema.type_of(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if type_.is_nested or column.type == arrow_type(type_):
        return column
    try:
        return column.cast(arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = f"column '{name}' of {whose} comes as {column.type}, which is not always {type_}"
        raise UsageError(what, "cast it first.") from error


def times_of(source: Source, rows: Rows, arrival: Arrival) -> pa.Array:
    """The event times of a stream's rows; without a time column, those of their arrival."""
    if source.time is not None:
        return column_of(source, rows, source.time)
    if isinstance(arrival, int):
        times = np.full(rows.num_rows, arrival, np.int64)
    else:
        own = arrival[source.name]
        times = np.arange(own.start, own.stop, dtype=np.int64)
    return pa.array(times).cast(arrow_type(TIMESTAMP))


def kind_of(source: Source) -> str:
    """What a source is called in a message."""
    return "stream" if source.is_stream else "relation"
