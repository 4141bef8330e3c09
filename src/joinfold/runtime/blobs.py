"""Blobs as rows of Spark: the number of the stage that reads the blob, the shuffle key of its bucket, and the blob.

The number of MERGE is one more than that of the last stage with state. Blobs for MERGE also have the number of their
piece; it is 0 elsewhere.
"""

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile

import pyarrow as pa

from joinfold.operators.packing.routing import Addressed

BLOBS = "stage int, bucket int, piece int, blob binary"
BLOBS_ARROW = pa.schema([("stage", pa.int32()), ("bucket", pa.int32()), ("piece", pa.int32()), ("blob", pa.binary())])
SPOOLED_BYTES = 2**26  # in memory; more goes to a temporary file


def blob_batch(blobs: Iterable[Addressed], piece: int = 0) -> pa.RecordBatch:
    """Blobs of a piece as a batch of rows for Spark."""
    columns = list(zip(*((stage, shuffle_key, piece, blob) for stage, shuffle_key, blob in blobs), strict=True))
    arrays = [pa.array(column, field.type) for column, field in zip(columns or [()] * 4, BLOBS_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=BLOBS_ARROW)


def by_piece(batches: Iterable[pa.RecordBatch], spooled_bytes: int = SPOOLED_BYTES) -> Iterator[list[bytes]]:
    """The blobs of each piece, piece by piece.

    They come bucket by bucket. So the blobs of later pieces wait, in a temporary file if they are large.
    """
    with SpooledTemporaryFile(max_size=spooled_bytes) as spool:
        places: dict[int, list[tuple[int, int]]] = {}
        for batch in batches:
            for piece, blob in zip(batch.column("piece").to_pylist(), batch.column("blob").to_pylist(), strict=True):
                if blob is not None:
                    places.setdefault(piece, []).append((spool.tell(), len(blob)))
                    spool.write(blob)
        for piece in sorted(places):
            blobs = []
            for at, size in places[piece]:
                spool.seek(at)
                blobs.append(spool.read(size))
            yield blobs
