"""SYNC ON WINDOW ID: every stream counts its own windows, and those of one number are joined (Du).

The number of the result window takes the place of the instant. Cells are sub-windows, of time or of rows; with n of
them in a window that slides by k, window wid of a stream holds n cells from cell wid·k on, from its first window on:

    cells       0 1 2 3 4 5 6 7          n = 3, k = 2
    window 0    [---)
    window 1        [---)                cell 2 enters at wid 0 and leaves at wid 2

Nothing else about the windows must agree. A result window is complete when its window of every stream is; until then
its cells wait. With ``MOD k`` the first stream's first k windows come again and again, and its later ones are ignored.
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
    """The windows of one stream by number; ``modulus`` is None unless they come again."""

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
        """Rows that are not before START."""
        if isinstance(self.window, Sliding) and self.window.start_us is not None:
            return np.asarray(ts >= self.window.start_us)
        return np.ones(len(ts), np.bool_)

    def first_instant(self, cells: Integers) -> Integers:
        """The watermark at which the first window that would hold a cell is complete; between two windows, its end.

        Where windows count rows it goes by rows.
        """
        window = self.window
        if not isinstance(window, Sliding):
            return cells + 1
        start = cells * window.subwindow_us + self.cells.phase_us
        begin = window.moves.next(start - window.size_us)
        return np.where(begin <= start, begin + window.size_us, start + window.subwindow_us)

    def see(self, cells: Integers) -> None:
        """The first cell is that of the first window."""
        if len(cells):
            known, first = self.position.origin, int(cells.min())
            self.position.origin = first if known is None else min(known, first)

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Takes in row boundaries."""
        self._boundaries.add(boundaries)

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The cells of stored entries; of windows of rows their block, −1 where it is not known yet."""
        if not isinstance(self.window, Rows):
            return cells_of(rows)
        found = self._boundaries.blocks(rows, self.applied)
        self.applied = self._boundaries.last
        return found

    def used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows or boundaries without those of windows that are ignored."""
        return rows.filter(pa.array(cells_of(rows) < self._ignored_from())) if self.modulus is not None else rows

    # --- windows ----------------------------------------------------------------------------------------------------

    def content(self, instant: int) -> Content:
        """What the window of a result window holds."""
        return self._held(self._own(instant))

    def leave(self, cells: Integers, now: int) -> Integers:
        """The first result window after ``now`` that does not hold each cell, which ``now`` holds; END if not known.

        Where windows come again the last one lets all cells go, also those that the first has again.
        """
        last = self.modulus or END
        if isinstance(self.window, RangeByRows) or last == 1:
            return np.full_like(cells, END)
        _, step = self._shape
        own = (cells - self._first_cell) // step + 1
        return now - self._own(now) + np.minimum(own, last)

    def edges(self, wid: int) -> tuple[int, int]:
        """Where the window of a result window begins and ends: times, or numbers of rows."""
        own, window = self._own(wid), self.window
        match window:
            case Sliding():
                begin = self._beginning(window) + own * window.slide_us
                return begin, begin + window.size_us
            case Rows():
                return own * window.slide + 1, own * window.slide + window.size
            case RangeByRows():
                return self._held(own)

    def complete(self, watermark: int) -> int:
        """How many result windows are complete as far as this stream is concerned."""
        window, largest = self.window, self.position.largest
        if largest is None:
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
        """Windows that come again keep all their cells."""
        return BEGINNING if self.modulus is not None else first

    def done_before(self, first: int) -> int:
        """Where rows are counted, they are stored by their times."""
        kept = self.keeps(first)
        return kept if self.boundaries is None else self.boundaries.done_before(kept)

    def forget(self, first: int) -> None:
        """Drops boundaries that are of no more use."""
        if self.boundaries is not None:
            self.boundaries.forget(self.keeps(first))

    @property
    def _boundaries(self) -> Boundaries:
        assert self.boundaries is not None
        return self.boundaries

    def _ignored_from(self) -> int:
        """Cells from this one on, or times where rows count, are in no window that is used; NEVER if not known."""
        assert self.modulus is not None
        window, last = self.window, self.modulus - 1
        match window:
            case Rows():
                return self._boundaries.after(last * window.slide + window.size)
            case RangeByRows():
                return self._boundaries.move(last) if self._boundaries.moved > last else NEVER
            case Sliding():
                return NEVER if self.position.origin is None else self._held(last)[1]

    def _own(self, wid: int) -> int:
        return wid if self.modulus is None else wid % self.modulus

    @property
    def _shape(self) -> tuple[int, int]:
        """Cells in a window, and by how many it slides."""
        window = self.window
        if isinstance(window, Sliding):
            return window.panes, window.step
        assert isinstance(window, Rows)
        return window.size // window.block, window.slide // window.block

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
        """Where window 0 begins."""
        return self._first_cell * window.subwindow_us + self.cells.phase_us

    def _held(self, own: int) -> Content:
        window = self.window
        if isinstance(window, RangeByRows):
            end = self._boundaries.move(own)
            return end - window.size_us, end
        panes, step = self._shape
        first = self._first_cell + own * step
        return first, first + panes
