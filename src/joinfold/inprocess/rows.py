"""Rows of streams and relations as Arrow tables, and their columns in the types that they were registered with.

In a stream without a time column, the event time of a row is the time of its arrival. All rows of a micro-batch arrive
at the same time. In bounded data, rows arrive at their number.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.arrow import arrow_type
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.timetext import LARGEST_US
from joinfold.types import TIMESTAMP

Rows: TypeAlias = pa.Table | pa.RecordBatch
Arrival: TypeAlias = int | Mapping[str, range]  # of all rows of a micro-batch, or of each row by stream


def column_of(source: Source, rows: Rows, name: str) -> pa.Array:
    """A column of rows of a source, as one array in the type that the column was registered with."""
    whose = f"{kind_of(source)} '{source.name}'"
    if name not in rows.schema.names:
        names = ", ".join(rows.schema.names)
        raise UsageError(f"the rows of {whose} lack its column '{name}'", f"they have: {names}.")
    column, type_ = rows.column(name), source.schema.type_of(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if type_.is_nested or column.type == arrow_type(type_):
        return column
    try:
        return column.cast(arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = f"column '{name}' of {whose} is {column.type}, and not all of its values convert to {type_}"
        raise UsageError(what, f"cast it to {type_} before you give the rows.") from error


def times_of(source: Source, rows: Rows, arrival: Arrival) -> pa.Array:
    """The event times of rows of a stream; without a time column, the times of their arrival."""
    if source.time is not None:
        return column_of(source, rows, source.time)
    if isinstance(arrival, int):
        times = np.full(rows.num_rows, arrival, np.int64)
    else:
        own = arrival[source.name]
        times = np.arange(own.start, own.stop, dtype=np.int64)
    return pa.array(times).cast(arrow_type(TIMESTAMP))


def marked_ahead(times: pa.Array, last_us: int) -> pa.Array:
    """The times in microseconds, with `LARGEST_US` added to those after ``last_us``, as the frames on Spark have it."""
    micros = times.cast(pa.int64())
    marked = pc.add(pc.min_element_wise(micros, LARGEST_US // 2), LARGEST_US)
    return pc.if_else(pc.greater(micros, last_us), marked, micros)


def kind_of(source: Source) -> str:
    """The word for a source in messages: stream or relation."""
    return "stream" if source.is_stream else "relation"
