"""FOLD for EMIT ON ARRIVAL: one answer for every row, in the order of rows.

Every bucket gets the *arrivals* of all rows: time, input, and the values that order rows of one time. So all buckets go
through the same sequence. At each arrival a bucket lets rows leave that have become too old, lets the row enter if it
is its own, and emits the groups that have changed. What it emits lasts until it emits the group again, so a bucket does
nothing at the arrivals of others:

    arrivals, in order     a1    b1    a2    b2
    entries of bucket 0    a1    b1                    emits its groups at b1 ────────────┐
    entries of bucket 1                a2    b2        emits its groups at b2 ────────────┴─▶ MERGE: four answers

Two inputs that are joined by key and summed go through all arrivals in one compiled loop (`kernels.arrivals`). It stops
where sums have to be rebuilt, and goes on after that. All others go from arrival to arrival here.

Entries are single rows, identified by their batch and their number in it. A row that has several matches in relations
has an entry for each of them, in one bucket or in several.

Since every bucket sees all arrivals, each can count rows: a row leaves ``[ROWS n]`` with the n-th arrival after it.

SHED holds fewer entries, but all arrivals: these tell the instants. The cell of a row is its time. An answer uses the
sample that all times of its windows have in common, so there every group is emitted at every arrival.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.kernels.arrivals import INEXACT, ArrivalLoop
from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.calendars.position import Position
from joinfold.operators.codec import decode
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Flags, Integers, joined
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.ordering import in_order
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.arrival_queues import Arrivals, RowNames, RowQueue, first_inside, numbers_of
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.windows.fused import FusedWindows
from joinfold.operators.windows.live import Live
from joinfold.physical.choice import FoldChoice, can_loop
from joinfold.physical.column_names import CELL, KEEP
from joinfold.physical.edge import ArrivalsFrom, EntriesFrom, edge_of
from joinfold.physical.shedding import Shedding
from joinfold.physical.stage import FoldAtArrivals
from joinfold.physical.stored import ArrivalsOf, EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import EVERYTHING
from joinfold.window import Continuous, Rows

LASTING = 8  # times as many arrivals in a piece whose answers are not all groups at every arrival


class ArrivalFold(LiveBucket):
    """One bucket of a query that answers at every row. Its inputs are the streams, in their order.

    ``waiting`` has the arrivals that are not final, by stream. ``queues`` have the bucket's own rows: those that have
    not entered, and those in their windows, each with its *mark*: its time, or its number where the window counts rows.
    """

    def __init__(
        self,
        stage: FoldAtArrivals,
        timing: Timing,
        number: int,
        choice: FoldChoice,
        shedding: Shedding | None = None,
    ) -> None:
        self.loops = can_loop(stage, choice) and shedding is None
        super().__init__(stage, timing, number, choice, shedding)
        self.changes = stage.changes
        self.loop: ArrivalLoop | None = None
        self.names = RowNames()
        self.waiting: list[list[pa.RecordBatch]] = [[] for _ in timing.windows]
        self.queues = [RowQueue() for _ in timing.windows]
        self.last: dict[int, deque[int]] = {  # of ROWS windows, the times of the last n arrivals of their streams
            stream: deque(maxlen=window.size)
            for stream, window in enumerate(timing.windows)
            if isinstance(window, Rows)
        }

    @property
    def is_lasting(self) -> bool:
        """True unless SHED changes the sample from answer to answer."""
        return self.sampler is None

    def open_live(self, earlier: list[pa.RecordBatch]) -> Live:
        """Empty windows."""
        live = super().open_live(earlier)
        if self.loops and isinstance(live.windows, FusedWindows):
            live.windows.stay_sets()
        return live

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
                self.queues[ordinal].waiting.append((self.names.of(batch), entries))
            case _:
                raise AssertionError(f"a fold at arrivals stores no {stored}")

    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the rows that wait and those that are inside."""
        old, self.loop = self.put_aside(keep_labels), None
        for ordinal, queue in enumerate(self.queues):
            queue.replace(self.live.vocabulary.adopt(old.vocabulary, ordinal, queue.all()))
        self.expect_all()
        self._let_all_in()
        self.live.remember_given()
        if self.is_lasting:  # a group that is gone has to be emitted once more, as gone
            self.live.touch_groups_of(old)
            self.live.touch_all_groups()

    def resume(self, position: Position) -> None:
        """Lets the rows that were inside enter again, in the order of time, and drops arrivals that were answered."""
        super().resume(position)
        answered, applied = position.answered, position.applied
        for ordinal, queue in enumerate(self.queues):
            numbered, numbers = self._numbers_before(ordinal, answered)
            if answered is not None:
                waiting = self.waiting[ordinal]
                self.waiting[ordinal] = [own.filter(pc.greater_equal(own.column(CELL), answered)) for own in waiting]
            if not queue.waiting:
                continue
            names, rows = np.concatenate([own for own, _ in queue.waiting]), joined([own for _, own in queue.waiting])
            unanswered = [self.names.of(batch) for batch in self.waiting[ordinal]]
            waits = np.isin(names, np.concatenate(unanswered)) if unanswered else np.zeros(len(names), np.bool_)
            queue.waiting = [(names[waits], rows.take(waits))] if waits.any() else []
            marks = numbers_of(names, numbered, numbers) if ordinal in self.last else rows.cells
            if applied is not None:
                now = np.array([applied]), np.array([position.streams[ordinal].numbered])
                inside = ~waits & (marks >= first_inside(self.timing.windows[ordinal], *now))
                queue.settle(rows.take(inside), marks[inside])
        self.sample = EVERYTHING if self.sampler is None else self.sampler.used
        if not self.sample.is_whole:  # until now, entries were expected under other groups
            self.expect_all()
        self._let_all_in()

    def _numbers_before(self, ordinal: int, answered: int | None) -> tuple[Integers, Integers]:
        """For a ROWS window, names and numbers of stored rows that were answered; also fills ``last`` with times."""
        if ordinal not in self.last or answered is None or not self.waiting[ordinal]:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        stored = pa.Table.from_batches(self.waiting[ordinal]).combine_chunks()
        stored = stored.filter(pc.less(stored.column(CELL), answered))
        stored = stored.take(pa.array(in_order(stored, self.inputs[ordinal].order)))
        self.last[ordinal].extend(stored.column(CELL).to_pylist())
        first = self.position.streams[ordinal].numbered - stored.num_rows + 1
        return self.names.of(stored), np.arange(first, first + stored.num_rows)

    # --- answering --------------------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Goes through all rows that are final, and emits the groups that have changed at each."""
        until = END if to_the_end else self.watermark
        if until is None:
            yield NOTHING_EMITTED
            return
        arrivals, most = self._due(until), self.timing.instants_per_piece
        if self.is_lasting and (self.changes or self.body.is_global):
            most *= LASTING
        nths, loops = arrivals.nths, self._can_loop()
        for start in range(0, max(len(arrivals), 1), most):
            yield self._piece(arrivals, start, min(start + most, len(arrivals)), nths, loops)
        if self.loop is not None:
            self.loop.give_back()
            self.loop = None
        self.position.answered = until
        self.thin(bool(len(arrivals)), self._first_times(self.position.applied))
        for queue in self.queues:
            queue.forget_gone()
        self.names.keep([names for queue in self.queues for names, _ in queue.waiting])
        if self.live.is_outgrown(sum(queue.held for queue in self.queues)):
            self.rebuild()

    def _piece(self, arrivals: Arrivals, start: int, end: int, nths: Integers, loops: bool) -> Emitted:
        """Goes through the arrivals from ``start`` to ``end``.

        What holds before the first of them comes first: for CHANGES, and where rows last.
        """
        applied = self.position.applied
        begins = start < end and applied is not None
        before = start - 1 if self.changes and begins else None
        self.samples = {} if before is None else {before: self.sample}
        if begins and (self.is_lasting or self.changes):
            assert applied is not None
            if self.is_lasting:
                self.live.touch_all_groups()
            self.emit(start - 1, applied)
        if loops:
            self._run_loop(arrivals, start, end)
        else:
            for number in range(start, end):
                self._step(arrivals, number)
        placed = [arrivals.times[start:end].tolist(), nths[start:end].tolist()]
        numbers = list(range(start, end))
        samples = self.rates_of_samples()
        return Emitted(self.live.emitted(), numbers, before, placed, samples=samples, is_lasting=self.is_lasting)

    def _step(self, arrivals: Arrivals, number: int) -> None:
        """Goes to one arrival."""
        ts = int(arrivals.times[number])
        self._count(arrivals, number, number + 1)
        self.use_sample(self._first_times(ts))
        self.samples[number] = self.sample
        self.position.applied = ts
        for ordinal, queue in enumerate(self.queues):
            gone = queue.between(queue.head, int(queue.gone[number]))
            queue.head = max(queue.head, int(queue.gone[number]))
            if gone is not None:
                self.leave(ordinal, gone, ts)
        for ordinal, queue in enumerate(self.queues):
            new = queue.between(queue.tail, int(queue.entered[number]))
            queue.tail = int(queue.entered[number])
            if new is not None:
                try:
                    self._enter(ordinal, new, ts)
                except GapUsedUp:
                    self.rebuild(keep_labels=True)
        self.emit(number, ts)

    def _run_loop(self, arrivals: Arrivals, start: int, end: int) -> None:
        """Goes through arrivals in a compiled loop; sums that are inexact at an arrival are rebuilt there."""
        self._count(arrivals, start, end)
        while start < end:
            loop = self.loop = self._open_loop(len(arrivals), start) if self.loop is None else self.loop
            if self.position.applied is None and self.body.is_global and self.is_first:
                loop.touch(0)
            reason, totals = loop.run(end), self.live.windows.totals
            start = loop.arrival
            for ordinal, queue in enumerate(self.queues):
                queue.head, queue.tail = loop.inside(ordinal)
            self.position.applied = now = int(arrivals.times[min(start, end - 1)])
            totals.add_emitted(loop.take_changed())
            self.live.windows.heads(now)  # an error if an integer of a set might have wrapped around
            if reason == INEXACT:
                totals.touch(loop.pending())
                loop.skip()
                self.emit(start, now)
                start += 1

    def _open_loop(self, arrivals: int, start: int) -> ArrivalLoop:
        windows = self.live.windows
        assert isinstance(windows, FusedWindows)
        queues = [*self.queues, RowQueue()]  # the constant row, if it is the second input, stays
        first, second = (queue.read(spec, arrivals) for queue, spec in zip(queues, self.body.inputs, strict=False))
        return windows.loop((first, second), (queues[0].span, queues[1].span), start)

    def _can_loop(self) -> bool:
        """Whether the arrivals that are due can go through the compiled loop: no integer may wrap around."""
        if not self.loops or not isinstance(self.live.windows, FusedWindows):
            return False
        held = [queue.entries for queue in self.queues]
        known = [entries for entries in held if entries is not None]
        return len(known) < len(held) or self.live.windows.cannot_wrap(known)

    def _count(self, arrivals: Arrivals, start: int, end: int) -> None:
        """Numbers the arrivals of windows that count rows."""
        for ordinal, last in self.last.items():
            own = arrivals.times[start:end][arrivals.streams[start:end] == ordinal]
            self.position.streams[ordinal].numbered += len(own)
            last.extend(own.tolist())

    def _due(self, until: int) -> Arrivals:
        """The final arrivals in order: by time, then input, then values, NULL first and NaN last. Fills the queues."""
        parts = []
        for ordinal in range(self.timing.streams):
            nothing = np.empty(0, np.int64)
            if not self.waiting[ordinal]:
                parts.append((nothing, nothing))
                continue
            table = pa.Table.from_batches(self.waiting[ordinal]).combine_chunks()
            due = np.asarray(table.column(CELL).to_numpy()) < until
            self.waiting[ordinal] = table.filter(pa.array(~due)).to_batches()
            final = table.filter(pa.array(due))
            final = final.take(pa.array(in_order(final, self.inputs[ordinal].order)))
            parts.append((np.asarray(final.column(CELL).to_numpy()), self.names.of(final)))
        arrivals = Arrivals.ordered(parts)
        for ordinal, queue in enumerate(self.queues):
            which = np.flatnonzero(arrivals.streams == ordinal)
            numbers = self.position.streams[ordinal].numbered + np.cumsum(arrivals.streams == ordinal)
            marks = numbers[which] if ordinal in self.last else arrivals.times[which]
            queue.take_due(arrivals.names[which], which, marks, len(arrivals))
            bounds = first_inside(self.timing.windows[ordinal], arrivals.times, numbers)
            queue.gone = np.searchsorted(queue.marks, bounds)
        return arrivals

    def _let_all_in(self) -> None:
        """Lets all rows that are inside enter the windows, which are empty."""
        try:
            for ordinal, queue in enumerate(self.queues):
                inside = queue.inside
                if inside is not None:
                    assert self.position.applied is not None
                    self._enter(ordinal, inside, self.position.applied)
        except GapUsedUp:
            self.rebuild(keep_labels=True)

    def _enter(self, ordinal: int, rows: Entries, ts: int) -> None:
        self.enter(ordinal, rows, self.leaves_of(ordinal, rows, ts), ts)

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
        for ordinal, queue in enumerate(self.queues):
            for entries in queue.all():
                self.expect(ordinal, entries)

    def inside_of(self, ordinal: int) -> Entries | None:
        """The rows of a stream's window."""
        return self.queues[ordinal].inside

    def leaves_of(self, ordinal: int, entries: Entries, now: int) -> Integers:
        """When rows leave a window in time; of other windows, later rows decide it, or they never do."""
        window = self.timing.windows[ordinal]
        return entries.cells + (window.size_us + 1) if isinstance(window, Continuous) else np.full(len(entries), END)

    def drop_unheld(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops rows that wait, and rows that are inside."""
        for ordinal in self.drawn:
            self.queues[ordinal].thin(holds)

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
        window = self.timing.windows[stream]
        return applied is not None and isinstance(window, Continuous) and last_cell + window.size_us < applied

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """The rows themselves: every row stays single."""
        return rows
