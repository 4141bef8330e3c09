"""Blobs on their way through Spark: which stage they are for, by which bucket label they are distributed, the blob.

Behind the last stage with state they are for MERGE, whose number follows on.
"""

from collections.abc import Iterable

import pyarrow as pa

from joinfold.operators.packing.routing import Addressed

BLOBS = "stage int, bucket int, blob binary"
BLOBS_ARROW = pa.schema([("stage", pa.int32()), ("bucket", pa.int32()), ("blob", pa.binary())])


def blob_batch(blobs: Iterable[Addressed]) -> pa.RecordBatch:
    """Blobs as a batch for Spark."""
    columns = list(zip(*blobs, strict=True)) or [(), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, BLOBS_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=BLOBS_ARROW)
