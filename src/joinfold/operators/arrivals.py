"""FOLD for EMIT ON ARRIVAL: one answer for every row, in the order of rows.

Every bucket gets the *arrivals* of all rows: time, input, and the values that order rows of one time. So all buckets go
through the same sequence of rows; each lets its own rows enter, lets rows leave that have become too old, and notes its
groups at every row. Entries are single rows here, found by their number in the batch that brought them. A row has as
many of them as it has matches in relations, all in one bucket or in several.

Since all buckets go through all rows, each can count them: a row leaves ``[ROWS n]`` with the n-th arrival after it.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.bucket import Noted
from joinfold.operators.choice import FoldChoice
from joinfold.operators.codec import decode, encode
from joinfold.operators.entries import Entries, joined
from joinfold.operators.fold import Fold
from joinfold.operators.glimpse import glimpse_of
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.layout import FoldLayout
from joinfold.operators.observed import Pulsed
from joinfold.operators.ordering import in_order, order_names
from joinfold.operators.pack import aggregate, bucket_of, cut
from joinfold.operators.timeline import END, Time
from joinfold.window import Continuous, Rows

ARRIVALS = 1000  # entries of input i are stored under i, its arrivals under ARRIVALS + i
Arrival = tuple[int, int, int, int]  # time, input, batch, row


class ArrivalFold(Fold):
    """One bucket of a query that answers at every row."""

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        super().__init__(layout, number, choice)
        self.waiting: list[list[pa.RecordBatch]] = [[] for _ in layout.inputs]
        self.rows: dict[tuple[int, int], tuple[int, Entries]] = {}
        self.inside: list[deque[tuple[int, Entries]]] = [deque() for _ in layout.inputs]  # by time, or by number
        windows = enumerate(layout.timeline.windows)
        self.last: dict[int, deque[int]] = {  # the times of the last arrivals of streams whose rows are counted
            place: deque(maxlen=window.size) for place, window in windows if isinstance(window, Rows)
        }

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch: the bucket's own rows, and the arrivals of all."""
        watermark = self.moment.clock.watermark(self.layout.delays_us)
        accepted = []
        self.rows_read = [0] * self.layout.streams
        seen: list[tuple[int, int]] = []
        pulses: list[Pulsed] = []
        for batch, facts in [decode(blob) for blob in blobs]:
            place = facts["place"]
            times = batch.column("cell").to_numpy()
            in_time = np.ones(len(times), np.bool_) if watermark is None else times >= watermark
            if "arrivals" in facts:
                self.rows_read[place] += facts["rows"]
                if facts["largest_us"] is not None:
                    seen.append((place, facts["largest_us"]))
                    pulses.append((place, facts["rows"], facts["largest_us"], facts["glimpse"]))
                if self.is_first:
                    kept = batch.column("keep").to_numpy(zero_copy_only=False)
                    self.moment.late[place] += int(np.count_nonzero(kept & ~in_time)) + facts["timeless"]
            if in_time.any():
                stored = batch if in_time.all() else batch.filter(pa.array(in_time))
                accepted.append((place + (ARRIVALS if "arrivals" in facts else 0), stored))
        for place, largest_us in seen:
            self.moment.clock.see(place, largest_us)
        self.observed.see(pulses)
        for place, batch in accepted:
            self.add(place, batch)
        return accepted

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Keeps rows by their number, and arrivals until they are answered."""
        if place >= ARRIVALS:
            self.waiting[place - ARRIVALS].append(batch)
            return
        entries = self._read(place, batch)
        self.live.windows.expect(place, entries)
        found: dict[tuple[int, int], list[int]] = {}
        for at, name in enumerate(zip(batch.column("batch").to_pylist(), batch.column("row").to_pylist(), strict=True)):
            found.setdefault(name, []).append(at)
        for name, places in found.items():
            self.rows[name] = (place, entries.take(np.array(places)))

    def renew(self, keep_labels: bool = False) -> None:
        """Makes what is live anew from the rows that wait and those that are inside."""
        old = self.put_aside(keep_labels)
        for place in range(self.layout.streams):
            names = [name for name, (own, _) in self.rows.items() if own == place]
            waiting = self.live.vocabulary.adopt(old.vocabulary, place, [self.rows[name][1] for name in names])
            self.rows |= {name: (place, row) for name, row in zip(names, waiting, strict=True)}
            rows = self.live.vocabulary.adopt(old.vocabulary, place, [row for _, row in self.inside[place]])
            self.inside[place] = deque(zip((mark for mark, _ in self.inside[place]), rows, strict=True))
            if waiting or rows:
                self.live.windows.expect(place, joined([*waiting, *rows]))
        self._let_all_in()
        self.live.remember_given()

    def resume(self) -> None:
        """Rows that were inside before are inside again, in order of time; arrivals that were answered are gone."""
        answered = self.moment.answered
        numbers = self._numbers_before(answered)
        for place, waiting in enumerate(self.waiting if answered is not None else []):
            self.waiting[place] = [batch.filter(pc.greater_equal(batch.column("cell"), answered)) for batch in waiting]
        expected = {name for place in range(self.layout.streams) for name in self._names(place)}
        applied = self.moment.applied
        stored = []
        for name in [name for name in self.rows if name not in expected]:
            place, row = self.rows.pop(name)
            stored.append((numbers.get(name, 0) if place in self.last else self._time(row), place, row))
        for mark, place, row in sorted(stored, key=lambda item: item[0]):
            assert applied is not None
            if not self._is_gone(place, mark, applied):
                self.inside[place].append((mark, row))
        self._let_all_in()

    def _numbers_before(self, answered: int | None) -> dict[tuple[int, int], int]:
        """The numbers of rows that were answered, as far as they may be inside; their times are remembered."""
        numbers: dict[tuple[int, int], int] = {}
        for place, last in self.last.items():
            if answered is not None and self.waiting[place]:
                stored = pa.Table.from_batches(self.waiting[place]).combine_chunks()
                stored = stored.filter(pc.less(stored.column("cell"), answered))
                stored = stored.take(pa.array(in_order(stored)))
                last.extend(stored.column("cell").to_pylist())
                names = zip(stored.column("batch").to_pylist(), stored.column("row").to_pylist(), strict=True)
                first = self.moment.numbered[place] - stored.num_rows + 1
                numbers |= {name: number for number, name in enumerate(names, first)}
        return numbers

    def answer(self, to_the_end: bool = False) -> Noted:
        """Goes through all rows that are final, and notes the groups at each."""
        moment = self.moment
        until = END if to_the_end else moment.clock.watermark(self.layout.delays_us)
        if until is None:
            return Noted(None, [])
        arrivals = self._due(until)
        before = -1 if self.layout.changes and arrivals and moment.applied is not None else None
        if before is not None:
            assert moment.applied is not None
            self.note(before, moment.applied)
        places: list[tuple[int, int]] = []
        for position, (ts, place, batch, row) in enumerate(arrivals):
            moment.applied = ts
            if place in self.last:
                moment.numbered[place] += 1
                self.last[place].append(ts)
            self._let_out(ts)
            if (batch, row) in self.rows:
                mark = moment.numbered[place] if place in self.last else ts
                self._let_in(place, mark, self.rows.pop((batch, row))[1], ts)
            number = places[-1][1] + 1 if places and places[-1][0] == ts else 1
            places.append((ts, number))
            self.note(position, ts)
        moment.answered = until
        noted = self.live.noted()
        if self.live.is_outgrown(len(self.rows) + sum(map(len, self.inside))):
            self.renew()
        where = [list(column) for column in zip(*places, strict=True)] or [[], []]
        return Noted(noted, list(range(len(places))), before, where)

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored rows up to this time are of no more use."""
        stream, answered, applied = place % ARRIVALS, self.moment.answered, self.moment.applied
        if stream in self.last:
            last = self.last[stream]
            return len(last) == last.maxlen and last_cell < last[0]
        if place >= ARRIVALS:
            return answered is not None and last_cell < answered
        return applied is not None and last_cell < applied and self._is_gone(place, last_cell, applied)

    def _due(self, until: int) -> list[Arrival]:
        """The arrivals before the watermark, in order: time, input, then values, NULL first and NaN last."""
        found: list[Arrival] = []
        for place in range(self.layout.streams):
            if not self.waiting[place]:
                continue
            table = pa.Table.from_batches(self.waiting[place]).combine_chunks()
            due = np.asarray(table.column("cell").to_numpy()) < until
            self.waiting[place] = table.filter(pa.array(~due)).to_batches()
            final = table.filter(pa.array(due))
            final = final.take(pa.array(in_order(final)))
            columns = [final.column(name).to_pylist() for name in ("cell", "batch", "row")]
            found += [(ts, place, batch, row) for ts, batch, row in zip(*columns, strict=True)]
        order = sorted(range(len(found)), key=lambda at: found[at][:2])  # stable: values are in order already
        return [found[at] for at in order]

    def _let_in(self, place: int, mark: int, row: Entries, ts: int) -> None:
        self.inside[place].append((mark, row))
        try:
            self._enter(place, row, ts)
        except GapUsedUp:
            self.renew(keep_labels=True)

    def _let_all_in(self) -> None:
        """All that are inside enter windows that are empty."""
        try:
            for place, inside in enumerate(self.inside):
                if inside:
                    assert self.moment.applied is not None
                    self._enter(place, joined([row for _, row in inside]), self.moment.applied)
        except GapUsedUp:
            self.renew(keep_labels=True)

    def _enter(self, place: int, rows: Entries, ts: int) -> None:
        self.live.windows.enter(place, rows, self._leave(place, rows.cells), ts)

    def _let_out(self, ts: int) -> None:
        for place, inside in enumerate(self.inside):
            gone = []
            while inside and self._is_gone(place, inside[0][0], ts):
                gone.append(inside.popleft()[1])
            if gone:
                self.live.windows.leave(place, gone[0] if len(gone) == 1 else joined(gone), ts)

    def _leave(self, place: int, ts: Time) -> Time:
        """The first time of an arrival that no longer sees a row."""
        window = self.layout.timeline.windows[place]
        return ts + window.size_us + 1 if isinstance(window, Continuous) else ts * 0 + END

    def _is_gone(self, place: int, mark: int, now: int) -> bool:
        """Whether a row of this time, or of this number, is no longer seen."""
        if place in self.last:
            return mark <= self.moment.numbered[place] - (self.last[place].maxlen or 0)
        return self._leave(place, mark) <= now

    def _time(self, row: Entries) -> int:
        return int(row.cells[0])

    def _names(self, place: int) -> list[tuple[int, int]]:
        return [
            name
            for batch in self.waiting[place]
            for name in zip(batch.column("batch").to_pylist(), batch.column("row").to_pylist(), strict=True)
        ]


def pack_arrivals(
    layout: FoldLayout, place: int, labels: tuple[int, ...], batch: pa.RecordBatch, number: int = 0
) -> Iterator[tuple[int, bytes]]:
    """The blobs of a task's batch with this number: to every bucket its rows as entries, and the arrivals of all."""
    rows = cut(layout, place, batch)
    chosen = np.flatnonzero(rows.chosen)
    first = np.ones(len(rows.ts), np.bool_) if rows.first is None else rows.first
    row_of = np.cumsum(first) - 1
    token = int.from_bytes(os.urandom(7), "little")
    entries = aggregate(layout.inputs[place], rows.batch.take(pa.array(chosen)), rows.cells[chosen], single=True)
    glimpse = glimpse_of(layout.inputs[place], number, rows.rows, rows.ts, entries)
    entries = entries.append_column("batch", pa.array(np.full(len(chosen), token)))
    entries = entries.append_column("row", pa.array(row_of[chosen]))
    arrived = int(np.count_nonzero(first))
    columns: dict[str, Any] = {
        "cell": pa.array(rows.ts[first]),
        "batch": pa.array(np.full(arrived, token)),
        "row": pa.array(np.arange(arrived)),
        "keep": pa.array(rows.kept[first]),
    }
    columns |= {name: rows.batch.column(name).filter(pa.array(first)) for name in order_names(batch)}
    facts: dict[str, Any] = {
        "place": place,
        "rows": rows.rows,
        "largest_us": rows.largest_us,
        "timeless": rows.timeless,
        "glimpse": None if glimpse is None else glimpse.text(),
    }
    arrivals = encode(pa.RecordBatch.from_pydict(columns), facts | {"arrivals": True})
    is_replicated = layout.is_replicated(place)
    bucket = np.zeros(len(chosen), np.int64) if is_replicated else bucket_of(layout, place, entries, len(labels))
    for number, label in enumerate(labels):
        mine = entries if is_replicated else entries.filter(pa.array(bucket == number))
        yield label, encode(mine, {"place": place})
        yield label, arrivals
