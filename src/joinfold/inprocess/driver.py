"""A plan on buckets in this process: micro-batches go in as Arrow tables, answers come out as one.

    rows ──▶ frames ──▶ PACK ──▶ FOLD, per bucket ──▶ MERGE ──▶ HAVING, SELECT
            (columnar)   blobs                                   (columnar)

The stages in the middle are those that Spark runs, with the same blobs between them. Only what Spark evaluates itself
is evaluated by `columnar` here, with timestamps read in UTC. The time that PACK and FOLD take is measured, and nothing
else: so methods and structures can be compared without what a cluster adds to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time

import pyarrow as pa

from joinfold.arrow import arrow_schema
from joinfold.errors import UsageError
from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.relations import Side, attached_sides
from joinfold.inprocess.rows import Arrival, Rows
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.buckets import open_bucket
from joinfold.operators.chain import pack_for, pass_on
from joinfold.operators.changes import changes
from joinfold.operators.fold import Fold
from joinfold.operators.merge import merge, placed, together
from joinfold.planner.adapting import Change
from joinfold.planner.plan import PhysicalPlan


@dataclass(slots=True)
class Measures:
    """What a run has cost so far.

    ``rows`` counts each row of a stream once. Seconds are of CPU, which others on the machine do not disturb much;
    ``fold_seconds`` are those to absorb entries and to answer. ``touched`` counts the members that structures have
    looked at; plans without structures look at none. Bytes are those of the windows and of what is kept of
    combinations, seen after each answer.
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
        self.folds: list[Bucket] = [  # the buckets of the first fold of a chain, then those of the next
            open_bucket(layout, number, choice)
            for layout, choice in zip(plan.folds, plan.choices, strict=True)
            for number in self.labels
        ]
        self.measures = Measures()
        self.changes: list[Change] = []
        self._batches = 0
        self._tables: dict[str, Rows] = {}
        self._sides: dict[int, tuple[Side, ...]] = {}

    @property
    def late(self) -> dict[str, int]:
        """The rows of each input that passed its filters and came too late."""
        return {
            frame.input.alias: sum(fold.moment.late[place] for fold in self.folds)
            for place, frame in enumerate(self.plan.frames)
        }

    def feed(self, data: Mapping[str, Rows], arrival: Arrival | None = None) -> list[list[tuple[int, pa.RecordBatch]]]:
        """Takes in a micro-batch, as rows by the name of their stream; streams that are not read are left alone.

        ``arrival`` is the time of rows whose stream has no time column, in microseconds: one for all, or, by the name
        of the stream, that of each row; unless given, micro-batches arrive at 1, 2, …
        The rows of a relation come with the first rows of a stream or before, all at once; later it may have none.
        Gives back the new entries of each bucket, with their inputs: what a durable state would have to store.
        """
        self._take_tables(data)
        self._batches += 1
        arrival = self._batches if arrival is None else arrival
        blobs: list[list[bytes]] = [[] for _ in self.folds]
        for place, frame in enumerate(self.plan.frames):
            rows = data.get(frame.input.source.name)
            if rows is not None and rows.num_rows:
                batch = frame_batch(frame, rows, self._sides_of(place), arrival)
                for fold, label, blob in self._packed(place, batch):
                    blobs[fold * len(self.labels) + label].append(blob)
        names = {frame.input.source.name for frame in self.plan.frames} & data.keys()
        self.measures.rows += sum(data[name].num_rows for name in names)
        start = process_time()
        accepted = [fold.absorb(mine) for fold, mine in zip(self.folds, blobs, strict=True)]
        for number, more in enumerate(self._make_views()):
            accepted[number] += more
        self.measures.fold_seconds += process_time() - start
        return accepted

    def answer(self, to_the_end: bool = False) -> pa.Table:
        """What is final since the last answer, or all there is; columns and types are those of the query's schema."""
        start = process_time()
        if to_the_end:
            self._make_views(to_the_end)
        noted = [fold.answer(to_the_end) for fold in self.folds[-len(self.labels) :]]
        if not to_the_end:
            self._follow()
        self.measures.fold_seconds += process_time() - start
        self._weigh()
        finished = self._merged(noted)
        if finished is None:
            return arrow_schema(self.plan.query.schema).empty_table()
        return answer_table(self.plan, finished)

    def _take_tables(self, data: Mapping[str, Rows]) -> None:
        for name in {input_.source.name for input_ in self.plan.query.inputs if input_.window is None} & data.keys():
            if self._tables.setdefault(name, data[name]) is not data[name] and data[name].num_rows:
                raise UsageError(f"relation '{name}' is there already, and more rows of it come", "give it once.")

    def _sides_of(self, place: int) -> tuple[Side, ...]:
        """What is attached to an input, made when its first rows come."""
        frame = self.plan.frames[place]
        if place not in self._sides:
            for name in (relation.source.name for attached in frame.attached for relation in attached.relations):
                if name not in self._tables:
                    hint = "give them with the first rows of a stream, or before."
                    raise UsageError(f"there are no rows of relation '{name}' yet", hint)
            self._sides[place] = attached_sides(frame, self._tables)
        return self._sides[place]

    def _make_views(self, to_the_end: bool = False) -> list[list[tuple[int, pa.RecordBatch]]]:
        """Lets all folds but the last answer, each into the view of a later one; the new entries of each bucket."""
        each = len(self.labels)
        accepted: list[list[tuple[int, pa.RecordBatch]]] = [[] for _ in self.folds]
        for fold in range(len(self.plan.folds) - 1):
            blobs: dict[int, list[bytes]] = {}
            for label in self.labels:
                noted = self.folds[fold * each + label].answer(to_the_end)
                accepted[fold * each + label] += self.folds[fold * each + label].take_made()
                for reader, other, blob in pass_on(self.plan.folds, fold, label, self.labels, noted):
                    blobs.setdefault(reader * each + other, []).append(blob)
            for number, mine in blobs.items():
                accepted[number] += self.folds[number].absorb(mine)
        return accepted

    def _packed(self, place: int, batch: pa.RecordBatch) -> list[tuple[int, int, bytes]]:
        start = process_time()
        packed = list(pack_for(self.plan.folds, place, self.labels, batch, self.by_row))
        self.measures.pack_seconds += process_time() - start
        return packed

    def _merged(self, noted: list[Noted]) -> pa.RecordBatch | None:
        layout, first = self.plan.layout, noted[0]
        parts = [part.rows for part in noted if part.rows is not None]
        if not parts:
            return None
        finished = together(parts) if layout.is_plain else merge(layout, parts)
        if layout.changes:
            finished = changes(finished, first.numbers, first.before)
        if first.where is None:
            return finished
        return placed(finished, first.numbers, first.where, [field.name for field in self.plan.query.leading])

    def _follow(self) -> None:
        """Lets buckets go on with a cheaper plan if there is one."""
        if self.plan.following is not None:
            folds = [fold for fold in self.folds[-len(self.labels) :] if isinstance(fold, Fold)]
            self.changes += filter(None, map(self.plan.following.follow, folds))

    def _weigh(self) -> None:
        measures = self.measures
        measures.touched = sum(fold.touched for fold in self.folds)
        measures.bytes_held = sum(fold.bytes_held for fold in self.folds)
        measures.most_bytes_held = max(measures.most_bytes_held, measures.bytes_held)
