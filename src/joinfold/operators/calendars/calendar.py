"""A calendar for each stream: when its cells enter and leave its window.

Cells are stretches of time or blocks of rows that come and go together (`physical.timing`). Times are int64
microseconds; nothing overflows for rows of the years 1 to 9999 and the durations of `timetext`. By window ids the
number of a result window takes the place of the instant.
"""

from typing import Protocol

import pyarrow as pa

from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.entries import Flags, Integers
from joinfold.window import Window

NEVER = END = 2**63 - 1  # after every instant
BEGINNING = -(2**63)  # before every cell
Content = tuple[int, int]  # the first cell that a window holds, and the first one behind them
NOTHING: Content = (BEGINNING, BEGINNING)


class Calendar(Protocol):
    """What a stage has to know of one stream's window."""

    position: StreamPosition

    @property
    def window(self) -> Window:
        """The window."""

    def cell_of(self, ts: Integers) -> Integers:
        """The cells of rows."""

    def accepts(self, ts: Integers) -> Flags:
        """Rows that some window may hold; others lie before a mark, and are in none at any time."""

    def first_instant(self, cells: Integers) -> Integers:
        """The first instant that holds each cell, NEVER if none will; where rows decide, the first that may."""

    def due(self, cells: Integers) -> Integers:
        """The watermark from which on rows of these cells are late."""

    def see(self, cells: Integers) -> None:
        """Cells that have a row in time, whether filters remove it or not."""

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Takes in row boundaries."""

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The cells of stored entries; −1 where they are not known yet."""

    def content(self, instant: int) -> Content:
        """What the window holds at an instant."""

    def leave(self, cells: Integers, now: int) -> Integers:
        """When cells leave that enter now, in ascending order; END where later rows decide."""

    def moves(self, until: int) -> Integers | None:
        """The instants up to ``until`` at which rows have moved the window, as far as they still matter."""

    def keeps(self, first: int) -> int:
        """Cells before this one are of no more use where the content begins at ``first``."""

    def done_before(self, first: int) -> int:
        """What is stored of times before this one is of no more use where the content begins at ``first``."""

    def forget(self, first: int) -> None:
        """Drops row boundaries that are of no more use where the content begins at ``first``."""

    def used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows or boundaries without those that only ignored windows hold: under MOD k, all but the first k are."""
