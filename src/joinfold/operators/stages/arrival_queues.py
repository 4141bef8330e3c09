"""Arrivals in their order, and the rows of each input: those that wait for their arrival, and those inside.

Every arrival has a *name*, the batch that brought the row and its number there; so have the entries of the row. When
arrivals are due, their entries are put into the *queue* of their input, behind those that are inside. Entries enter and
leave in the order of the queue:

    queue      e0  e1  e2  e3  e4  e5  e6
    marks      3   3   5   6   8   8   9       the time of a row, or its number where the window counts rows
               ╵head       ╵tail               e0 to e2 are inside; the others enter with their arrivals
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pyarrow as pa

from joinfold.kernels.arrivals import Queue
from joinfold.kernels.compiling import readable, readable_ids
from joinfold.operators.calendars.calendar import BEGINNING
from joinfold.operators.entries import Entries, Flags, Integers, Payload, joined
from joinfold.physical.column_names import BATCH, ROW
from joinfold.physical.payload import InputSpec
from joinfold.window import Continuous, Rows, Window


class RowNames:
    """Batch and number of a row as one int64: batches are numbered as they are first seen."""

    def __init__(self) -> None:
        self._batches: dict[int, int] = {}
        self._seen = count()

    def of(self, rows: pa.RecordBatch | pa.Table) -> Integers:
        """The names of rows."""
        batches, number = np.unique(rows.column(BATCH).to_numpy(), return_inverse=True)
        for batch in batches.tolist():
            if batch not in self._batches:
                self._batches[batch] = next(self._seen)
        known = [self._batches[batch] for batch in batches.tolist()]
        return np.asarray((np.array(known, np.int64)[number] << 32) + rows.column(ROW).to_numpy(), np.int64)

    def keep(self, names: Sequence[Integers]) -> None:
        """Forgets all batches but those of these names."""
        used = {number for own in names for number in np.unique(own >> 32).tolist()}
        self._batches = {batch: number for batch, number in self._batches.items() if number in used}


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Arrivals in their order: the time, stream and name of each."""

    times: Integers
    streams: Integers
    names: Integers

    def __len__(self) -> int:
        return len(self.times)

    @staticmethod
    def ordered(parts: Sequence[tuple[Integers, Integers]]) -> "Arrivals":
        """The arrivals of all streams by time, then stream; each part has times and names in the stream's own order."""
        times = np.concatenate([times for times, _ in parts])
        streams = np.repeat(np.arange(len(parts)), [len(times) for times, _ in parts])
        order = np.argsort(times, kind="stable")
        return Arrivals(times[order], streams[order], np.concatenate([names for _, names in parts])[order])

    @property
    def nths(self) -> Integers:
        """The number of each arrival among those of its time, from 1."""
        return np.arange(1, len(self) + 1) - np.searchsorted(self.times, self.times)


@dataclass(slots=True)
class RowQueue:
    """The entries of one input.

    ``waiting`` has names and entries of rows whose arrivals are not due. ``entries`` and ``marks`` are the queue. For
    each arrival that is due, ``gone`` and ``entered`` say how many entries of the queue have left and entered by then.
    """

    waiting: list[tuple[Integers, Entries]] = field(default_factory=list)
    entries: Entries | None = None
    marks: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    head: int = 0
    tail: int = 0
    gone: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    entered: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def held(self) -> int:
        """How many entries wait or are inside."""
        return sum(len(names) for names, _ in self.waiting) + self.tail - self.head

    @property
    def inside(self) -> Entries | None:
        """The entries that are inside; None if there are none."""
        return self.between(self.head, self.tail)

    def between(self, first: int, end: int) -> Entries | None:
        """Some entries of the queue; None if there are none."""
        return self.entries.take(slice(first, end)) if self.entries is not None and end > first else None

    def all(self) -> list[Entries]:
        """All entries: those that wait, and those of the queue."""
        return [*(entries for _, entries in self.waiting), *([] if self.entries is None else [self.entries])]

    def replace(self, pieces: Sequence[Entries]) -> None:
        """Replaces all entries, in the order of `all`."""
        self.waiting = [(names, new) for (names, _), new in zip(self.waiting, pieces, strict=False)]
        if self.entries is not None:
            self.entries = pieces[-1]

    def take_due(self, names: Integers, which: Integers, marks: Integers, arrivals: int) -> None:
        """Puts the entries of due arrivals into the queue: those with these names, by their numbers and marks.

        All entries that have left before are dropped from the queue.
        """
        kept, counts = self.inside, np.zeros(len(names), np.int64)
        parts, own_marks = [] if kept is None else [kept], [self.marks[self.head : self.tail]]
        if self.waiting:
            held = np.concatenate([own for own, _ in self.waiting])
            rows = joined([entries for _, entries in self.waiting])
            order = np.argsort(held, kind="stable")
            low, high = (np.searchsorted(held, names, side, sorter=order) for side in ("left", "right"))
            counts = high - low
            taken = order[np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))]
            parts.append(rows.take(taken))
            left = np.ones(len(held), np.bool_)
            left[taken] = False
            rest = np.flatnonzero(left)
            self.waiting = [(held[rest], rows.take(rest))] if len(rest) else []
        own_marks.append(np.repeat(marks, counts))
        self.entries = joined(parts) if parts else None
        self.marks = np.concatenate(own_marks)
        self.head, self.tail = 0, len(own_marks[0])
        entering = np.zeros(arrivals, np.int64)
        entering[which] = counts
        self.entered = self.tail + np.cumsum(entering)

    @property
    def span(self) -> tuple[int, int]:
        """How many entries of the queue have left, and how many have entered."""
        return self.head, self.tail

    def read(self, spec: InputSpec, arrivals: int) -> Queue:
        """The queue as a loop over so many arrivals reads it."""
        payload = Payload.zeros(0, spec.integer_columns, len(spec.reals), 0)
        key = group = np.empty(0, np.int32)
        gone = entered = np.zeros(arrivals, np.int64)
        if self.entries is not None:
            key, group, payload = self.entries.key, self.entries.group, self.entries.payload
            gone, entered = self.gone, self.entered
        ints, reals = readable(payload.ints, np.int64), readable(payload.reals, np.float64)
        return Queue((readable_ids(key), readable_ids(group), ints, reals), gone, entered)

    def settle(self, entries: Entries, marks: Integers) -> None:
        """Lets entries be inside, with their marks."""
        order = np.argsort(marks, kind="stable")
        self.entries, self.marks = entries.take(order), marks[order]
        self.head, self.tail = 0, len(order)

    def forget_gone(self) -> None:
        """Drops the entries that have left from the queue."""
        self.entries, self.marks = self.inside, self.marks[self.head : self.tail]
        self.head, self.tail = 0, len(self.marks)

    def thin(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops the entries that SHED no longer holds, by their draws; none of the queue waits."""
        thinned = [(names, entries, _held(entries, holds)) for names, entries in self.waiting]
        self.waiting = [(names[held], entries.take(held)) for names, entries, held in thinned if held.any()]
        self.forget_gone()
        if self.entries is not None:
            held = _held(self.entries, holds)
            self.entries, self.marks = self.entries.take(held), self.marks[held]
            self.tail = len(self.marks)


def first_inside(window: Window, times: Integers, numbered: Integers) -> Integers:
    """The first mark that is still inside at arrivals of these times, with so many rows of the stream by then."""
    match window:
        case Continuous(size_us=size_us):
            return times - size_us
        case Rows(size=size):
            return numbered - size + 1
        case _:
            return np.full(len(times), BEGINNING)


def numbers_of(names: Integers, known: Integers, numbers: Integers) -> Integers:
    """The numbers of names, 0 for those that are not known."""
    order = np.argsort(known)
    place = np.searchsorted(known, names, sorter=order)
    found = np.append(order, 0)[place]
    has = (place < len(order)) & (np.append(known, -1)[found] == names)
    return np.where(has, np.append(numbers, 0)[found], 0)


def _held(entries: Entries, holds: Callable[[Integers], Flags]) -> Flags:
    assert entries.draws is not None
    return holds(entries.draws)
