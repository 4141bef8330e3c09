"""FOLD for EMIT ON ARRIVAL: one answer for every row, in the order of rows.

Every bucket gets the *arrivals* of all rows: time, input, and the values that order rows of one time. So all buckets go
through the same sequence. At each arrival a bucket lets rows leave that have become too old, lets the row enter if it
is its own, and emits its groups:

    arrivals, in order     a1    b1    a2    b2
    entries of bucket 0    a1    b1                    emits its groups four times ──┐
    entries of bucket 1                a2    b2        emits its groups four times ──┴─▶ MERGE: four answers

Entries are single rows here, identified by their batch and their number in it. A row that has several matches in
relations has an entry for each of them, in one bucket or in several.

Since every bucket sees all arrivals, each can count rows: a row leaves ``[ROWS n]`` with the n-th arrival after it.

SHED holds fewer entries, but all arrivals: these tell the instants. The cell of a row is its time. An answer uses the
sample that all times of its windows have in common.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.calendars.position import Position
from joinfold.operators.codec import decode
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Flags, Integers, joined
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.ordering import in_order
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import BATCH, CELL, KEEP, ROW
from joinfold.physical.edge import ArrivalsFrom, EntriesFrom, edge_of
from joinfold.physical.shedding import Shedding
from joinfold.physical.stage import FoldAtArrivals
from joinfold.physical.stored import ArrivalsOf, EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import EVERYTHING
from joinfold.window import Continuous, Rows

Arrival = tuple[int, int, int, int]  # time, stream, batch, row
RowName = tuple[int, int]  # the batch that brought a row, and the number of the row in it


class ArrivalFold(LiveBucket):
    """One bucket of a query that answers at every row. Its inputs are the streams, in their order.

    ``waiting`` has the arrivals that are not final, by stream. ``rows`` has the bucket's own rows that have not
    entered. ``inside`` has those in their windows, each with its *mark*: its time, or its number where the window
    counts rows.
    """

    def __init__(
        self,
        stage: FoldAtArrivals,
        timing: Timing,
        number: int,
        choice: FoldChoice,
        shedding: Shedding | None = None,
    ) -> None:
        super().__init__(stage, timing, number, choice, shedding)
        self.changes = stage.changes
        self.waiting: list[list[pa.RecordBatch]] = [[] for _ in timing.windows]
        self.rows: dict[RowName, tuple[int, Entries]] = {}
        self.inside: list[deque[tuple[int, Entries]]] = [deque() for _ in timing.windows]  # oldest first
        self.last: dict[int, deque[int]] = {  # of ROWS windows, the times of the last n arrivals of their streams
            stream: deque(maxlen=window.size)
            for stream, window in enumerate(timing.windows)
            if isinstance(window, Rows)
        }

    @property
    def cells_held(self) -> int:
        """0: rows are not in cells."""
        return 0

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes a micro-batch: the bucket's own rows, and the arrivals of all rows.

        Returns what is not late; SHED may hold fewer of the bucket's own rows.
        """
        watermark, accepted, headers = self.watermark, Accepted(), []
        self.rows_read = [0] * self.timing.streams
        for batch, facts in [decode(blob) for blob in blobs]:
            edge = edge_of(facts)
            assert isinstance(edge, EntriesFrom | ArrivalsFrom)
            stream = edge.stream
            in_time = self.in_time(stream, cells_of(batch), watermark)
            if isinstance(edge, ArrivalsFrom):
                header = Header.of_facts(facts)
                headers.append((stream, header))
                self.rows_read[stream] += header.rows
                if self.is_first:
                    kept = batch.column(KEEP).to_numpy(zero_copy_only=False)
                    late = int(np.count_nonzero(kept & ~in_time)) + header.timeless
                    self.position.streams[stream].late += late
            if in_time.any():
                name = self.timing.names[stream]
                kind = ArrivalsOf if isinstance(edge, ArrivalsFrom) else EntriesOf
                accepted.append((kind(name), batch if in_time.all() else batch.filter(pa.array(in_time))))
        needed = self._first_times(self.position.applied)
        self.take_headers(headers)
        accepted = self.shed(accepted, headers, needed)
        for stored, batch in accepted:
            self.add(stored, batch)
        return accepted

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Keeps rows under their names, and arrivals until they are answered."""
        match stored:
            case ArrivalsOf(stream=name):
                self.waiting[self.timing.names.index(name)].append(batch)
            case EntriesOf(input=name):
                ordinal = self.ordinal_of(name)
                entries = self.read(ordinal, batch)
                self.expect(ordinal, entries)
                entries_of: dict[RowName, list[int]] = {}
                for at, row in enumerate(_names(batch)):
                    entries_of.setdefault(row, []).append(at)
                for row, indices in entries_of.items():
                    own = entries.take(np.array(indices))
                    if row in self.rows:  # its other matches are in another chunk
                        own = joined([self.rows[row][1], own])
                    self.rows[row] = (ordinal, own)
            case _:
                raise AssertionError(f"a fold at arrivals stores no {stored}")

    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the rows that wait and those that are inside."""
        old = self.put_aside(keep_labels)
        for ordinal in range(self.timing.streams):
            names = [name for name, (input_of_row, _) in self.rows.items() if input_of_row == ordinal]
            waiting = self.live.vocabulary.adopt(old.vocabulary, ordinal, [self.rows[name][1] for name in names])
            self.rows |= {name: (ordinal, row) for name, row in zip(names, waiting, strict=True)}
            rows = self.live.vocabulary.adopt(old.vocabulary, ordinal, [row for _, row in self.inside[ordinal]])
            self.inside[ordinal] = deque(zip((mark for mark, _ in self.inside[ordinal]), rows, strict=True))
        self.expect_all()
        self._let_all_in()
        self.live.remember_given()

    def resume(self, position: Position) -> None:
        """Lets the rows that were inside enter again, in the order of time, and drops arrivals that were answered."""
        super().resume(position)
        answered = position.answered
        numbers = self._numbers_before(answered)
        for ordinal, waiting in enumerate(self.waiting if answered is not None else []):
            self.waiting[ordinal] = [batch.filter(pc.greater_equal(batch.column(CELL), answered)) for batch in waiting]
        unanswered = {name for waiting in self.waiting for batch in waiting for name in _names(batch)}
        applied = position.applied
        stored = []
        for name in [name for name in self.rows if name not in unanswered]:
            ordinal, row = self.rows.pop(name)
            stored.append((numbers.get(name, 0) if ordinal in self.last else int(row.cells[0]), ordinal, row))
        for mark, ordinal, row in sorted(stored, key=lambda item: item[0]):
            assert applied is not None
            if not self._is_gone(ordinal, mark, applied):
                self.inside[ordinal].append((mark, row))
        self.sample = EVERYTHING if self.sampler is None else self.sampler.used
        if not self.sample.is_whole:  # until now, entries were expected under other groups
            self.expect_all()
        self._let_all_in()

    def _numbers_before(self, answered: int | None) -> dict[RowName, int]:
        """For ROWS windows, the numbers of stored rows that were answered; also fills ``last`` with their times."""
        numbers: dict[RowName, int] = {}
        for ordinal, last in self.last.items():
            if answered is not None and self.waiting[ordinal]:
                stored = pa.Table.from_batches(self.waiting[ordinal]).combine_chunks()
                stored = stored.filter(pc.less(stored.column(CELL), answered))
                stored = stored.take(pa.array(in_order(stored, self.inputs[ordinal].order)))
                last.extend(stored.column(CELL).to_pylist())
                first = self.position.streams[ordinal].numbered - stored.num_rows + 1
                numbers |= {name: number for number, name in enumerate(_names(stored), first)}
        return numbers

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Goes through all rows that are final, and emits the groups at each."""
        until = END if to_the_end else self.watermark
        if until is None:
            yield NOTHING_EMITTED
            return
        arrivals, most = self._due(until), self.timing.instants_per_piece
        times = [arrival[0] for arrival in arrivals]
        nths = [number - bisect_left(times, ts) + 1 for number, ts in enumerate(times)]
        for start in range(0, max(len(arrivals), 1), most):
            piece = slice(start, start + most)
            yield self._piece(arrivals[piece], start, [times[piece], nths[piece]])
        self.position.answered = until
        self.thin(bool(arrivals), self._first_times(self.position.applied))
        if self.live.is_outgrown(len(self.rows) + sum(map(len, self.inside))):
            self.rebuild()

    def _piece(self, arrivals: list[Arrival], start: int, placed: list[list[int]]) -> Emitted:
        """Goes through some rows; the first has the number ``start``."""
        position = self.position
        before = start - 1 if self.changes and arrivals and position.applied is not None else None
        self.samples = {} if before is None else {before: self.sample}
        if before is not None:
            assert position.applied is not None
            self.emit(before, position.applied)
        for number, (ts, ordinal, batch, row) in enumerate(arrivals, start):
            if ordinal in self.last:
                position.streams[ordinal].numbered += 1
                self.last[ordinal].append(ts)
            self.use_sample(self._first_times(ts))
            self.samples[number] = self.sample
            position.applied = ts
            self._let_out(ts)
            if (batch, row) in self.rows:
                mark = position.streams[ordinal].numbered if ordinal in self.last else ts
                self._let_in(ordinal, mark, self.rows.pop((batch, row))[1], ts)
            self.emit(number, ts)
        numbers = list(range(start, start + len(arrivals)))
        return Emitted(self.live.emitted(), numbers, before, placed, samples=self.rates_of_samples())

    # --- sampling ---------------------------------------------------------------------------------------------------

    leaves_by_time = True

    def _first_times(self, applied: int | None) -> dict[int, int]:
        """The first time that each window holds at an arrival of this time, and so do all later ones."""
        found = dict.fromkeys(range(self.timing.streams), BEGINNING)
        for stream, window in enumerate(self.timing.windows):
            if isinstance(window, Continuous) and applied is not None:
                found[stream] = applied - window.size_us
        return found | {stream: times[0] for stream, times in self.last.items() if times}

    def expect_all(self) -> None:
        """Prepares the windows for the rows that wait and those that are inside."""
        for ordinal, inside in enumerate(self.inside):
            waiting = [row for input_of_row, row in self.rows.values() if input_of_row == ordinal]
            if waiting or inside:
                self.expect(ordinal, joined([*waiting, *(row for _, row in inside)]))

    def inside_of(self, ordinal: int) -> Entries | None:
        """The rows of a stream's window."""
        inside = self.inside[ordinal]
        return joined([row for _, row in inside]) if inside else None

    def leaves_of(self, ordinal: int, entries: Entries, now: int) -> Integers:
        """When rows leave a window in time; of other windows, later rows decide it, or they never do."""
        window = self.timing.windows[ordinal]
        return entries.cells + (window.size_us + 1) if isinstance(window, Continuous) else np.full(len(entries), END)

    def drop_unheld(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops rows that wait, and rows that are inside."""
        for ordinal in self.drawn:
            names = [name for name, (input_of_row, _) in self.rows.items() if input_of_row == ordinal]
            waiting = _thinned([self.rows.pop(name)[1] for name in names], holds)
            self.rows |= {name: (ordinal, row) for name, row in zip(names, waiting, strict=True) if len(row)}
            inside = self.inside[ordinal]
            rows = _thinned([row for _, row in inside], holds)
            marks = (mark for mark, _ in inside)
            self.inside[ordinal] = deque((mark, row) for mark, row in zip(marks, rows, strict=True) if len(row))

    # --- state ------------------------------------------------------------------------------------------------------

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether stored rows up to this time are no longer needed."""
        assert isinstance(stored, ArrivalsOf | EntriesOf)
        name = stored.stream if isinstance(stored, ArrivalsOf) else stored.input
        stream, answered, applied = self.timing.names.index(name), self.position.answered, self.position.applied
        if stream in self.last:
            last = self.last[stream]
            return len(last) == last.maxlen and last_cell < last[0]
        if isinstance(stored, ArrivalsOf):
            return answered is not None and last_cell < answered
        return applied is not None and last_cell < applied and self._is_gone(stream, last_cell, applied)

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """The rows themselves: every row stays single."""
        return rows

    def _due(self, until: int) -> list[Arrival]:
        """The final arrivals in order: by time, then input, then values, NULL first and NaN last."""
        found: list[Arrival] = []
        for ordinal in range(self.timing.streams):
            if not self.waiting[ordinal]:
                continue
            table = pa.Table.from_batches(self.waiting[ordinal]).combine_chunks()
            due = np.asarray(table.column(CELL).to_numpy()) < until
            self.waiting[ordinal] = table.filter(pa.array(~due)).to_batches()
            final = table.filter(pa.array(due))
            final = final.take(pa.array(in_order(final, self.inputs[ordinal].order)))
            columns = [final.column(name).to_pylist() for name in (CELL, BATCH, ROW)]
            found += [(ts, ordinal, batch, row) for ts, batch, row in zip(*columns, strict=True)]
        # stable: rows of one time and stream are in the order of their values already
        order = sorted(range(len(found)), key=lambda at: found[at][:2])
        return [found[at] for at in order]

    def _let_in(self, ordinal: int, mark: int, row: Entries, ts: int) -> None:
        self.inside[ordinal].append((mark, row))
        try:
            self._enter(ordinal, row, ts)
        except GapUsedUp:
            self.rebuild(keep_labels=True)

    def _let_all_in(self) -> None:
        """Lets all rows that are inside enter the windows, which are empty."""
        try:
            for ordinal, inside in enumerate(self.inside):
                if inside:
                    assert self.position.applied is not None
                    self._enter(ordinal, joined([row for _, row in inside]), self.position.applied)
        except GapUsedUp:
            self.rebuild(keep_labels=True)

    def _enter(self, ordinal: int, rows: Entries, ts: int) -> None:
        self.enter(ordinal, rows, self.leaves_of(ordinal, rows, ts), ts)

    def _let_out(self, ts: int) -> None:
        for ordinal, inside in enumerate(self.inside):
            gone = []
            while inside and self._is_gone(ordinal, inside[0][0], ts):
                gone.append(inside.popleft()[1])
            if gone:
                self.leave(ordinal, gone[0] if len(gone) == 1 else joined(gone), ts)

    def _leave(self, ordinal: int, ts: int) -> int:
        """The time of the first arrival that does not see a row of time ``ts``."""
        window = self.timing.windows[ordinal]
        return ts + window.size_us + 1 if isinstance(window, Continuous) else END

    def _is_gone(self, ordinal: int, mark: int, now: int) -> bool:
        """Whether a row with this mark has left its window by ``now``."""
        if ordinal in self.last:
            return mark <= self.position.streams[ordinal].numbered - (self.last[ordinal].maxlen or 0)
        return self._leave(ordinal, mark) <= now


def _names(rows: pa.RecordBatch | pa.Table) -> list[RowName]:
    return list(zip(rows.column(BATCH).to_pylist(), rows.column(ROW).to_pylist(), strict=True))


def _thinned(rows: Sequence[Entries], holds: Callable[[Integers], Flags]) -> list[Entries]:
    """The entries of each row that are still held."""
    if not rows:
        return []
    drawn = joined(rows).draws
    assert drawn is not None
    parts = np.split(holds(drawn), np.cumsum([len(row) for row in rows])[:-1])
    return [row if held.all() else row.take(held) for row, held in zip(rows, parts, strict=True)]
