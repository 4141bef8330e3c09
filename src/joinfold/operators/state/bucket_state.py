"""A bucket and its durable state: its *position*, a small blob, and its entries in chunks, all in one map.

Spark takes long to open a state variable, and does it in every task, so there is only one. A worker keeps the open
bucket in memory between micro-batches, under a token that is also stored. Where the tokens differ, after a failure or
on another machine, the bucket is opened from the state.

The store may be any map: Spark's, or a dict in a test.
"""

import uuid
from typing import Any

from joinfold.errors import EvaluationError
from joinfold.operators.calendars.position import Position
from joinfold.operators.codec import decode, encode
from joinfold.operators.packing.routing import NO_ROWS
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.operators.state.chunks import Chunks, Store
from joinfold.operators.state.key_draws import KeyDraws
from joinfold.operators.state.schema import identity_facts, refuse_others, stored_columns
from joinfold.operators.state.state_id import StateId
from joinfold.physical.choice import FoldChoice
from joinfold.physical.plan import Pipeline
from joinfold.physical.stored import stored_name

POSITION = (-1,)  # chunks have the numbers from 0


class BucketState:
    """The state of one bucket of a stage, in a store. A micro-batch opens it, and stores it under ``state_id``."""

    def __init__(self, store: Store, pipeline: Pipeline, state_id: StateId, buckets: int) -> None:
        self.store = store
        self.pipeline = pipeline
        self.state_id = state_id
        self.stage = pipeline.stages[state_id.stage]
        self.identity = identity_facts(pipeline, state_id.stage, buckets)
        stored = store.getValue(POSITION)
        self.facts: dict[str, Any] | None = None if stored is None else decode(bytes(stored[0]))[1]
        if self.facts is not None:
            refuse_others(self.facts["identity"], self.identity)
        state_id.refuse_to_follow(self.facts)
        self.chunks = Chunks(store, self.facts, KeyDraws.of(pipeline, state_id.stage))

    @property
    def token(self) -> str | None:
        """The token that was stored with the position; None before the first `save`."""
        return None if self.facts is None else self.facts["token"]

    def open(self, choice: FoldChoice) -> Bucket:
        """The bucket, opened from the state."""
        timing = self.pipeline.timing
        bucket = open_bucket(self.stage, timing, self.state_id.bucket, choice, self.pipeline.shedding)
        if self.facts is None:
            return bucket
        if bucket.shedder is not None:
            bucket.shedder.restore(self.facts["shedding"])
        orders = {name: self.pipeline.input_of(stream).order for stream, name in enumerate(timing.names)}
        for stored, batch in self.chunks.read():
            wanted = stored_columns(self.stage, stored, orders)
            missing = None if wanted is None else [name for name in wanted if name not in batch.schema.names]
            if wanted is None or missing:
                name = stored_name(stored)
                problem = f"'{name}' lacks {', '.join(missing)}" if missing else f"no input reads its '{name}'"
                raise EvaluationError(
                    f"the state does not fit this plan: {problem}",
                    "run the query with the release that wrote the checkpoint, or use another checkpoint directory.",
                )
            bucket.add(stored, batch.select(list(wanted)))
        bucket.resume(Position.from_facts(self.facts["position"], timing.names))
        return bucket

    def save(self, bucket: Bucket) -> str:
        """Stores the position of a bucket, whose entries are in the chunks already, and returns a new token."""
        facts = new_facts(self.pipeline, self.identity, bucket.position, self.chunks)
        if bucket.shedder is not None:
            facts["shedding"] = bucket.shedder.facts()
        self._store(facts)
        token: str = facts["token"]
        return token

    def skip(self, choice: FoldChoice) -> None:
        """Stores that the bucket got nothing in this micro-batch. The token stays, and so does what memory holds."""
        if self.facts is None:
            self.save(self.open(choice))
        else:
            self._store(self.facts)

    def _store(self, facts: dict[str, Any]) -> None:
        self.facts = facts | {"state_id": self.state_id.facts()}
        store_facts(self.store, self.facts)


def new_facts(pipeline: Pipeline, identity: dict[str, Any], position: Position, chunks: Chunks) -> dict[str, Any]:
    """What is stored beside the chunks of a bucket, with a new token."""
    facts = {"token": uuid.uuid4().hex, "identity": identity, "position": position.facts(pipeline.timing.names)}
    return facts | chunks.facts()


def store_facts(store: Store, facts: dict[str, Any]) -> None:
    """Stores the facts of a bucket."""
    store.updateValue(POSITION, (encode(NO_ROWS, facts),))
