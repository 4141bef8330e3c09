"""Blobs on their way through Spark: which fold they are for, by which bucket label they are distributed, the blob.

Behind the last fold of a query they are for MERGE, whose number follows on the folds'.
"""

from collections.abc import Iterable

import pyarrow as pa

BLOBS = "fold int, bucket int, blob binary"
BLOBS_ARROW = pa.schema([("fold", pa.int32()), ("bucket", pa.int32()), ("blob", pa.binary())])
Addressed = tuple[int, int, bytes]


def blob_batch(blobs: Iterable[Addressed]) -> pa.RecordBatch:
    """Blobs as a batch for Spark."""
    columns = list(zip(*blobs, strict=True)) or [(), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, BLOBS_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=BLOBS_ARROW)
