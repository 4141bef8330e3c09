"""The rows that both references read and write, and their conversion to and from Arrow.

A row is a dict from column name to value: int for integers and, in microseconds, for timestamps and intervals; float,
`Decimal`, str, bytes, bool and `date`; None for NULL. An answer is a list of tuples in the order of the query's schema.
"""

from collections.abc import Iterable

import pyarrow as pa

from joinfold.arrow import arrow_schema, arrow_type
from joinfold.logical.expressions import Value
from joinfold.types import Schema

Row = dict[str, Value]


def to_arrow(rows: Iterable[Row], schema: Schema) -> pa.Table:
    """The rows as an Arrow table with this schema."""
    rows = list(rows)
    columns = [pa.array([row[field.name] for row in rows], arrow_type(field.type)) for field in schema]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def from_arrow(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table, with times as microseconds."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            unit = pa.timestamp("us", tz=column.type.tz) if pa.types.is_timestamp(column.type) else pa.duration("us")
            column = column.cast(unit).cast(pa.int64())
        columns.append(column.to_pylist())
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
