"""The streams and relations of `joinfold explain`, given on the command line as NAME=SCHEMA or NAME=PATH.

A schema is enough to explain what a query means. Its cost depends on the rows. They are read from the path if there is
one, of a stream no more than needed.
"""

import os
from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyarrow import dataset

from joinfold.arrow import arrow_type
from joinfold.errors import UsageError
from joinfold.live.columns import parquet_schema, visible_files
from joinfold.registering import schema_of
from joinfold.session import Session
from joinfold.statistics.analysis import MOST_ROWS
from joinfold.types import TIMESTAMP, Schema


def register(
    session: Session,
    streams: Mapping[str, str],
    tables: Mapping[str, str],
    times: Mapping[str, str],
    with_rows: bool = False,
) -> None:
    """Registers streams and relations given as schemas or paths; ``with_rows``: with the rows of the paths.

    ``times`` has the event-time columns of streams.
    """
    for name in times:
        if name not in streams:
            raise UsageError(f"--time names '{name}', but there is no such stream", "add it with --stream.")
    for name, text in streams.items():
        schema = named_schema(text)
        source = _rows(text, schema, MOST_ROWS + 1) if with_rows and os.path.exists(text) else schema
        session.stream(name, source, time=times.get(name))
    for name, text in tables.items():
        schema = named_schema(text)
        session.table(name, _rows(text, schema) if with_rows and os.path.exists(text) else schema)


def refuse_schemas(texts: Iterable[tuple[str, str]]) -> None:
    """Raises `UsageError` for the first name that is given as a schema and so has no rows."""
    for name, text in texts:
        if not os.path.exists(text):
            hint = f"give a Parquet file or folder: {name}=PATH."
            raise UsageError(f"--analyze runs the query, but '{name}' has only a schema and no rows", hint)


def named_schema(text: str) -> Schema:
    """The columns that a text lists, or that a Parquet file or folder has."""
    if os.path.exists(text):  # unlike Path.exists, this does not fail for a long text
        return parquet_schema(text)
    if " " not in text:
        hint = "write a schema as 'location STRING, ts TIMESTAMP'."
        raise UsageError(f"'{text}' is neither a file nor a schema", hint)
    return schema_of(text)


def _rows(path: str, schema: Schema, at_most: int | None = None) -> pa.Table:
    """All rows of a Parquet file or folder, or the first ``at_most``, with the types of the schema."""
    files = [file for file in visible_files(path) if file.suffix == ".parquet" or os.path.isfile(path)]
    format_ = dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    try:
        read = dataset.dataset([str(file) for file in files], format=format_)
        table = read.to_table() if at_most is None else read.head(at_most)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"cannot read the rows of '{path}': {str(error).splitlines()[0]}") from error
    for position, field in enumerate(schema):
        if field.type == TIMESTAMP:  # Spark writes a TIMESTAMP as INT96, which has no time zone
            times = table.column(field.name).cast(arrow_type(TIMESTAMP), safe=False)
            table = table.set_column(position, field.name, times)
    return table
