"""From what a user registers to a source: its columns, its event time, and the guards of that time.

Anything with rows or columns can be registered: DataFrames of Spark, tables and schemas of Arrow, frames of pandas,
polars and other libraries that hand their rows over as Arrow, and schemas as text.
"""

import os
import re
import warnings
from collections import Counter
from datetime import timedelta
from enum import Enum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from joinfold.arrow import schema_from_arrow
from joinfold.dialect import read_schema
from joinfold.errors import JoinfoldWarning, UsageError, suggestion
from joinfold.logical.query import Source
from joinfold.names import find_name
from joinfold.timetext import duration_us, time_shown
from joinfold.types import TIMESTAMP, TIMESTAMP_NTZ, Field, Schema

Duration = str | timedelta

AHEAD = "1 day"
"""How far event times may lie beyond the time of their micro-batch, unless told."""

UNITS_US = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
"""The microseconds in each unit that an integer time column can have."""
_PATH = re.compile(r"\S*[/\\]\S*|\S+\.(parquet|csv|json|orc|avro)")
TICKS = "ticks"
"""The unit of an integer column that is a clock of its own."""


class Arrival(Enum):
    """The event time of rows that have none: the time of their micro-batch."""

    TIME = "arrival"


ARRIVAL: Final = Arrival.TIME

TimeColumn = str | Arrival | None


def rows_or_schema(name: str, source: Any, is_stream: bool) -> Any:
    """What is registered, as a DataFrame of Spark, an Arrow table or a schema; raises `UsageError` for all else."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _PATH.fullmatch(source.strip())):
        path = os.fspath(source)
        read = "spark.readStream.schema(…)" if is_stream else "spark.read"
        format_ = next((own for own in ("csv", "json", "orc") if path.endswith(f".{own}")), "parquet")
        raise UsageError(
            f"'{name}' is registered as '{path}', which looks like a path, not like a schema",
            f"read it with Spark: session.{'stream' if is_stream else 'table'}('{name}', {read}.{format_}('{path}')).",
        )
    if isinstance(source, Schema | pa.Schema | pa.Table | pa.RecordBatch) or is_spark(source):
        return source
    if isinstance(source, str):
        return source
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pa.table(source)
        except pa.ArrowException as error:
            hint = "give each column one type, such as frame.astype({'k': 'string'})."
            raise UsageError(f"'{name}' has a column that Arrow cannot hold: {error.args[-1]}", hint) from error
    raise UsageError(
        f"'{name}' cannot be registered as an object of type {type(source).__name__}",
        "give a DataFrame of Spark, pandas or polars, a pyarrow Table or Schema, or a text such as "
        "'location STRING, ts TIMESTAMP'.",
    )


def is_spark(source: Any) -> bool:
    """Whether something is a DataFrame of Spark. Does not import Spark."""
    return type(source).__module__.startswith("pyspark.") and hasattr(source, "isStreaming")


def schema_of(source: Any) -> Schema:
    """The columns of what is registered."""
    if isinstance(source, Schema):
        return source
    if isinstance(source, str):
        return read_schema(source)
    if isinstance(source, pa.Table | pa.RecordBatch):
        source = source.schema
    if isinstance(source, pa.Schema):
        return schema_from_arrow(source)
    from joinfold.runtime.schema import spark_schema

    return spark_schema(source)


def checked_name(name: Any, schema: Schema) -> str:
    """The name of a stream or relation; raises `UsageError` if it or its columns cannot be named in a query."""
    if not isinstance(name, str) or not all(part.strip() for part in name.split(".")):
        raise UsageError(f"{name!r} is not a valid name for a stream or relation", "give a text, such as 'orders'.")
    for column, count in Counter(schema.names).items():
        if count > 1:
            raise UsageError(f"'{name}' has {count} columns '{column}'", "give each column its own name.")
    return name


# --- event time -----------------------------------------------------------------------------------------------------


def time_column(name: str, schema: Schema, time: TimeColumn) -> str | None:
    """The column with the event time of a stream; None if rows take the time of their micro-batch.

    Without ``time`` it is the TIMESTAMP column 'ts', or else the only TIMESTAMP column, if there is one.
    """
    if time is None:
        timestamps = [field.name for field in schema if field.type == TIMESTAMP]
        if "ts" in timestamps or len(timestamps) < 2:
            return "ts" if "ts" in timestamps else next(iter(timestamps), None)
        what = f"several columns of stream '{name}' could be its time: {', '.join(timestamps)}"
        hint = f"choose one: time='{timestamps[0]}' in Python, --time {name}={timestamps[0]} on the command line."
        raise UsageError(what, hint)
    if isinstance(time, Arrival):
        return None
    if not isinstance(time, str):
        raise UsageError(f"the time of stream '{name}' cannot be {time!r}", "give the name of a column, as text.")
    found = find_name(time, schema.names)
    if len(found) != 1:
        near = suggestion(time, schema.names)
        hint = f"did you mean '{near}'? It has" if near else "it has"
        hint += f": {', '.join(schema.names)}."
        if time.lower() == ARRIVAL.value:
            hint += " time=jf.ARRIVAL takes the time of micro-batches."
        raise UsageError(f"stream '{name}' has no column '{time}' for its event time", hint)
    type_ = schema.type_of(found[0])
    if type_ not in (TIMESTAMP, TIMESTAMP_NTZ) and not type_.is_integer:
        hint = "cast the column in the DataFrame. An integer column is a clock of its own, or has a unit."
        raise UsageError(f"the time column '{found[0]}' of stream '{name}' is {type_}, not TIMESTAMP or integer", hint)
    return found[0]


def with_unit(name: str, source: Any, schema: Schema, time: str | None, unit: str | None) -> tuple[Any, Schema]:
    """The source and its columns, with an integer time column as a TIMESTAMP if it counts in a unit of time.

    An integer column without a unit is a clock of its own; a warning shows what its values would be in each unit.
    """
    is_integer = time is not None and schema.type_of(time).is_integer
    if unit is not None and unit not in (*UNITS_US, TICKS):
        near = suggestion(str(unit), (*UNITS_US, TICKS))
        hint = f"did you mean '{near}'? " if near else ""
        raise UsageError(
            f"unknown unit {unit!r} of stream '{name}'",
            f"{hint}the units are: {_units()}." if not hint else f"{hint}The units are: {_units()}.",
        )
    if unit is not None and not is_integer:
        what = "it takes the time of its micro-batches" if time is None else f"its time column '{time}' is no integer"
        raise UsageError(f"stream '{name}' cannot have unit='{unit}': {what}", "leave out unit.")
    if not is_integer or unit == TICKS:
        return source, schema
    assert time is not None
    if unit is None:
        _warn_of_clock(name, source, time)
        return source, schema
    fields = (Field(own.name, TIMESTAMP) if own.name == time else own for own in schema)
    return _in_microseconds(source, time, UNITS_US[unit]), Schema(tuple(fields))


def _units() -> str:
    return ", ".join((*UNITS_US, TICKS))


def _in_microseconds(source: Any, time: str, unit_us: int) -> Any:
    """The source with a column of integers as timestamps. A schema has no rows to convert."""
    if is_spark(source):
        from joinfold.runtime.schema import with_timestamp

        return with_timestamp(source, time, unit_us)
    if not isinstance(source, pa.Table | pa.RecordBatch):
        return source
    table = pa.table(source)
    place = table.column_names.index(time)
    try:
        micros = pc.multiply_checked(table.column(place).cast(pa.int64()), unit_us)
    except pa.ArrowInvalid as error:
        raise UsageError(f"the times in '{time}' do not fit its unit", "give a smaller unit.") from error
    return table.set_column(place, time, micros.cast(pa.timestamp("us", tz="UTC")))


def _warn_of_clock(name: str, source: Any, time: str) -> None:
    known = _first_and_last(source, time)
    values = ""
    if known is not None:
        shown = (f"{_in_unit(known, unit_us)} in {unit}" for unit, unit_us in UNITS_US.items())
        values = f" Its values from {known[0]} to {known[1]} would be {'; '.join(shown)}."
    warnings.warn(
        f"the time column '{time}' of stream '{name}' is an integer, so it is a clock of its own, and a window of 1 "
        f"SECOND holds 1,000,000 of its steps.{values} If it is a time, give unit='seconds', 'milliseconds' or "
        f"'microseconds'; otherwise unit='{TICKS}'",
        JoinfoldWarning,
        stacklevel=5,
    )


def _first_and_last(source: Any, time: str) -> tuple[int, int] | None:
    """The smallest and the largest value of a column; None if that is not known without a job of Spark."""
    if not isinstance(source, pa.Table | pa.RecordBatch):
        return None
    found = pc.min_max(pa.table(source).column(time)).as_py()
    return None if found["min"] is None else (found["min"], found["max"])


def _in_unit(values: tuple[int, int], unit_us: int) -> str:
    return " to ".join(time_shown(value * unit_us) for value in values)


def delay_us_of(name: str, delay: Duration) -> int:
    """By how much rows may be out of order."""
    return _duration_us(name, "delay", delay)


def ahead_us_of(name: str, schema: Schema, time: str | None, ahead: Duration | None) -> int | None:
    """How far event times may lie ahead; None for any time, and where rows take the time of their micro-batch."""
    if time is None or _is_off(ahead):
        return None
    if not schema.type_of(time).is_integer:
        return _duration_us(name, "ahead", AHEAD if ahead is None else ahead)
    if ahead is None:
        return None
    raise UsageError(
        f"stream '{name}' cannot have ahead='{ahead}': its time column '{time}' is an integer, a clock of its own, "
        "which cannot be compared with the time of a micro-batch",
        "leave out ahead. If the column counts a unit of time, give unit='seconds'.",
    )


def idle_us_of(name: str, idle: Duration | None) -> int | None:
    """After how much silence a stream is idle; None for never."""
    if idle is None or _is_off(idle):
        return None
    idle_us = _duration_us(name, "idle", idle)
    if not idle_us:
        raise UsageError(f"stream '{name}' cannot be idle after '{idle}'", "give a longer time, such as '5 minutes'.")
    return idle_us


def _is_off(duration: Duration | None) -> bool:
    return isinstance(duration, str) and duration.strip().lower() == "off"


def _duration_us(name: str, argument: str, duration: Any) -> int:
    if not isinstance(duration, str | timedelta):
        hint = "give a text such as '10 seconds', or a timedelta."
        raise UsageError(f"{argument} of stream '{name}' cannot be {duration!r}", hint)
    return duration_us(duration)


def registered_stream(
    name: Any,
    source: Any,
    time: TimeColumn,
    delay: Duration,
    ahead: Duration | None,
    idle: Duration | None,
    unit: str | None,
) -> tuple[Source, Any]:
    """A stream, and its rows or schema as they are kept."""
    data = rows_or_schema(name, source, is_stream=True)
    schema = schema_of(data)
    name = checked_name(name, schema)
    found = time_column(name, schema, time)
    data, schema = with_unit(name, data, schema, found, unit)
    ahead_us = ahead_us_of(name, schema, found, ahead)
    return Source(name, schema, True, found, delay_us_of(name, delay), ahead_us, idle_us_of(name, idle)), data


def registered_table(name: Any, source: Any) -> tuple[Source, Any]:
    """A relation, and its rows or schema as they are kept."""
    data = rows_or_schema(name, source, is_stream=False)
    schema = schema_of(data)
    return Source(checked_name(name, schema), schema, False), data
