"""Blobs as rows of Spark: the number of the stage that reads the blob, the shuffle key of its bucket, and the blob.

The number of MERGE is one more than that of the last stage with state.
"""

from collections.abc import Iterable

import pyarrow as pa

from joinfold.operators.packing.routing import Addressed

BLOBS = "stage int, bucket int, blob binary"
BLOBS_ARROW = pa.schema([("stage", pa.int32()), ("bucket", pa.int32()), ("blob", pa.binary())])


def blob_batch(blobs: Iterable[Addressed]) -> pa.RecordBatch:
    """Blobs as a batch of rows for Spark."""
    columns = list(zip(*blobs, strict=True)) or [(), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, BLOBS_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=BLOBS_ARROW)
