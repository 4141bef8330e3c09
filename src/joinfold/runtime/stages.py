"""The stages behind PACK as functions for Spark: decode, call an operator, encode."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.arrow import arrow_schema
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.buckets import open_bucket
from joinfold.operators.chain import pass_on
from joinfold.operators.changes import changes
from joinfold.operators.choice import FoldChoice
from joinfold.operators.codec import decode, encode
from joinfold.operators.fold import Fold
from joinfold.operators.layout import FoldLayout
from joinfold.operators.merge import merge, placed, together
from joinfold.operators.values import stable_hash
from joinfold.planner.adapting import Following
from joinfold.runtime.blobs import BLOBS_ARROW, Addressed, blob_batch
from joinfold.runtime.workers import settle
from joinfold.types import Schema


@dataclass(frozen=True, slots=True)
class FoldStage:
    """What a fold needs besides its rows: all layouts and which is its own, a choice, its buckets, the labels that
    answers are merged by, and how it follows the data while it streams.
    """

    folds: tuple[FoldLayout, ...]
    number: int
    choice: FoldChoice
    buckets: tuple[int, ...]
    merges: tuple[int, ...]
    question: str
    following: Following | None = None

    @property
    def layout(self) -> FoldLayout:
        """The layout of this fold."""
        return self.folds[self.number]

    @property
    def identity(self) -> str:
        """What state must agree with to be this query's: the question, what is kept of it, and the buckets."""
        layout = self.layout
        kept = f"{self.question}\n{layout.inputs}\n{layout.feeds}\n{layout.timeline}\n{len(self.buckets)}"
        return hashlib.sha256(kept.encode()).hexdigest()

    def fold_for(self, bucket: int) -> Bucket:
        """A bucket before its first row."""
        return open_bucket(self.layout, self.buckets.index(bucket), self.choice)

    def follow(self, bucket: Bucket) -> str | None:
        """Lets a bucket go on with a cheaper plan if there is one; what has changed, and why."""
        change = self.following.follow(bucket) if self.following is not None and isinstance(bucket, Fold) else None
        return None if change is None else str(change)

    def title(self, bucket: Bucket) -> str | None:
        """The plan of a bucket that follows the data, in a few words."""
        return None if self.following is None else self.following.title(self.layout, bucket.choice)

    def split(self, bucket: int, noted: Noted) -> Iterator[Addressed]:
        """What a bucket has noted: for the later folds that read it, or, by the last, for where groups are merged."""
        if self.number < len(self.folds) - 1:
            yield from pass_on(self.folds, self.number, self.buckets.index(bucket), self.buckets, noted)
            return
        rows, merge = noted.rows, len(self.folds)
        if rows is None:
            return
        facts: dict[str, Any] = {}
        if self.layout.changes or noted.where is not None:
            facts = {"numbers": noted.numbers, "before": noted.before, "where": noted.where}
        groups = [rows.column(name) for name in rows.schema.names if name.startswith("g")]
        if len(self.merges) == 1 or not groups:
            yield merge, self.merges[0], encode(rows, facts)
            return
        part = stable_hash(groups) % np.uint64(len(self.merges))
        for number, label in enumerate(self.merges):
            mine = part == number
            if mine.any():
                yield merge, label, encode(rows.filter(pa.array(mine)), facts)


def fold_bounded(stage: FoldStage, blobs: pa.Table) -> pa.Table:
    """A fold over all blobs of a bucket, to the end; those for other folds go on as they are."""
    bucket = blobs.column("bucket")[0].as_py()
    own = pc.equal(blobs.column("fold"), stage.number)
    fold = stage.fold_for(bucket)
    fold.absorb(blobs.filter(own).column("blob").to_pylist())
    noted = blob_batch(stage.split(bucket, fold.answer(to_the_end=True)))
    return pa.concat_tables([blobs.filter(pc.invert(own)).cast(BLOBS_ARROW), pa.Table.from_batches([noted])])


def finish_batches(layout: FoldLayout, schema: Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """MERGE over all that a partition has of a micro-batch."""
    settle()
    decoded = [decode(blob) for batch in batches for blob in batch.column("blob").to_pylist() if blob is not None]
    if decoded:
        parts = [part for part, _ in decoded]
        finished = together(parts) if layout.is_plain else merge(layout, parts)
        facts, target = decoded[0][1], arrow_schema(schema)
        if layout.changes:
            finished = changes(finished, facts["numbers"], facts["before"])
        if facts.get("where") is not None:
            finished = placed(finished, facts["numbers"], facts["where"], target.names[: len(facts["where"])])
        columns = [finished.column(field.name).cast(field.type) for field in target]
        yield pa.RecordBatch.from_arrays(columns, schema=target)
