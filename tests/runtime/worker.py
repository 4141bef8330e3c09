"""A worker of Spark with a state in memory: a processor that is fed one bucket's micro-batches."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.codec import decode
from joinfold.operators.merging.merge import merge
from joinfold.operators.packing.routing import Addressed, pack
from joinfold.operators.state.bucket_state import POSITION
from joinfold.physical.stage import Merge
from joinfold.reference.rows import from_arrow
from joinfold.runtime.stages import StageRun
from joinfold.runtime.streaming import StageProcessor
from joinfold.runtime.workers import StatefulTask
from tests.operators.runs import Data, plan_of, tables_of

WINDOW = "[4 MICROSECOND SLIDE 2 MICROSECOND]"
TEXT = f"SELECT COUNT(*) AS n, MAX(a.v) AS m, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
PLAN = plan_of(TEXT, "k STRING, v BIGINT")
BATCHES: list[Data] = [
    {name: [{"ts": ts, "k": "xy"[ts % 2], "v": ts} for ts in range(start, start + 3)] for name in ("a", "b")}
    for start in range(0, 18, 3)
]


class Store:
    """A state store of one key: what a batch writes is there for good only when it is committed."""

    def __init__(self) -> None:
        self.committed: dict[Any, Any] = {}
        self.written: dict[Any, Any] = {}
        self.commits = 0

    def begin(self) -> None:
        self.written = deepcopy(self.committed)

    def commit(self) -> None:
        self.committed = deepcopy(self.written)
        self.commits += 1

    # what a handle and its state offer
    def getMapState(self, name: str, key: str, value: str) -> "Store":  # noqa: N802
        return self

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.written.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.written[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.written[key]


def only_the_position(store: Store) -> Callable[[Any], Any]:
    """Reading that fails for entries."""
    return lambda key: store.written.get(key) if key == POSITION else pytest.fail("the state was read")


class Worker:
    """A processor with its store, fed with the micro-batches of one of its buckets."""

    def __init__(self, shuffle_keys: tuple[int, ...] = (5,)) -> None:
        self.store, self.shuffle_keys = Store(), shuffle_keys
        self.processor = StageProcessor(StageRun(PLAN.pipeline, 0, PLAN.choice, shuffle_keys, (5,)))
        self.processor.init(self.store)  # type: ignore[arg-type]

    def handled(self, batch: Data, shuffle_key: int = 5, passing: Sequence[Addressed] = ()) -> pd.DataFrame:
        """One try at a micro-batch of a bucket, not committed: the rows that go on. Other stages read ``passing``."""
        self.store.begin()
        self.processor.task = StatefulTask(self.store.commits, 0, 1)
        tables, found = tables_of(PLAN, batch), list(passing)
        for stream, frame in enumerate(PLAN.frames):
            rows = frame_batch(frame, tables[frame.input.source.name])
            found += pack(PLAN.pipeline, stream, self.shuffle_keys, rows)
        own = [blob for blob in found if blob[1] == shuffle_key]
        arrived = pd.DataFrame(own, columns=["stage", "bucket", "blob"])
        (answered,) = self.processor.handleInputRows((shuffle_key,), iter([arrived]), None)
        return answered

    def attempt(self, batch: Data) -> list[tuple[Any, ...]]:
        """The answers of one try at a micro-batch, not committed."""
        parts = [decode(bytes(blob))[0] for blob in self.handled(batch)["blob"].dropna()]
        if not parts:
            return []
        last = PLAN.pipeline.last
        assert isinstance(last, Merge)
        rows = from_arrow(pa.Table.from_batches([merge(last, parts)]))
        return [(row["instant"], *(row[f"aggregate_{number}"] for number in range(3))) for row in rows]

    def run(self, batch: Data) -> list[tuple[Any, ...]]:
        """The answers of a micro-batch that is committed."""
        answered = self.attempt(batch)
        self.store.commit()
        return answered
