"""Stages on Structured Streaming: each bucket is a grouping key, with its state in the state store.

The bucket in memory is made from the state (`operators.state`) and kept warm between micro-batches, under a token that
is also in the state.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from joinfold.operators.packing.routing import Addressed
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.state.bucket_state import BucketState
from joinfold.planner.adapting import Change
from joinfold.runtime.blobs import BLOBS
from joinfold.runtime.checkpoints.manifest import STATE_NAME
from joinfold.runtime.progress import FIGURES, METRIC_COLUMNS, observed
from joinfold.runtime.shuffle_keys import keys_in_partition
from joinfold.runtime.stages import StageRun
from joinfold.runtime.warm import WarmBucket, WarmBuckets, shared_folder
from joinfold.runtime.workers import StatefulTask, prepare_worker

ROWS = f"{BLOBS}, {METRIC_COLUMNS}"
COLUMNS = tuple(column.split()[0] for column in ROWS.split(", "))

_warm = WarmBuckets(shared_folder)


class StageProcessor(StatefulProcessor):
    """A stage for `transformWithStateInPandas`: it decodes, calls the bucket, and encodes."""

    def __init__(self, stage: StageRun) -> None:
        self.stage = stage
        self.run = f"{stage.run.name}-{stage.number}"

    @classmethod
    def over(cls, grouped: GroupedData, stage: StageRun) -> DataFrame:
        """The blobs that all buckets emit, and those for later stages."""
        processor = cls(stage)
        rows = grouped.transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=ROWS, outputMode="Append", timeMode="None"
        )
        return observed(rows, stage.pipeline.timing.streams, processor.run)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state, for one task."""
        prepare_worker()
        self.handle = handle
        self.kept = handle.getMapState(STATE_NAME, "number long", "blob binary")
        self.task = StatefulTask.current()
        self.called: set[int] = set()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Processes a micro-batch of a bucket."""
        shuffle_key, number = int(key[0]), self.stage.number
        self.called.add(shuffle_key)
        state = self._state(shuffle_key)
        warm = self._warm(shuffle_key, state)
        bucket = warm.bucket
        blobs = [row for frame in rows for row in zip(frame["stage"], frame["bucket"], frame["blob"], strict=True)]
        state.chunks.add(bucket.absorb(blob for own, _, blob in blobs if own == number))
        outgoing, instants = _rows((row for row in blobs if row[0] != number), 0), 0
        for piece, emitted in enumerate(bucket.answer()):
            if piece:
                yield _frame(outgoing)
                outgoing = []
            outgoing += _rows(self.stage.split(shuffle_key, emitted), piece)
            instants += len(emitted.numbers)
        state.chunks.add(bucket.take_made())
        state.chunks.forget(bucket.is_done)
        if bucket.has_shed_more:
            state.chunks.thin(bucket)
        state.chunks.merge(bucket)
        warm.compared, change = self.stage.follow(bucket, warm.compared)
        _warm.keep(f"{self.run}-{shuffle_key}", state.save(bucket), warm)
        metrics = _metrics(bucket, instants, state.chunks.size_bytes, self.stage.title(bucket), change)
        yield _frame([*outgoing, metrics])

    def close(self) -> None:
        """Stores the positions of buckets in this partition that got nothing. Spark calls it at the end of every task.

        No bucket gets anything if no task reads a source, as when all new files are empty.
        """
        if self.task is None:  # Spark only asks which state variables there are
            return
        for shuffle_key in keys_in_partition(self.stage.buckets, self.task.partition, self.task.partitions):
            if shuffle_key not in self.called:
                self.handle._statefulProcessorApiClient.set_implicit_key((shuffle_key,))
                self._state(shuffle_key).skip(self.stage.choice)

    def _state(self, shuffle_key: int) -> BucketState:
        assert self.task is not None
        return BucketState(
            self.kept, self.stage.pipeline, self.stage.state_id(shuffle_key, self.task.batch), len(self.stage.buckets)
        )

    def _warm(self, shuffle_key: int, state: BucketState) -> WarmBucket:
        """The bucket of the state: from memory if the token fits, else made from the state."""
        kept = None if state.token is None else _warm.take(f"{self.run}-{shuffle_key}", state.token)
        return WarmBucket(state.open(self.stage.choice)) if kept is None else kept


def _rows(blobs: Iterable[Addressed], piece: int) -> list[dict[str, Any]]:
    """Blobs of a piece as rows."""
    names = ("stage", "bucket", "blob")
    return [dict(zip(names, blob, strict=True)) | {"piece": piece} for blob in blobs]


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in COLUMNS})


def _metrics(
    bucket: Bucket, instants: int, state_bytes: int, title: str | None, change: Change | None
) -> dict[str, Any]:
    """The metrics of a bucket as a row."""
    streams = bucket.position.streams
    return {
        "stage": -1,
        "bucket": 0,
        "watermark": bucket.watermark,
        "instants": instants,
        "entries": bucket.entries_held,
        "cells": bucket.cells_held,
        "state_bytes": state_bytes,
        "late": [stream.late for stream in streams],
        "seen": [stream.largest for stream in streams],
        "shed": [stream.shed for stream in streams],
        "ahead": [stream.ahead for stream in streams],
        "idle": bucket.position.idle(bucket.timing.idles_us),
        "read": bucket.rows_read if bucket.is_first else [0] * len(streams),  # all buckets know them; one reports
        "figures": _figures(bucket) if bucket.is_first else None,
        "plan": title if bucket.is_first else None,
        "change": None if change is None else str(change),
        "kept": bucket.kept,
        "missing_groups": bucket.missing_groups,
        "at_floor": bucket.at_floor,
    }


def _figures(bucket: Bucket) -> list[float | None]:
    """The measured figures of all streams, one stream after another."""
    measured = [bucket.observed.figures(stream) for stream in range(bucket.timing.streams)]
    return [None if known is None else getattr(known, name) for known in measured for name in FIGURES]
