"""SYNC ON WINDOW ID: every stream counts its own windows, and windows of one number are joined (Du).

The number of the result window, its wid, replaces the instant. Cells are sub-windows, of time or of rows. A window has
n cells and slides by s cells, so window wid of a stream holds the n cells from cell wid·s on, counted from the first
cell of its first window:

    cells        0 1 2 3 4 5 6 7         n = 3, s = 2
    window 0    [0 1 2]
    window 1        [2 3 4]              cell 2 enters with wid 0 and leaves with wid 2
    window 2            [4 5 6]

Size, slide and unit may differ from stream to stream. A result window is complete when the windows of its number are
complete in all streams; until then its cells wait. With ``MOD k`` the first k windows of the first stream are used
again and again, and its later ones are ignored.
"""

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.calendar import BEGINNING, END, NEVER, Content
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.calendars.rows import Boundaries
from joinfold.operators.calendars.time import CellCalendar
from joinfold.operators.entries import Flags, Integers
from joinfold.physical.timing import ByWindowId, Timing
from joinfold.window import RangeByRows, Rows, Sliding


class WindowIdCalendar(CellCalendar):
    """The windows of one stream by number; ``modulus`` is the k of ``MOD k`` for the first stream, else None."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition, order: tuple[str, ...] = ()) -> None:
        super().__init__(timing, stream, position)
        window = timing.windows[stream]
        assert isinstance(window, Sliding | Rows | RangeByRows) and isinstance(timing.rule, ByWindowId)
        self.window = window
        self.modulus = timing.rule.modulus if stream == 0 else None
        self.boundaries = None if isinstance(window, Sliding) else Boundaries(window, order)
        self.applied = 0

    # --- rows -------------------------------------------------------------------------------------------------------

    def accepts(self, ts: Integers) -> Flags:
        """False for rows before START."""
        if isinstance(self.window, Sliding) and self.window.start_us is not None:
            return np.asarray(ts >= self.window.start_us)
        return np.ones(len(ts), np.bool_)

    def first_instant(self, cells: Integers) -> Integers:
        """The watermark that completes the first window which holds each cell; for a cell between two windows, its end.

        Windows before START have no number and hold nothing. Where windows count rows, it is 1 µs after the row.
        """
        window = self.window
        if not isinstance(window, Sliding):
            return cells + 1
        start = cells * window.subwindow_us + self.cells.phase_us
        begin = window.moves.next(start - window.size_us)
        if window.start_us is not None:
            begin = np.maximum(begin, window.start_us)
        return np.where(begin <= start, begin + window.size_us, start + window.subwindow_us)

    def see(self, cells: Integers) -> None:
        """Remembers the first cell that has a row: it decides where window 0 begins."""
        if len(cells):
            known, first = self.position.origin, int(cells.min())
            self.position.origin = first if known is None else min(known, first)

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Adds row boundaries."""
        self._boundaries.add(boundaries)

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The cells of stored entries; of ROWS windows the blocks, −1 where they are not known yet."""
        if not isinstance(self.window, Rows):
            return cells_of(rows)
        found = self._boundaries.blocks(rows, self.applied)
        self.applied = self._boundaries.last
        return found

    def used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows or boundaries, without those of windows that are ignored."""
        return rows.filter(pa.array(cells_of(rows) < self._ignored_from())) if self.modulus is not None else rows

    # --- windows ----------------------------------------------------------------------------------------------------

    def content(self, instant: int) -> Content:
        """What this stream's window of a result window holds."""
        return self._held(self._window_number(instant))

    def leave(self, cells: Integers, now: int) -> Integers:
        """For cells that result window ``now`` holds, the first later one that does not; END if that is not known.

        Under ``MOD k`` all cells leave after window k − 1, also those that window 0, which comes next, holds again.
        """
        last = self.modulus or END
        if isinstance(self.window, RangeByRows) or last == 1:
            return np.full_like(cells, END)
        _, step = self._shape
        first_without = (cells - self._first_cell) // step + 1
        return now - self._window_number(now) + np.minimum(first_without, last)

    def holding(self, cells: Integers) -> tuple[Integers, Integers] | None:
        """The first result window that holds each cell, and the first later one that does not; None where rows decide.

        Under ``MOD k`` windows come again, so nothing is said of them.
        """
        if self.modulus is not None or isinstance(self.window, RangeByRows):
            return None
        if not len(cells):
            return cells, cells
        panes, step = self._shape
        since = cells - self._first_cell
        return -((panes - 1 - since) // step), since // step + 1

    def edges(self, wid: int) -> tuple[int, int]:
        """The beginning and the end of this stream's window of a result window: times, or numbers of rows."""
        number, window = self._window_number(wid), self.window
        match window:
            case Sliding():
                begin = self._beginning(window) + number * window.slide_us
                return begin, begin + window.size_us
            case Rows():
                return number * window.slide + 1, number * window.slide + window.size
            case RangeByRows():
                return self._held(number)

    def complete(self, watermark: int) -> int:
        """How many result windows this stream has completed; under ``MOD k``, NEVER once its first k windows are."""
        window, largest = self.window, self.position.largest
        if largest is None or not self._has_begun:
            return 0
        match window:
            case Sliding():
                begin = self._beginning(window)
                found = (largest - begin) // window.slide_us + 1
                if watermark != END:
                    found = min(found, (watermark - window.size_us - begin) // window.slide_us + 1)
            case Rows():
                found = (self._boundaries.last - window.size) // window.slide + 1
            case RangeByRows():
                found = self._boundaries.moved
        found = max(0, found)
        return NEVER if self.modulus is not None and found >= self.modulus else found

    def keeps(self, first: int) -> int:
        """Under ``MOD k`` all cells are needed again."""
        return BEGINNING if self.modulus is not None else first

    def done_before(self, first: int) -> int:
        """A cell; a time where rows are numbered, since these are stored by their times."""
        kept = self.keeps(first)
        return kept if self.boundaries is None else self.boundaries.done_before(kept)

    def forget(self, first: int) -> None:
        """Drops boundaries that are no longer needed."""
        if self.boundaries is not None:
            self.boundaries.forget(self.keeps(first))

    @property
    def _boundaries(self) -> Boundaries:
        assert self.boundaries is not None
        return self.boundaries

    def _ignored_from(self) -> int:
        """The first cell, or time where rows are numbered, that no used window holds; NEVER if it is not known yet."""
        assert self.modulus is not None
        window, last = self.window, self.modulus - 1
        match window:
            case Rows():
                return self._boundaries.after(last * window.slide + window.size)
            case RangeByRows():
                return self._boundaries.move(last) if self._boundaries.moved > last else NEVER
            case Sliding():
                return NEVER if self.position.origin is None else self._held(last)[1]

    def _window_number(self, wid: int) -> int:
        return wid if self.modulus is None else wid % self.modulus

    @property
    def _shape(self) -> tuple[int, int]:
        """Cells per window, and cells per slide."""
        window = self.window
        if isinstance(window, Sliding):
            return window.panes, window.step
        assert isinstance(window, Rows)
        return window.size // window.block, window.slide // window.block

    @property
    def _has_begun(self) -> bool:
        """Whether it is known where window 0 begins. If all rows so far were late, the next one in time decides."""
        window = self.window
        return not isinstance(window, Sliding) or window.start_us is not None or self.position.origin is not None

    @property
    def _first_cell(self) -> int:
        window = self.window
        if isinstance(window, Rows):
            return 0
        assert isinstance(window, Sliding)
        if window.start_us is not None:
            return (window.start_us - self.cells.phase_us) // window.subwindow_us
        assert self.position.origin is not None
        return self.position.origin // window.step * window.step

    def _beginning(self, window: Sliding) -> int:
        """The time at which window 0 begins."""
        return self._first_cell * window.subwindow_us + self.cells.phase_us

    def _held(self, number: int) -> Content:
        window = self.window
        if isinstance(window, RangeByRows):
            end = self._boundaries.move(number)
            return end - window.size_us, end
        panes, step = self._shape
        first = self._first_cell + number * step
        return first, first + panes
