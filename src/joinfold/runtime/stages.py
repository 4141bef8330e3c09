"""The stages behind PACK as functions for Spark: decode, call an operator, encode."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_schema
from joinfold.operators.arrivals import at_arrivals
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.buckets import open_bucket
from joinfold.operators.changes import changes
from joinfold.operators.choice import FoldChoice
from joinfold.operators.codec import decode, encode
from joinfold.operators.layout import FoldLayout
from joinfold.operators.merge import merge, together
from joinfold.operators.values import stable_hash
from joinfold.types import Schema

NOTED = "label int, blob binary"
NOTED_ARROW = pa.schema([("label", pa.int32()), ("blob", pa.binary())])


@dataclass(frozen=True, slots=True)
class FoldStage:
    """What FOLD needs besides its rows: the layout, a choice, its buckets, and the labels its answers are merged by."""

    layout: FoldLayout
    choice: FoldChoice
    buckets: tuple[int, ...]
    merges: tuple[int, ...]
    question: str

    @property
    def identity(self) -> str:
        """What state must agree with to be this query's: the question, what is kept of it, and the buckets."""
        kept = f"{self.question}\n{self.layout.inputs}\n{self.layout.timeline}\n{len(self.buckets)}"
        return hashlib.sha256(kept.encode()).hexdigest()

    def fold_for(self, bucket: int) -> Bucket:
        """A bucket before its first row."""
        return open_bucket(self.layout, self.buckets.index(bucket), self.choice)

    def split(self, noted: Noted) -> Iterator[tuple[int, bytes]]:
        """The noted rows by the label under which their group is merged."""
        rows = noted.rows
        if rows is None:
            return
        facts: dict[str, Any] = {"arrivals": noted.arrivals} if self.layout.on_arrival else {}
        if self.layout.changes:
            facts |= {"instants": noted.numbers, "before": noted.before}
        groups = [rows.column(name) for name in rows.schema.names if name.startswith("g")]
        if len(self.merges) == 1 or not groups:
            yield self.merges[0], encode(rows, facts)
            return
        part = stable_hash(groups) % np.uint64(len(self.merges))
        for number, label in enumerate(self.merges):
            mine = part == number
            if mine.any():
                yield label, encode(rows.filter(pa.array(mine)), facts)


def fold_bounded(stage: FoldStage, blobs: pa.Table) -> pa.Table:
    """FOLD over all blobs of a bucket, to the end."""
    fold = stage.fold_for(blobs.column("bucket")[0].as_py())
    fold.absorb(blobs.column("blob").to_pylist())
    noted = list(stage.split(fold.answer(to_the_end=True)))
    labels, encoded = zip(*noted, strict=True) if noted else ((), ())
    return pa.Table.from_arrays([pa.array(labels, pa.int32()), pa.array(encoded, pa.binary())], schema=NOTED_ARROW)


def finish_batches(layout: FoldLayout, schema: Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """MERGE over all that a partition has of a micro-batch."""
    decoded = [decode(blob) for batch in batches for blob in batch.column("blob").to_pylist() if blob is not None]
    if decoded:
        parts = [part for part, _ in decoded]
        finished = together(parts) if layout.is_plain else merge(layout, parts)
        if layout.changes:
            facts = decoded[0][1]
            finished = changes(finished, facts["instants"], facts["before"])
        if layout.on_arrival:
            finished = at_arrivals(finished, decoded[0][1]["arrivals"])
        target = arrow_schema(schema)
        columns = [finished.column(field.name).cast(field.type) for field in target]
        yield pa.RecordBatch.from_arrays(columns, schema=target)
