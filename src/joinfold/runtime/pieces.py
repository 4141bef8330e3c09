"""The entries of a bucket in the state store, in few blobs, however many micro-batches brought them.

Entries lie in *pieces* of a size that the store moves well, and pieces in *runs*. What a micro-batch brings of an input
is a fresh run. When an input has eight of them they become one, together with older runs that are not much longer:

    before   ■■■■■■■■■■ ■■■ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪        the last eight are fresh
    after    ■■■■■■■■■■ ■■■■■■■■■■■                 ■■■ was less than twice as long as they together
    or       ■■■■■■■■■■ ■■■                         where most of the entries could be added up

So runs get shorter from old to new, there are few of them, and an entry is written again only a few times. Long runs
are left alone where that would save nothing, since each is of another time. Pieces of which every cell has left are
deleted.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any, Protocol

import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.operators.bucket import Bucket
from joinfold.operators.codec import decode, encode
from joinfold.operators.ordering import by_cell, in_cell_order

ENTRIES_PER_PIECE = 65_536
FRESH_RUNS = 8
LONGER = 2  # how much longer an older run may be that fresh ones are merged with
OVERLAP = 1.5  # of the cells of runs, from which on adding up may save much


class Store(Protocol):
    """The map in Spark's state that pieces lie in."""

    def getValue(self, key: Any) -> Any:  # noqa: N802
        """The value of a key, or None."""

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        """Sets the value of a key."""

    def removeKey(self, key: Any) -> None:  # noqa: N802
        """Removes a key."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A blob of entries, in order of their cells."""

    number: int
    last_cell: int
    entries: int
    size_bytes: int


@dataclass(slots=True)
class Run:
    """Pieces of one input, in order of their cells."""

    place: int
    is_fresh: bool
    first_cell: int
    pieces: list[Piece]

    @property
    def entries(self) -> int:
        """How many there are."""
        return sum(piece.entries for piece in self.pieces)

    def cells(self, alike_before: int) -> range:
        """From the first to the last cell; those before a cell are alike and count as one."""
        first, last = (max(cell, alike_before - 1) for cell in (self.first_cell, self.pieces[-1].last_cell))
        return range(first, last + 1)


class Pieces:
    """The runs of a bucket, oldest first, and the store that has their pieces."""

    def __init__(self, store: Store, facts: dict[str, Any] | None = None) -> None:
        self.store = store
        self.next_number: int = facts["next"] if facts else 0
        self.runs = [
            Run(place, is_fresh, first_cell, [Piece(*piece) for piece in pieces])
            for place, is_fresh, first_cell, pieces in (facts["runs"] if facts else ())
        ]

    def facts(self) -> dict[str, Any]:
        """What has to be remembered to find the pieces again."""
        return {"next": self.next_number, "runs": [list(astuple(run)) for run in self.runs]}

    @property
    def size_bytes(self) -> int:
        """The size of all pieces."""
        return sum(piece.size_bytes for run in self.runs for piece in run.pieces)

    def read(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """All entries, with the input that they are of."""
        for run in self.runs:
            for piece in run.pieces:
                yield run.place, self._read(piece)

    def add(self, accepted: Iterable[tuple[int, pa.RecordBatch]]) -> None:
        """A fresh run for each input that has new entries."""
        for place, entries in by_cell(accepted):
            self.runs.append(self._written(place, entries, is_fresh=True))

    def forget(self, is_done: Callable[[int, int], bool]) -> None:
        """Deletes the pieces of which every cell has left its window."""
        for run in self.runs:
            live = [piece for piece in run.pieces if not is_done(run.place, piece.last_cell)]
            self._remove(piece for piece in run.pieces if piece not in live)
            run.pieces = live
        self.runs = [run for run in self.runs if run.pieces]

    def merge(self, fold: Bucket) -> None:
        """Merges the fresh runs of each input that has many."""
        for place in sorted({run.place for run in self.runs}):
            own = [run for run in self.runs if run.place == place]
            fresh = [run for run in own if run.is_fresh]
            if len(fresh) < FRESH_RUNS:
                continue
            if not _is_worthwhile(fresh, fold):
                for run in fresh:
                    run.is_fresh = False
                continue
            chosen = fresh
            for older in reversed(own[: -len(fresh)]):
                if older.entries > LONGER * sum(run.entries for run in chosen):
                    break
                if not _is_worthwhile([older, *chosen], fold):
                    break
                chosen = [older, *chosen]
            self._merge(chosen, fold)

    def _merge(self, chosen: list[Run], fold: Bucket) -> None:
        """One run in the place of several; what has left its window is dropped on the way."""
        place, pieces = chosen[0].place, [piece for run in chosen for piece in run.pieces]
        entries = in_cell_order([self._read(piece) for piece in pieces])
        cells = entries.column("cell")
        gone = bisect_left(range(len(cells)), True, key=lambda at: not fold.is_done(place, cells[at].as_py()))
        are_all = all(run in chosen for run in self.runs if run.place == place)
        merged = fold.compacted(place, entries.slice(gone), are_all)
        self._remove(pieces)
        self.runs = [run for run in self.runs if run not in chosen]
        if merged.num_rows:
            self.runs.append(self._written(place, in_cell_order([merged]), is_fresh=False))

    def _written(self, place: int, entries: pa.RecordBatch, is_fresh: bool) -> Run:
        """Stores entries in pieces."""
        pieces = []
        cells = entries.column("cell")
        for start in range(0, entries.num_rows, ENTRIES_PER_PIECE):
            part = entries.slice(start, ENTRIES_PER_PIECE)
            blob = encode(part)
            self.store.updateValue((self.next_number,), (blob,))
            last_cell = cells[start + part.num_rows - 1].as_py()
            pieces.append(Piece(self.next_number, last_cell, part.num_rows, len(blob)))
            self.next_number += 1
        return Run(place, is_fresh, cells[0].as_py(), pieces)

    def _read(self, piece: Piece) -> pa.RecordBatch:
        stored = self.store.getValue((piece.number,))
        if stored is None:
            raise EvaluationError(f"piece {piece.number} of the state is missing", "the checkpoint cannot be used.")
        return decode(bytes(stored[0]))[0]

    def _remove(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.store.removeKey((piece.number,))


def _is_worthwhile(runs: list[Run], fold: Bucket) -> bool:
    """Whether runs are short, or of cells that lie on each other, so that entries can be added up."""
    if sum(run.entries for run in runs) <= ENTRIES_PER_PIECE:
        return True
    if fold.layout.on_arrival:
        return False
    cells = [run.cells(fold.alike_before(run.place)) for run in runs]
    spanned = max(own.stop for own in cells) - min(own.start for own in cells)
    return sum(own.stop - own.start for own in cells) >= OVERLAP * spanned
