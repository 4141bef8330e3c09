"""From arrays to Parquet folders: one folder per stream, whole files only, the same bytes every time.

A part is written under a hidden temporary name and renamed when it is complete, so a reader (Spark's file
source passes over names that begin with a dot) meets a whole file or none. Parts and row groups are cut by
row count alone: how a generator cuts its blocks leaves no trace in the bytes, and neither does the clock.
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
    """A schema from names and types; workloads never produce NULL, but say nothing of it to the reader."""
    return pa.schema(list(columns.items()))


def table_of(schema: pa.Schema, **columns: pa.Array | NDArray[np.generic]) -> pa.Table:
    """A table of exactly this schema, its columns given by name; int64 becomes an instant for free."""
    assert list(columns) == schema.names, (list(columns), schema.names)
    arrays = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns.values()]
    return pa.table([array.cast(item.type) for array, item in zip(arrays, schema, strict=True)], schema)


def pick(texts: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """The strings at ``places``: text columns are looked up in a small table, never formatted per row."""
    return texts.take(pa.array(places))


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
    """Write every stream to ``directory/<stream>/part-00000.parquet`` and on; report the rows as they go."""
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
    """Refuse a target that is a file, or a folder with something in it."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"'{directory}' is a file, not a folder", "choose a new folder.")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"folder '{directory}' is not empty", "choose a new folder, or empty this one first.")


@dataclass(slots=True)
class PartWriter:
    """The parts of one stream. Rows collect until they fill a row group; a part ends at ``rows_per_file``."""

    folder: Path
    schema: pa.Schema
    rows_per_file: int
    _collected: list[pa.Table] = field(default_factory=list)
    _collected_rows: int = 0
    _part: int = 0
    _part_rows: int = 0
    _writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Add rows; write those that fill row groups."""
        self._collected.append(table)
        self._collected_rows += table.num_rows
        while self._collected_rows >= self._group_room:
            self._write_group(self._group_room)

    def close(self) -> None:
        """Write what is left and complete the last part; a stream without rows is one empty part."""
        if self._collected_rows or self._part == 0:
            self._write_group(self._collected_rows)
        if self._writer is not None:
            self._complete_part()

    def abandon(self) -> None:
        """Remove the part that is not complete, if there is one."""
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
    """Times hardly repeat: a dictionary of them would be built only to be thrown away."""
    return {
        "compression": "snappy",
        "use_dictionary": [item.name for item in schema if item.type != TIMESTAMP],
    }
