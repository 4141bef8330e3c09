"""FOLD on Structured Streaming: one key a bucket, the entries of live cells in the state store.

The state of a bucket is its *moment* (a small blob) and its entries (`pieces`), in one map: Spark takes long to open a
state variable, in every task. What is made from them is kept warm between micro-batches, under the token of the moment
that it belongs to.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from joinfold.errors import EvaluationError
from joinfold.operators.bucket import Bucket, Moment
from joinfold.operators.codec import decode, encode
from joinfold.operators.timeline import Clock, Occupancy
from joinfold.runtime.blobs import BLOBS, Addressed
from joinfold.runtime.handle import FIGURES, METRIC_COLUMNS, observed
from joinfold.runtime.pieces import Pieces
from joinfold.runtime.stages import FoldStage
from joinfold.runtime.warm import WarmFolds, shared_folder
from joinfold.runtime.workers import settle

ROWS = f"{BLOBS}, {METRIC_COLUMNS}"

_warm = WarmFolds(shared_folder)


class FoldProcessor(StatefulProcessor):
    """FOLD for `transformWithStateInPandas`: decodes, folds, encodes."""

    def __init__(self, stage: FoldStage, run: str) -> None:
        self.stage = stage
        self.run = f"{run}-{stage.number}"

    @classmethod
    def over(cls, grouped: GroupedData, stage: FoldStage, run: str) -> DataFrame:
        """What all buckets have noted, and what is for later folds, of a run by its name."""
        processor = cls(stage, run)
        rows = grouped.transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=ROWS, outputMode="Append", timeMode="None"
        )
        return observed(rows, stage.layout.streams, processor.run)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        settle()
        self.kept = handle.getMapState("moment", "number long", "blob binary")  # a value once: Spark refuses that state

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """A micro-batch of a bucket."""
        bucket = int(key[0])
        pieces, fold = self._fold(bucket)
        blobs = [row for frame in rows for row in zip(frame["fold"], frame["bucket"], frame["blob"], strict=True)]
        pieces.add(fold.absorb(blob for number, _, blob in blobs if number == self.stage.number))
        answered = fold.answer()
        pieces.add(fold.take_made())
        noted = [row for row in blobs if row[0] != self.stage.number]
        noted += self.stage.split(bucket, answered)
        pieces.forget(fold.is_done)
        pieces.merge(fold)
        change = self.stage.follow(fold)
        facts = {"token": uuid.uuid4().hex, "identity": self.stage.identity, **pieces.facts()}
        self.kept.updateValue(_MOMENT, (encode(_NO_ROWS, facts | _moment_facts(fold.moment)),))
        _warm.keep(f"{self.run}-{bucket}", facts["token"], fold)
        yield _rows(noted, fold, len(answered.numbers), pieces.size_bytes, self.stage.title(fold), change)

    def close(self) -> None:
        """Nothing to close: the state is Spark's."""

    def _fold(self, bucket: int) -> tuple[Pieces, Bucket]:
        """The bucket as the state has it, from memory where the token fits."""
        stored = self.kept.getValue(_MOMENT)
        if stored is None:
            return Pieces(self.kept), self.stage.fold_for(bucket)
        _, facts = decode(bytes(stored[0]))
        if facts["identity"] != self.stage.identity:
            hint = "start the query that made it, with as many partitions, or use another checkpoint directory."
            raise EvaluationError("the checkpoint belongs to another query, or to another number of partitions", hint)
        pieces = Pieces(self.kept, facts)
        fold = _warm.take(f"{self.run}-{bucket}", facts["token"])
        if fold is None:
            fold = self.stage.fold_for(bucket)
            for place, batch in pieces.read():
                fold.add(place, batch)
            fold.moment = _moment_from(facts)
            fold.resume()
        return pieces, fold


def _rows(
    noted: list[Addressed], fold: Bucket, instants: int, state_bytes: int, title: str | None, change: str | None
) -> pd.DataFrame:
    """The noted answers, and one more row with the bucket's metrics."""
    moment = fold.moment
    metrics = {
        "watermark": fold.watermark,
        "instants": instants,
        "entries": fold.entries_held,
        "cells": fold.cells_held,
        "state_bytes": state_bytes,
        "late": moment.late,
        "seen": moment.clock.largest,
        "read": fold.rows_read if fold.is_first else [0] * fold.layout.streams,  # every bucket knows them; one says so
        "figures": _figures(fold) if fold.is_first else None,
        "plan": title if fold.is_first else None,
        "change": change,
    }
    rows = [{"fold": number, "bucket": label, "blob": blob} for number, label, blob in noted]
    rows.append({"fold": -1, "bucket": 0, **metrics})
    columns = ["fold", "bucket", "blob", *metrics]
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in columns})


def _figures(fold: Bucket) -> list[float | None]:
    """What is measured of each stream, one after another."""
    measured = [fold.observed.figures(stream) for stream in range(fold.layout.streams)]
    return [None if known is None else getattr(known, name) for known in measured for name in FIGURES]


_MOMENT = (-1,)  # the numbers of pieces begin with 0
_NO_ROWS = pa.RecordBatch.from_pydict({"cell": pa.array([], pa.int64())})


def _moment_facts(moment: Moment) -> dict[str, Any]:
    return {
        "clock": moment.clock.to_array().tolist(),
        "occupancy": [cells.tolist() for cells in moment.occupancy.to_arrays()],
        "answered": moment.answered,
        "applied": moment.applied,
        "late": moment.late,
        "numbered": moment.numbered,
        "moved": moment.moved,
        "origins": moment.origins,
    }


def _moment_from(facts: dict[str, Any]) -> Moment:
    return Moment(
        Clock.from_array(np.array(facts["clock"], np.int64)),
        Occupancy.from_arrays([np.array(cells, np.int64) for cells in facts["occupancy"]]),
        facts["answered"],
        facts["applied"],
        facts["late"],
        facts["numbered"],
        facts["moved"],
        facts["origins"],
    )
