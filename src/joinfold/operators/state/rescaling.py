"""Rescaling: the state of a query in another number of buckets, as if it had always run with that number.

    stored in a bucket                              goes to
    entries, rows that wait, rows inside            the bucket of their key
    row boundaries, arrivals, replicated inputs     every bucket: all buckets have the same, so one of them is read
    rows that wait for their numbers                the bucket that numbers their stream
    rows of the view of a fold                      no bucket: the buckets of the fold have other totals now, so the
                                                    view is computed again
    what was seen of time, rates of SHED            every bucket: all buckets have the same
    how many rows were late or shed                 bucket 0, which gets the sum

All buckets of a stage have seen the same of time. Only a plain join moves each bucket to the instants of its own rows.
There the bucket that has moved furthest *leads*: what has left its windows by then has left those of all buckets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from joinfold.operators.calendars.position import Position
from joinfold.operators.packing.routing import entries_by_bucket, numbering_bucket, view_entries
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.fold import Fold
from joinfold.operators.state.bucket_state import BucketState, new_facts, store_facts
from joinfold.operators.state.chunks import Chunks
from joinfold.operators.state.schema import identity_facts
from joinfold.operators.state.state_id import StateId
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import TURN
from joinfold.physical.plan import Pipeline
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import FoldAtInstants, View, inputs_of, is_replicated
from joinfold.physical.stored import ArrivalsOf, BoundariesOf, EntriesOf, Inside, OrderOf, Stored, Waiting

COUNTERS = ("late", "shed", "unprobed")  # what each bucket counts by itself
Stock = list[tuple[int, Stored, pa.RecordBatch]]  # everything that is stored, each part with its old bucket


class BucketMap(dict[tuple[int], tuple[bytes]]):
    """What a bucket has in the state store, in memory."""

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:  # noqa: N802
        """The value of a key, or None."""
        return self.get(key)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:  # noqa: N802
        """Sets the value of a key."""
        self[key] = value

    def removeKey(self, key: tuple[int]) -> None:  # noqa: N802
        """Removes a key."""
        del self[key]


@dataclass(frozen=True, slots=True)
class Rescaling:
    """A query that is rescaled after micro-batch ``batch``, from one checkpoint into another.

    ``checkpoint`` is the id of the old checkpoint, None if it has none.
    """

    pipeline: Pipeline
    choices: Sequence[FoldChoice]
    batch: int
    checkpoint: str | None
    new_checkpoint: str

    def rescaled(self, old: Sequence[Sequence[BucketMap]], buckets: int) -> list[list[BucketMap]]:
        """The maps of all stages, each in so many buckets; ``old`` has those of the old buckets.

        Raises `EvaluationError` if the state is not that of the query after this micro-batch.
        """
        new: list[list[BucketMap]] = []
        views: dict[int, Stock] = {number: [] for number in range(len(old))}
        for number, maps in enumerate(old):
            states = [self._opened(self.checkpoint, number, bucket, maps) for bucket in range(len(maps))]
            new.append(self._rescaled_stage(number, states, views[number], buckets))
            if self._makes_view_of_totals(number):
                for bucket in range(buckets):
                    reader, rows = self._view(number, self._opened(self.new_checkpoint, number, bucket, new[number]))
                    views[reader] += rows
        return new

    def _opened(self, checkpoint: str | None, stage: int, bucket: int, maps: Sequence[BucketMap]) -> BucketState:
        """The state of a bucket, as the next micro-batch opens it."""
        next_id = StateId(checkpoint, stage, bucket, self.batch + 1)
        return BucketState(maps[bucket], self.pipeline, next_id, len(maps))

    def _rescaled_stage(
        self, number: int, states: Sequence[BucketState], views: Stock, buckets: int
    ) -> list[BucketMap]:
        """The maps of a stage; ``views`` are the rows of views that were computed again."""
        facts = [state.facts for state in states if state.facts is not None]
        assert len(facts) == len(states), "a bucket has state after every micro-batch"
        positions = [Position.from_facts(own["position"], self.pipeline.timing.names) for own in facts]
        leader = max(range(len(states)), key=lambda bucket: _moved_to(positions[bucket]))
        stock = [(bucket, *part) for bucket, state in enumerate(states) for part in state.chunks.read()]
        stock, turns = with_new_turns([part for part in stock if not self._is_computed_again(number, part[1])])
        accepted: list[Accepted] = [[] for _ in range(buckets)]
        for bucket, stored, batch in [*stock, *views]:
            for own, part in zip(
                accepted, self._divided(number, stored, batch, bucket == leader, buckets), strict=True
            ):
                own += [(stored, part)] if part.num_rows else []
        maps = [BucketMap() for _ in range(buckets)]
        for bucket, map_ in enumerate(maps):
            chunks = Chunks(map_, draws=states[0].chunks.draws)
            chunks.add(accepted[bucket])
            position = _position(positions, leader, turns, is_first=bucket == 0)
            new = new_facts(self.pipeline, identity_facts(self.pipeline, number, buckets), position, chunks)
            new |= {"shedding": facts[leader]["shedding"]} if "shedding" in facts[leader] else {}
            new["state_id"] = StateId(self.new_checkpoint, number, bucket, self.batch).facts()
            store_facts(map_, new)
        return maps

    def _divided(
        self, number: int, stored: Stored, batch: pa.RecordBatch, leads: bool, buckets: int
    ) -> list[pa.RecordBatch]:
        """What each new bucket gets of something that is stored in an old one, which leads or not."""
        stage, names = self.pipeline.stages[number], self.pipeline.timing.names
        match stored:
            case EntriesOf(input=name):
                ordinal = next(at for at, spec in enumerate(inputs_of(stage)) if spec.name == name)
                is_own = leads or not is_replicated(stage, ordinal) or self._is_computed_again(number, stored)
                return entries_by_bucket(stage, ordinal, batch if is_own else batch.slice(0, 0), buckets)
            case Waiting() | Inside():
                return entries_by_bucket(stage, 0, batch, buckets)
            case BoundariesOf() | ArrivalsOf():
                return [batch if leads else batch.slice(0, 0)] * buckets
            case OrderOf(stream=name):
                at = numbering_bucket(names.index(name), buckets)
                return [batch if bucket == at else batch.slice(0, 0) for bucket in range(buckets)]
            case _:
                assert_never(stored)

    def _view(self, number: int, state: BucketState) -> tuple[int, Stock]:
        """The stage that reads the view of a fold, and all rows that a new bucket of the fold has in the view."""
        fold, bucket = state.open(self.choices[number]), state.state_id.bucket
        assert isinstance(fold, Fold)
        reader, groups = self.pipeline.reader_of(number), _whole_view(fold)
        if groups is None:
            return reader, []
        _, ordinal, rows = view_entries(self.pipeline, number, bucket, groups)
        return reader, [(bucket, EntriesOf(inputs_of(self.pipeline.stages[reader])[ordinal].name), rows)]

    def _makes_view_of_totals(self, number: int) -> bool:
        match self.pipeline.stages[number]:
            case FoldAtInstants(output=View()):
                return True
            case _:
                return False

    def _is_computed_again(self, number: int, stored: Stored) -> bool:
        """Whether something that a stage stores is the view of a fold."""
        specs = {spec.name: spec.source for spec in inputs_of(self.pipeline.stages[number])}
        source = specs.get(stored.input) if isinstance(stored, EntriesOf) else None
        return isinstance(source, ViewOf) and self._makes_view_of_totals(source.stage)


def with_new_turns(stock: Stock) -> tuple[Stock, int]:
    """Rows inside with other turns, and how many turns there are.

    Old buckets have given the same turns. The new ones differ, and rows of one old bucket stay in their order.
    """
    inside = [(bucket, batch.column(TURN).to_numpy()) for bucket, stored, batch in stock if stored == Inside()]
    if not inside:
        return stock, 0
    pairs = np.concatenate([np.stack([turns, np.full(len(turns), bucket)], axis=1) for bucket, turns in inside])
    different, turn_of_row = np.unique(pairs, axis=0, return_inverse=True)
    given, found, at = turn_of_row.reshape(-1) + 1, Stock(), 0
    for bucket, stored, batch in stock:
        if stored == Inside():
            turns = pa.array(given[at : at + batch.num_rows].astype(np.int64))
            at += batch.num_rows
            batch = batch.set_column(batch.schema.get_field_index(TURN), TURN, turns)
        found.append((bucket, stored, batch))
    return found, len(different)


def _whole_view(fold: Fold) -> pa.RecordBatch | None:
    """All groups of a view as they are now, as if its reader had none of them yet."""
    applied = fold.position.applied
    if applied is None:
        return None
    fold.live.touch_all_groups()
    fold.emit(applied, applied)
    return fold.live.emitted()


def _moved_to(position: Position) -> tuple[bool, int]:
    """Orders positions by the instant to which their windows have moved."""
    return position.applied is not None, position.applied or 0


def _position(positions: Sequence[Position], leader: int, turns: int, is_first: bool) -> Position:
    """The position of a new bucket. A bucket of `LastRowsPerKey` continues after all numbers that were given."""
    streams = []
    for number, stream in enumerate(positions[leader].streams):
        same = [position.streams[number] for position in positions]
        facts: dict[str, Any] = {name: sum(getattr(own, name) for own in same) * is_first for name in COUNTERS}
        facts["numbered"] = max(turns, *(own.numbered for own in same))
        facts["moved"] = max(own.moved for own in same)
        streams.append(replace(stream, **facts))
    return replace(positions[leader], streams=streams)
