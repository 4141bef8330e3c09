"""Runs a plan on buckets in this process: micro-batches and answers are Arrow tables.

    rows ──▶ frames ──▶ PACK ──▶ FOLD, per bucket ──▶ MERGE ──▶ HAVING, SELECT
            (columnar)   blobs                                   (columnar)

PACK, FOLD and MERGE are those that run on Spark, with the same blobs between them. Only the expressions that Spark
would evaluate are evaluated by `columnar` here, with timestamps read in UTC. Only the time of PACK and FOLD is
measured, so methods and structures can be compared without the overhead of a cluster.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from time import process_time, time_ns

import pyarrow as pa

from joinfold.arrow import arrow_schema
from joinfold.errors import UsageError
from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.relations import AliasedRows, attached_sides
from joinfold.inprocess.rows import Arrival, Rows
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.routing import Addressed, pack, pass_on
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.planner.adapting import Change
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics


@dataclass(slots=True)
class Measures:
    """What a run has cost so far.

    ``rows`` counts each row of a stream once. Seconds are CPU seconds, which other processes hardly disturb.
    ``fold_seconds`` is the time to absorb entries and to answer. ``touched`` counts the members that structures have
    visited; it is 0 for plans without structures. Bytes are those of windows and kept combinations, measured after each
    answer.
    """

    rows: int = 0
    pack_seconds: float = 0.0
    fold_seconds: float = 0.0
    touched: int = 0
    bytes_held: int = 0
    most_bytes_held: int = 0


class InProcess:
    """A query that is fed one micro-batch after another.

    PACK makes one entry from all rows of a cell with equal keys and groups, as on Spark; with ``by_row``, one per row.
    """

    def __init__(self, plan: PlannedQuery, buckets: int = 1, by_row: bool = False) -> None:
        if buckets < 1:
            raise UsageError(f"a query cannot run on {buckets} buckets", "give a number of at least 1.")
        self.plan = plan
        self.by_row = by_row
        self.shuffle_keys = tuple(range(buckets if plan.pipeline.is_distributed else 1))
        self.buckets: list[Bucket] = [  # all of the first stage, then all of the next
            open_bucket(stage, plan.timing, number, choice, plan.pipeline.shedding)
            for stage, choice in zip(plan.stages, plan.choices, strict=True)
            for number in self.shuffle_keys
        ]
        self.compared: dict[int, Statistics | None] = {}
        self.measures = Measures()
        self.changes: list[Change] = []
        self._batches = 0
        self._tables: dict[str, Rows] = {}
        self._sides: dict[int, tuple[AliasedRows, ...]] = {}

    @property
    def late(self) -> dict[str, int]:
        """The rows of each input that passed its filters and came too late."""
        return {
            frame.input.alias: sum(bucket.position.streams[stream].late for bucket in self.buckets)
            for stream, frame in enumerate(self.plan.frames)
        }

    @property
    def ahead(self) -> dict[str, int]:
        """The rows of each input that passed its filters and lay ahead of their micro-batch. All buckets know them."""
        streams = self.buckets[0].position.streams
        return {frame.input.alias: streams[stream].ahead for stream, frame in enumerate(self.plan.frames)}

    @property
    def shed(self) -> dict[str, int]:
        """The rows of each input that were not held, by SHED."""
        return {
            frame.input.alias: sum(bucket.position.streams[stream].shed for bucket in self.buckets)
            for stream, frame in enumerate(self.plan.frames)
        }

    @property
    def unprobed(self) -> dict[str, int]:
        """The rows of each input that SHED did not let probe."""
        return {
            frame.input.alias: sum(bucket.position.streams[stream].unprobed for bucket in self.buckets)
            for stream, frame in enumerate(self.plan.frames)
        }

    def feed(
        self, data: Mapping[str, Rows], arrival: Arrival | None = None, clock_us: int | None = None
    ) -> list[Accepted]:
        """Takes in a micro-batch: rows by the name of their stream. Streams that the query does not read are ignored.

        ``arrival`` is the time, in microseconds, of rows whose stream has no time column: one for all rows, or for each
        stream the times of its rows. By default micro-batches arrive at 1, 2, …

        All rows of a relation must come at once, with the first rows of a stream or before. ``clock_us`` is the time of
        the micro-batch; by default it is the time now. Budgets in wall-clock time read it, and so does ``ahead`` of a
        stream.

        Returns what each bucket has to store.
        """
        self._take_tables(data)
        self._batches += 1
        arrival = self._batches if arrival is None else arrival
        clock_us = time_ns() // 1000 if clock_us is None else clock_us
        blobs: list[list[bytes]] = [[] for _ in self.buckets]
        for stream, frame in enumerate(self.plan.frames):
            rows = data.get(frame.input.source.name)
            if rows is not None and rows.num_rows:
                ahead_us = frame.input.source.ahead_us if self.plan.timing.has_ahead[stream] else None
                last_us = None if ahead_us is None else clock_us + ahead_us
                batch = frame_batch(frame, rows, self._sides_of(stream), arrival, last_us)
                for stage, shuffle_key, blob in self._packed(stream, batch, clock_us):
                    blobs[stage * len(self.shuffle_keys) + shuffle_key].append(blob)
        names = {frame.input.source.name for frame in self.plan.frames} & data.keys()
        self.measures.rows += sum(data[name].num_rows for name in names)
        start = process_time()
        accepted = [bucket.absorb(own) for bucket, own in zip(self.buckets, blobs, strict=True)]
        for number, more in enumerate(self._make_views()):
            accepted[number] += more
        self.measures.fold_seconds += process_time() - start
        return accepted

    def answer(self, to_the_end: bool = False) -> pa.Table:
        """The answers that have become final since the last call, with the query's schema.

        ``to_the_end`` also gives all remaining ones: no more rows will come.
        """
        found = (finished(self.plan.pipeline.last, emitted) for emitted in self._pieces(to_the_end))
        tables = [answer_table(self.plan, answers) for answers in found if answers is not None]
        return pa.concat_tables(tables) if tables else arrow_schema(self.plan.query.schema).empty_table()

    def _pieces(self, to_the_end: bool) -> Iterator[tuple[Emitted, ...]]:
        """What all buckets of the answering stage emit, piece by piece; then each may follow the data."""
        start = process_time()
        if to_the_end:
            self._make_views(to_the_end)
        answering = [bucket.answer(to_the_end) for bucket in self.buckets[-len(self.shuffle_keys) :]]
        for emitted in zip_longest(*answering, fillvalue=NOTHING_EMITTED):
            self.measures.fold_seconds += process_time() - start
            yield emitted
            start = process_time()
        if not to_the_end:
            self._follow()
        self.measures.fold_seconds += process_time() - start
        self._weigh()

    def _take_tables(self, data: Mapping[str, Rows]) -> None:
        for name in {input_.source.name for input_ in self.plan.query.inputs if input_.window is None} & data.keys():
            if self._tables.setdefault(name, data[name]) is not data[name] and data[name].num_rows:
                raise UsageError(f"relation '{name}' was given twice", "give all rows of a relation at once.")

    def _sides_of(self, stream: int) -> tuple[AliasedRows, ...]:
        """The relations that are attached to a stream, joined when its first rows come."""
        frame = self.plan.frames[stream]
        if stream not in self._sides:
            for name in (relation.source.name for attached in frame.attached for relation in attached.relations):
                if name not in self._tables:
                    hint = "give its rows with the first rows of a stream, or before."
                    raise UsageError(f"relation '{name}' has not been given yet", hint)
            self._sides[stream] = attached_sides(frame, self._tables)
        return self._sides[stream]

    def _make_views(self, to_the_end: bool = False) -> list[Accepted]:
        """Lets all stages except the last answer into their views; returns what each bucket has to store."""
        each, pipeline = len(self.shuffle_keys), self.plan.pipeline
        accepted: list[Accepted] = [[] for _ in self.buckets]
        for stage in range(len(pipeline.stages) - 1):
            blobs: dict[int, list[bytes]] = {}
            for shuffle_key in self.shuffle_keys:
                bucket = self.buckets[stage * each + shuffle_key]
                for emitted in bucket.answer(to_the_end):
                    for reader, other, blob in pass_on(pipeline, stage, shuffle_key, self.shuffle_keys, emitted):
                        blobs.setdefault(reader * each + other, []).append(blob)
                accepted[stage * each + shuffle_key] += bucket.take_made()
            for number, own in blobs.items():
                accepted[number] += self.buckets[number].absorb(own)
        return accepted

    def _packed(self, stream: int, batch: pa.RecordBatch, clock_us: int) -> list[Addressed]:
        start = process_time()
        packed = list(pack(self.plan.pipeline, stream, self.shuffle_keys, batch, self.by_row, clock_us=clock_us))
        self.measures.pack_seconds += process_time() - start
        return packed

    def _follow(self) -> None:
        """Lets each bucket change to a cheaper choice if there is one."""
        following, plan = self.plan.following, self.plan
        if following is None:
            return
        for bucket in self.buckets[-len(self.shuffle_keys) :]:
            measured, compared = bucket.measured(), self.compared.get(bucket.number)
            if measured is None:
                continue
            comparison = following.compare(plan.answering, plan.timing, bucket.choice, measured, compared)
            self.compared[bucket.number] = comparison.statistics
            if comparison.choice is not None:
                bucket.go_on_with(comparison.choice)
            self.changes += [] if comparison.change is None else [comparison.change]

    def _weigh(self) -> None:
        measures = self.measures
        measures.touched = sum(bucket.touched for bucket in self.buckets)
        measures.bytes_held = sum(bucket.bytes_held for bucket in self.buckets)
        measures.most_bytes_held = max(measures.most_bytes_held, measures.bytes_held)
