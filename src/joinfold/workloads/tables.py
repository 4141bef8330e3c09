"""From arrays to Parquet: one folder per stream, only complete files, the same bytes every time.

A part is written under a hidden name and renamed when it is complete. Spark's file source skips names that begin with a
dot, so a reader sees only complete files. The boundaries of parts and row groups depend only on the number of rows: the
bytes depend neither on the blocks of the generator nor on the time of writing.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from joinfold.errors import UsageError

TIMESTAMP = pa.timestamp("us", tz="UTC")
ROWS_PER_GROUP = 128_000


def stream_schema(**columns: pa.DataType) -> pa.Schema:
    """A schema from names and types; columns are nullable, though workloads never produce NULL."""
    return pa.schema(list(columns.items()))


def table_of(schema: pa.Schema, **columns: pa.Array | NDArray[np.generic]) -> pa.Table:
    """A table with this schema from columns by name; int64 is read as microseconds if the type is TIMESTAMP."""
    assert list(columns) == schema.names, (list(columns), schema.names)
    arrays = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns.values()]
    return pa.table([array.cast(item.type) for array, item in zip(arrays, schema, strict=True)], schema)


def pick(texts: pa.Array, indexes: NDArray[np.int64]) -> pa.Array:
    """The strings with these indexes: texts come from a small table and are not formatted for each row."""
    return texts.take(pa.array(indexes))


def event_times_us(table: pa.Table) -> NDArray[np.int64]:
    """The time column as int64 microseconds since the epoch."""
    times: NDArray[np.int64] = table.column("ts").cast(pa.int64()).to_numpy()
    return times


def write_streams(
    steps: Iterable[Mapping[str, pa.Table]],
    schemas: Mapping[str, pa.Schema],
    directory: Path,
    *,
    rows_per_file: int,
    progress: Callable[[int], None],
) -> None:
    """Writes every stream to ``directory/<stream>/part-00000.parquet`` and so on; ``progress`` gets numbers of rows."""
    require_fresh(directory)
    try:
        for stream in schemas:
            (directory / stream).mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}", "choose a new folder.") from error
    writers = {stream: PartWriter(directory / stream, schemas[stream], rows_per_file) for stream in schemas}
    with ExitStack() as unfinished:
        for writer in writers.values():
            unfinished.callback(writer.abandon)
        for tables in steps:
            for stream, table in tables.items():
                writers[stream].write(table)
            progress(sum(table.num_rows for table in tables.values()))
        for writer in writers.values():
            writer.close()


def require_fresh(directory: Path) -> None:
    """Refuses a path that is a file, or a folder that is not empty."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"'{directory}' is a file, not a folder", "choose a new folder.")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"folder '{directory}' is not empty", "choose a new folder, or empty this one first.")


@dataclass(slots=True)
class PartWriter:
    """Writes the parts of one stream. Rows are collected until they fill a row group; a part has ``rows_per_file``."""

    folder: Path
    schema: pa.Schema
    rows_per_file: int
    _collected: list[pa.Table] = field(default_factory=list)
    _collected_rows: int = 0
    _part: int = 0
    _part_rows: int = 0
    _writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Adds rows, and writes the row groups that are full."""
        self._collected.append(table)
        self._collected_rows += table.num_rows
        while self._collected_rows >= self._group_room:
            self._write_group(self._group_room)

    def close(self) -> None:
        """Writes the remaining rows and completes the last part; a stream without rows is one empty part."""
        if self._collected_rows or self._part == 0:
            self._write_group(self._collected_rows)
        if self._writer is not None:
            self._complete_part()

    def abandon(self) -> None:
        """Removes the incomplete part, if there is one."""
        if self._writer is not None:
            try:
                self._writer.close()
            finally:
                self._writer = None
                self._temporary_path.unlink(missing_ok=True)

    @property
    def _group_room(self) -> int:
        return min(ROWS_PER_GROUP, self.rows_per_file - self._part_rows)

    @property
    def _path(self) -> Path:
        return self.folder / f"part-{self._part:05d}.parquet"

    @property
    def _temporary_path(self) -> Path:
        return self.folder / f".part-{self._part:05d}.parquet.tmp"

    def _write_group(self, rows: int) -> None:
        everything = pa.concat_tables(self._collected or [self.schema.empty_table()])
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._temporary_path, self.schema, **_encoding(self.schema))
        self._writer.write_table(everything.slice(0, rows), row_group_size=max(1, rows))
        self._collected = [everything.slice(rows)]
        self._collected_rows -= rows
        self._part_rows += rows
        if self._part_rows == self.rows_per_file:
            self._complete_part()

    def _complete_part(self) -> None:
        assert self._writer is not None
        self._writer.close()
        self._writer = None
        os.replace(self._temporary_path, self._path)
        self._part += 1
        self._part_rows = 0


def _encoding(schema: pa.Schema) -> dict[str, object]:
    """Options of the Parquet writer; timestamps get no dictionary, because their values rarely repeat."""
    return {
        "compression": "snappy",
        "use_dictionary": [item.name for item in schema if item.type != TIMESTAMP],
    }
