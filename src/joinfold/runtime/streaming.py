"""Stages on Structured Streaming: each bucket is a grouping key, with its state in the state store.

The bucket in memory is made from the state (`operators.state`) and kept warm between micro-batches, under a token that
is also in the state.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from joinfold.operators.packing.routing import Addressed
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.state.bucket_state import BucketState
from joinfold.planner.adapting import Change
from joinfold.runtime.blobs import BLOBS
from joinfold.runtime.handle import FIGURES, METRIC_COLUMNS, observed
from joinfold.runtime.stages import StageRun
from joinfold.runtime.warm import WarmBucket, WarmBuckets, shared_folder
from joinfold.runtime.workers import prepare_worker

ROWS = f"{BLOBS}, {METRIC_COLUMNS}"

_warm = WarmBuckets(shared_folder)


class StageProcessor(StatefulProcessor):
    """A stage for `transformWithStateInPandas`: it decodes, calls the bucket, and encodes."""

    def __init__(self, stage: StageRun, run: str) -> None:
        self.stage = stage
        self.run = f"{run}-{stage.number}"

    @classmethod
    def over(cls, grouped: GroupedData, stage: StageRun, run: str) -> DataFrame:
        """The blobs that all buckets emit, and those for later stages; ``run`` is the name of the run."""
        processor = cls(stage, run)
        rows = grouped.transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=ROWS, outputMode="Append", timeMode="None"
        )
        return observed(rows, stage.pipeline.timing.streams, processor.run)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        prepare_worker()
        # All versions use this name, so that the state of an older version is found, and refused by its version.
        self.kept = handle.getMapState("moment", "number long", "blob binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Processes a micro-batch of a bucket."""
        shuffle_key, number = int(key[0]), self.stage.number
        state = BucketState(
            self.kept, self.stage.pipeline, number, self.stage.buckets.index(shuffle_key), len(self.stage.buckets)
        )
        warm = self._warm(shuffle_key, state)
        bucket = warm.bucket
        blobs = [row for frame in rows for row in zip(frame["stage"], frame["bucket"], frame["blob"], strict=True)]
        state.chunks.add(bucket.absorb(blob for own, _, blob in blobs if own == number))
        emitted = bucket.answer()
        state.chunks.add(bucket.take_made())
        outgoing = [row for row in blobs if row[0] != number]
        outgoing += self.stage.split(shuffle_key, emitted)
        state.chunks.forget(bucket.is_done)
        if bucket.has_shed_more:
            state.chunks.thin(bucket)
        state.chunks.merge(bucket)
        warm.compared, change = self.stage.follow(bucket, warm.compared)
        _warm.keep(f"{self.run}-{shuffle_key}", state.save(bucket), warm)
        yield _rows(outgoing, bucket, len(emitted.numbers), state.chunks.size_bytes, self.stage.title(bucket), change)

    def close(self) -> None:
        """Does nothing: Spark closes the state."""

    def _warm(self, shuffle_key: int, state: BucketState) -> WarmBucket:
        """The bucket of the state: from memory if the token fits, else made from the state."""
        kept = None if state.token is None else _warm.take(f"{self.run}-{shuffle_key}", state.token)
        return WarmBucket(state.open(self.stage.choice)) if kept is None else kept


def _rows(
    outgoing: list[Addressed], bucket: Bucket, instants: int, state_bytes: int, title: str | None, change: Change | None
) -> pd.DataFrame:
    """The blobs as rows, and one more row with the metrics of the bucket."""
    streams = bucket.position.streams
    metrics = {
        "watermark": bucket.watermark,
        "instants": instants,
        "entries": bucket.entries_held,
        "cells": bucket.cells_held,
        "state_bytes": state_bytes,
        "late": [stream.late for stream in streams],
        "seen": [stream.largest for stream in streams],
        "shed": [stream.shed for stream in streams],
        "read": bucket.rows_read if bucket.is_first else [0] * len(streams),  # all buckets know them; one reports
        "figures": _figures(bucket) if bucket.is_first else None,
        "plan": title if bucket.is_first else None,
        "change": None if change is None else str(change),
        "kept": bucket.kept,
        "missing_groups": bucket.missing_groups,
        "at_floor": bucket.at_floor,
    }
    rows = [{"stage": number, "bucket": shuffle_key, "blob": blob} for number, shuffle_key, blob in outgoing]
    rows.append({"stage": -1, "bucket": 0, **metrics})
    columns = ["stage", "bucket", "blob", *metrics]
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in columns})


def _figures(bucket: Bucket) -> list[float | None]:
    """The measured figures of all streams, one stream after another."""
    measured = [bucket.observed.figures(stream) for stream in range(bucket.timing.streams)]
    return [None if known is None else getattr(known, name) for known in measured for name in FIGURES]
