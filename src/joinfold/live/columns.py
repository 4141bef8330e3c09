"""The columns of data in files, found without Spark."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.errors import UsageError
from joinfold.registering import schema_of
from joinfold.types import Schema


def parquet_schema(path: str) -> Schema:
    """The columns of a Parquet file, or of the first file in a folder."""
    if os.path.isdir(path):
        files = [file for file in visible_files(path) if file.suffix == ".parquet"]
        if not files:
            raise UsageError(f"the folder '{path}' contains no Parquet file")
        path = str(files[0])
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"cannot read the columns of '{path}': it is not a Parquet file") from error
    with file:
        return schema_of(_with_old_timestamps(file))


def _with_old_timestamps(file: parquet.ParquetFile) -> pa.Schema:
    """The schema with INT96 columns as TIMESTAMP: Spark writes a TIMESTAMP as INT96, which has no time zone."""
    schema = file.schema_arrow
    old = {
        column.path for column in map(file.schema.column, range(len(file.schema))) if column.physical_type == "INT96"
    }
    for position, field in enumerate(schema):
        if field.name in old:
            schema = schema.set(position, pa.field(field.name, pa.timestamp("us", tz="UTC")))
    return schema


def visible_files(path: str) -> list[Path]:
    """The files that Spark reads; it skips names that begin with a dot or an underscore."""
    if os.path.isfile(path):
        return [Path(path)]
    return sorted(file for file in Path(path).iterdir() if file.is_file() and file.name[0] not in "._")
