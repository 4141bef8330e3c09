"""A plan on buckets in this process: micro-batches go in as Arrow tables, answers come out as one.

    rows ──▶ frames ──▶ PACK ──▶ FOLD, per bucket ──▶ MERGE ──▶ HAVING, SELECT
            (columnar)   blobs                                   (columnar)

The stages in the middle are those that Spark runs, with the same blobs between them. Only what Spark evaluates itself
is evaluated by `columnar` here, with timestamps read in UTC. The time that PACK and FOLD take is measured, and nothing
else: so methods and structures can be compared without what a cluster adds to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

from joinfold.arrow import arrow_schema
from joinfold.errors import UsageError
from joinfold.inprocess.frames import Rows, frame_batch
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.arrivals import at_arrivals, pack_arrivals
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.buckets import open_bucket
from joinfold.operators.changes import changes
from joinfold.operators.merge import merge, together
from joinfold.operators.pack import pack
from joinfold.planner.plan import PhysicalPlan


@dataclass(slots=True)
class Measures:
    """What a run has cost so far.

    ``rows`` counts each row of a stream once. ``fold_seconds`` is the time to absorb entries and to answer.
    ``touched`` counts the members that structures have looked at; plans without structures look at none. Bytes are
    those of the windows and of what is kept of combinations, seen after each answer.
    """

    rows: int = 0
    pack_seconds: float = 0.0
    fold_seconds: float = 0.0
    touched: int = 0
    bytes_held: int = 0
    most_bytes_held: int = 0


class InProcess:
    """A query that is fed one micro-batch after another.

    PACK makes one entry of the rows of a cell with equal keys and groups, as on Spark; ``by_row``: of each row.
    """

    def __init__(self, plan: PhysicalPlan, buckets: int = 1, by_row: bool = False) -> None:
        if buckets < 1:
            raise UsageError(f"a query cannot run on {buckets} buckets", "give a number from 1 on.")
        self.plan = plan
        self.by_row = by_row
        self.labels = tuple(range(buckets if plan.layout.is_distributed else 1))
        self.folds: list[Bucket] = [open_bucket(plan.layout, number, plan.choice) for number in self.labels]
        self.measures = Measures()

    @property
    def late(self) -> dict[str, int]:
        """The rows of each input that passed its filters and came too late."""
        return {
            frame.input.alias: sum(fold.moment.late[place] for fold in self.folds)
            for place, frame in enumerate(self.plan.frames)
        }

    def feed(self, data: Mapping[str, Rows]) -> list[list[tuple[int, pa.RecordBatch]]]:
        """Takes in a micro-batch, as rows by the name of their stream; streams that are not read are left alone.

        Gives back the new entries of each bucket, with their inputs: what a durable state would have to store.
        """
        blobs: list[list[bytes]] = [[] for _ in self.labels]
        for place, frame in enumerate(self.plan.frames):
            rows = data.get(frame.input.source.name)
            if rows is not None and rows.num_rows:
                batch = frame_batch(frame, rows)
                for label, blob in self._packed(place, batch):
                    blobs[label].append(blob)
        names = {frame.input.source.name for frame in self.plan.frames} & data.keys()
        self.measures.rows += sum(data[name].num_rows for name in names)
        start = perf_counter()
        accepted = [fold.absorb(mine) for fold, mine in zip(self.folds, blobs, strict=True)]
        self.measures.fold_seconds += perf_counter() - start
        return accepted

    def answer(self, to_the_end: bool = False) -> pa.Table:
        """What is final since the last answer, or all there is; columns and types are those of the query's schema."""
        start = perf_counter()
        noted = [fold.answer(to_the_end) for fold in self.folds]
        self.measures.fold_seconds += perf_counter() - start
        self._weigh()
        finished = self._merged(noted)
        if finished is None:
            return arrow_schema(self.plan.query.schema).empty_table()
        return answer_table(self.plan, finished)

    def _packed(self, place: int, batch: pa.RecordBatch) -> list[tuple[int, bytes]]:
        layout = self.plan.layout
        start = perf_counter()
        if layout.on_arrival:
            packed = list(pack_arrivals(layout, place, self.labels, batch))
        else:
            packed = list(pack(layout, place, self.labels, batch, self.by_row))
        self.measures.pack_seconds += perf_counter() - start
        return packed

    def _merged(self, noted: list[Noted]) -> pa.RecordBatch | None:
        layout, first = self.plan.layout, noted[0]
        parts = [part.rows for part in noted if part.rows is not None]
        if not parts:
            return None
        finished = together(parts) if layout.is_plain else merge(layout, parts)
        if layout.changes:
            finished = changes(finished, first.numbers, first.before)
        return finished if first.arrivals is None else at_arrivals(finished, first.arrivals)

    def _weigh(self) -> None:
        measures = self.measures
        measures.touched = sum(fold.touched for fold in self.folds)
        measures.bytes_held = sum(fold.bytes_held for fold in self.folds)
        measures.most_bytes_held = max(measures.most_bytes_held, measures.bytes_held)
