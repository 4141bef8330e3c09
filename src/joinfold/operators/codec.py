"""Blobs: what stages send to each other and keep in the state store, as versioned Arrow IPC.

A blob is a magic word, a version, a checksum and one Arrow record batch with metadata. Integer columns are written as
distances from their smallest value, in the narrowest type that holds them, and read back as int64: so counts and cells
mostly take a byte. A column that has one value throughout takes no space: it is written as NULLs, and the value stands
in the metadata.
"""

import json
import zlib
from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.errors import EvaluationError

MAGIC = b"JFLD"
VERSION = 3
HEADER = 12
_NARROW = (np.uint8, np.uint16, np.uint32)


def encode(batch: pa.RecordBatch, facts: dict[str, Any] | None = None) -> bytes:
    """The blob of a record batch; ``facts`` are small values that travel with it, as JSON."""
    bases: dict[str, int] = {}
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        narrow = _narrowed(column)
        if narrow is not None:
            bases[name], column = narrow
        columns.append(column)
    fields = [pa.field(name, column.type) for name, column in zip(batch.schema.names, columns, strict=True)]
    metadata = {"facts": json.dumps(facts or {}), "bases": json.dumps(bases)}
    written = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, metadata=metadata))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, written.schema) as writer:
        writer.write_batch(written)
    body = sink.getvalue()
    return b"".join((MAGIC, VERSION.to_bytes(4, "little"), zlib.crc32(body).to_bytes(4, "little"), body))


def decode(blob: bytes) -> tuple[pa.RecordBatch, dict[str, Any]]:
    """The record batch and the facts of a blob. Bytes that are no blob, damaged, or of another version are refused."""
    if blob[:4] != MAGIC or len(blob) < HEADER:
        raise EvaluationError(
            "the state holds something that is not a joinfold blob",
            "the checkpoint is damaged, or something else wrote to it; use another checkpoint directory.",
        )
    version = int.from_bytes(blob[4:8], "little")
    if version != VERSION:
        hint = f"this joinfold reads version {VERSION}; run the query with the release that wrote the checkpoint."
        raise EvaluationError(f"a blob of version {version} was found", hint)
    body = pa.py_buffer(blob)[HEADER:]
    if zlib.crc32(body) != int.from_bytes(blob[8:HEADER], "little"):
        raise EvaluationError("a blob is cut short or damaged", "use another checkpoint directory.")
    batch = pa.ipc.open_stream(body).read_next_batch()
    facts, bases = (json.loads(batch.schema.metadata[name]) for name in (b"facts", b"bases"))
    columns = [
        _widened(column, bases[name]) if name in bases else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names), facts


def _narrowed(column: pa.Array) -> tuple[int, pa.Array] | None:
    """The smallest value and the distances from it; None unless the column is int64 without NULLs and spans < 2^32."""
    if column.type != pa.int64() or not len(column) or column.null_count:
        return None
    values = column.to_numpy()
    base = int(values.min())
    spread = int(values.max()) - base
    if not spread:
        return base, pa.nulls(len(column))
    for type_ in _NARROW:
        if spread <= np.iinfo(type_).max:
            return base, pa.array((values - base).astype(type_))
    return None


def _widened(column: pa.Array, base: int) -> pa.Array:
    """The inverse of ``_narrowed``."""
    if pa.types.is_null(column.type):
        return pa.array(np.full(len(column), base, np.int64))
    return pa.array(column.to_numpy(zero_copy_only=False).astype(np.int64) + base)
