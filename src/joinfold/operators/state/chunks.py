"""The entries of a bucket in the state store: in few blobs, however many micro-batches brought them.

Entries lie in *chunks*, of a size that the store handles well, and chunks form *runs*. The entries that a micro-batch
brings for an input are a fresh run. When an input has eight fresh runs they become one, together with older runs that
are at most twice as long:

    before   ■■■■■■■■■■ ■■■ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪        the last eight are fresh
    after    ■■■■■■■■■■ ■■■■■■■■■■■                 ■■■ is less than twice as long as the fresh runs together
    or       ■■■■■■■■■■ ■■■                         if most of the entries could be added up

So runs get shorter from old to new, there are few of them, and an entry is rewritten only a few times. Long runs are
not merged where that would save nothing, because they have different cells. A chunk is deleted when all its cells have
left their window.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any, Protocol

import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.operators.batches import by_cell, in_cell_order
from joinfold.operators.codec import decode, encode
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.operators.state.key_draws import NO_DRAWS, KeyDraws
from joinfold.physical.column_names import CELL
from joinfold.physical.stage import FoldAtArrivals
from joinfold.physical.stored import Stored, stored_facts, stored_from

ENTRIES_PER_CHUNK = 65_536
FRESH_RUNS = 8
LONGER = 2  # an older run may be this many times as long as the runs that it is merged with
OVERLAP = 1.5  # runs are merged if their cells together are this many times the range that they span


class Store(Protocol):
    """The map in Spark's state that holds the chunks."""

    def getValue(self, key: Any) -> Any:  # noqa: N802
        """The value of a key, or None."""

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        """Sets the value of a key."""

    def removeKey(self, key: Any) -> None:  # noqa: N802
        """Removes a key."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A blob of entries, sorted by cell."""

    number: int
    last_cell: int
    entries: int
    size_bytes: int


@dataclass(slots=True)
class ChunkRun:
    """Chunks of one kind, sorted by cell."""

    stored: Stored
    is_fresh: bool
    first_cell: int
    chunks: list[Chunk]

    @property
    def entries(self) -> int:
        """The number of entries."""
        return sum(chunk.entries for chunk in self.chunks)

    def cells(self, alike_before: int) -> range:
        """The range of cells from the first to the last. All cells before ``alike_before`` count as one."""
        first, last = (max(cell, alike_before - 1) for cell in (self.first_cell, self.chunks[-1].last_cell))
        return range(first, last + 1)


class Chunks:
    """The runs of a bucket, oldest first, and the store that has their chunks."""

    def __init__(self, store: Store, facts: dict[str, Any] | None = None, draws: KeyDraws = NO_DRAWS) -> None:
        self.store = store
        self.draws = draws
        self.next_number: int = facts["next"] if facts else 0
        self.runs = [
            ChunkRun(stored_from(kind), is_fresh, first_cell, [Chunk(*chunk) for chunk in chunks])
            for kind, is_fresh, first_cell, chunks in (facts["runs"] if facts else ())
        ]

    def facts(self) -> dict[str, Any]:
        """The list of runs and chunks, as it is stored with the position."""
        runs = [
            [stored_facts(run.stored), run.is_fresh, run.first_cell, [list(astuple(chunk)) for chunk in run.chunks]]
            for run in self.runs
        ]
        return {"next": self.next_number, "runs": runs}

    @property
    def size_bytes(self) -> int:
        """The size of all chunks."""
        return sum(chunk.size_bytes for run in self.runs for chunk in run.chunks)

    def read(self) -> Iterator[tuple[Stored, pa.RecordBatch]]:
        """Everything that is stored, chunk by chunk, each with its kind."""
        for run in self.runs:
            for chunk in run.chunks:
                yield run.stored, self._read(run.stored, chunk)

    def add(self, accepted: Accepted) -> None:
        """Stores new entries: a fresh run for each kind."""
        for stored, entries in by_cell(accepted):
            self.runs.append(self._written(stored, entries, is_fresh=True))

    def forget(self, is_done: Callable[[Stored, int], bool]) -> None:
        """Deletes the chunks whose cells have all left; ``is_done`` decides it from the kind and the last cell."""
        for run in self.runs:
            live = [chunk for chunk in run.chunks if not is_done(run.stored, chunk.last_cell)]
            self._remove(chunk for chunk in run.chunks if chunk not in live)
            run.chunks = live
        self.runs = [run for run in self.runs if run.chunks]

    def thin(self, bucket: Bucket) -> None:
        """Rewrites the chunks that have entries which SHED no longer holds."""
        for run in self.runs:
            chunks = []
            for chunk in run.chunks:
                entries = self._read(run.stored, chunk)
                held = bucket.still_held(run.stored, entries)
                if held.num_rows == entries.num_rows:
                    chunks.append(chunk)
                    continue
                self._remove([chunk])
                if held.num_rows:
                    chunks += self._written(run.stored, held, run.is_fresh).chunks
            run.chunks = chunks
        self.runs = [run for run in self.runs if run.chunks]

    def merge(self, bucket: Bucket) -> None:
        """Merges the fresh runs of each kind that has many of them."""
        for stored in dict.fromkeys(run.stored for run in self.runs):
            of_kind = [run for run in self.runs if run.stored == stored]
            fresh = [run for run in of_kind if run.is_fresh]
            if len(fresh) < FRESH_RUNS:
                continue
            if not _is_worthwhile(fresh, bucket):
                for run in fresh:
                    run.is_fresh = False
                continue
            chosen = fresh
            for older in reversed(of_kind[: -len(fresh)]):
                if older.entries > LONGER * sum(run.entries for run in chosen):
                    break
                if not _is_worthwhile([older, *chosen], bucket):
                    break
                chosen = [older, *chosen]
            self._merge(chosen, bucket)

    def _merge(self, chosen: list[ChunkRun], bucket: Bucket) -> None:
        """Replaces several runs by one, without the entries that have left their window."""
        stored, chunks = chosen[0].stored, [chunk for run in chosen for chunk in run.chunks]
        entries = in_cell_order([self._read(stored, chunk) for chunk in chunks])
        cells = entries.column(CELL)
        gone = bisect_left(range(len(cells)), True, key=lambda at: not bucket.is_done(stored, cells[at].as_py()))
        are_all = all(run in chosen for run in self.runs if run.stored == stored)
        merged = bucket.compacted(stored, entries.slice(gone), are_all)
        self._remove(chunks)
        self.runs = [run for run in self.runs if run not in chosen]
        if merged.num_rows:
            self.runs.append(self._written(stored, in_cell_order([merged]), is_fresh=False))

    def _written(self, stored: Stored, entries: pa.RecordBatch, is_fresh: bool) -> ChunkRun:
        """Stores entries in chunks."""
        chunks = []
        cells = entries.column(CELL)
        for start in range(0, entries.num_rows, ENTRIES_PER_CHUNK):
            part = entries.slice(start, ENTRIES_PER_CHUNK)
            blob = encode(self.draws.left_out(stored, part))
            self.store.updateValue((self.next_number,), (blob,))
            last_cell = cells[start + part.num_rows - 1].as_py()
            chunks.append(Chunk(self.next_number, last_cell, part.num_rows, len(blob)))
            self.next_number += 1
        return ChunkRun(stored, is_fresh, cells[0].as_py(), chunks)

    def _read(self, stored: Stored, chunk: Chunk) -> pa.RecordBatch:
        blob = self.store.getValue((chunk.number,))
        if blob is None:
            hint = "the checkpoint is damaged; use another checkpoint directory."
            raise EvaluationError(f"chunk {chunk.number} of the state is missing", hint)
        return self.draws.derived(stored, decode(bytes(blob[0]))[0])

    def _remove(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            self.store.removeKey((chunk.number,))


def _is_worthwhile(runs: list[ChunkRun], bucket: Bucket) -> bool:
    """Whether merging pays: the runs are short, or share so many cells that their entries can be added up."""
    if sum(run.entries for run in runs) <= ENTRIES_PER_CHUNK:
        return True
    if isinstance(bucket.stage, FoldAtArrivals):
        return False
    cells = [run.cells(bucket.alike_before(run.stored)) for run in runs]
    spanned = max(range_.stop for range_ in cells) - min(range_.start for range_ in cells)
    return sum(range_.stop - range_.start for range_ in cells) >= OVERLAP * spanned
