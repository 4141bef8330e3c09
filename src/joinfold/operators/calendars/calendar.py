"""A calendar for each stream: when its cells enter and leave its window.

A cell is a stretch of time, or a block of rows, that enters and leaves a window as a whole (`physical.timing`). So a
calendar describes the content of a window at an instant as a range of cells, and the engine moves a window by the cells
that it gains and loses:

    cells          0   1   2   3   4   5   6
    before         [-----------)                   content (0, 3)
    now                [-----------)               content (1, 4): cell 0 leaves, cell 3 enters

There is one kind of calendar for windows in time (`calendars.time`), one for windows that count rows
(`calendars.rows`), and one for SYNC ON WINDOW ID (`calendars.window_ids`), where the number of a result window replaces
the instant. Times are int64 microseconds; nothing overflows for the event times that PACK accepts, up to ±2^62, and the
durations of `timetext`.
"""

from typing import Protocol

import pyarrow as pa

from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.entries import Flags, Integers
from joinfold.window import Window

NEVER = END = 2**63 - 1  # later than every instant
BEGINNING = -(2**63)  # smaller than every cell
Content = tuple[int, int]  # the first cell that a window holds, and the first cell after its last one
NOTHING: Content = (BEGINNING, BEGINNING)


class Calendar(Protocol):
    """What a stage has to know of one stream's window; ``first`` is the first cell of the window's content."""

    position: StreamPosition

    @property
    def window(self) -> Window:
        """The window."""

    def cell_of(self, ts: Integers) -> Integers:
        """The cell of each row. PACK puts rows into cells by it."""

    def accepts(self, ts: Integers) -> Flags:
        """True for rows that some window may hold; false for those before a landmark begins, or before START."""

    def first_instant(self, cells: Integers) -> Integers:
        """The first instant that holds each cell, or NEVER; where rows decide the instants, the first that may."""

    def due(self, cells: Integers) -> Integers:
        """The smallest watermark at which rows of these cells are late."""

    def see(self, cells: Integers) -> None:
        """Adds cells that have a row which is not late, whether filters remove it or not. They come from headers."""

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Adds row boundaries."""

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The cells of stored entries; −1 where row boundaries do not tell them yet."""

    def content(self, instant: int) -> Content:
        """What the window holds at an instant."""

    def leave(self, cells: Integers, now: int) -> Integers:
        """The instants at which cells leave that enter ``now``, ascending; END where later rows decide."""

    def moves(self, until: int) -> Integers | None:
        """The instants up to ``until`` at which rows have moved the window, as far as needed; None if rows never do."""

    def keeps(self, first: int) -> int:
        """The first cell that is still needed; the intake of the stream drops the cells before it."""

    def done_before(self, first: int) -> int:
        """The first cell, or the first time where rows are numbered, that is still needed in the state store."""

    def forget(self, first: int) -> None:
        """Drops row boundaries that are no longer needed."""

    def used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows or boundaries, without those that only ignored windows hold. MOD k ignores all but the first k."""
