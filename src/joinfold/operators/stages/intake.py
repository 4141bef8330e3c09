"""How entries come to a window: by time, or as the rows of a view, which replace each other.

An intake holds the entries of one input until they enter, and as long as they may leave again.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import together
from joinfold.operators.calendars.calendar import BEGINNING, END, Calendar, Content
from joinfold.operators.cells import Cells, cells_gone, cells_new
from joinfold.operators.entries import Entries, Integers
from joinfold.operators.windows.current_rows import CurrentRows
from joinfold.physical.column_names import CELL
from joinfold.window import Landmark, Rows

Adopt = Callable[[Sequence[Entries]], list[Entries]]


class Moved(NamedTuple):
    """What leaves a window at an instant, what enters, and when that will leave; None where nothing does."""

    gone: Entries | None
    new: Entries | None
    leaves: Integers | None


class Intake(Protocol):
    """The entries of one input on their way through its window."""

    cells: Cells

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Takes in stored entries; gives back those whose cells are known by now, to be read and added."""

    def ready(self) -> pa.RecordBatch | None:
        """More of them, after row boundaries were learnt."""

    def move(self, before: Sequence[Content], now: Sequence[Content], instant: int) -> Moved:
        """What leaves and enters as windows move from one content to another."""

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """Forgets the entries that have left."""

    def rebuild(self, adopt: Adopt) -> None:
        """All entries wait again, with other ids."""

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """Whether stored entries up to this cell are of no more use."""

    def alike_before(self, contents: Sequence[Content]) -> int:
        """Cells before this one have entered for good."""

    @property
    def held(self) -> int:
        """How many entries there are."""

    @property
    def given(self) -> int:
        """How many ids its own table has given."""


class TimedIntake:
    """Entries of a stream, which enter and leave by their cells."""

    def __init__(self, stream: int, calendar: Calendar) -> None:
        self.stream = stream
        self.calendar = calendar
        self.cells = Cells()
        self.waiting: list[pa.RecordBatch] = []  # rows whose block is not known yet

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Rows that are counted wait until boundaries tell their block."""
        if isinstance(self.calendar.window, Rows):
            self.waiting.append(batch)
            return None
        return batch

    def ready(self) -> pa.RecordBatch | None:
        """Rows that boundaries tell the block of, in that cell."""
        if not self.waiting:
            return None
        rows = together(self.waiting)
        blocks = self.calendar.cells_of(rows)
        known = blocks >= 0
        self.waiting = [] if known.all() else [self.calendar.used(rows.filter(pa.array(~known)))]
        if not known.any():
            return None
        rows = rows.set_column(rows.schema.get_field_index(CELL), CELL, pa.array(blocks))
        return rows.filter(pa.array(known))

    def move(self, before: Sequence[Content], now: Sequence[Content], instant: int) -> Moved:
        """Cells that the window no longer holds, and those that it holds now."""
        was, is_ = before[self.stream], now[self.stream]
        new = self.cells.between(*cells_new(was, is_))
        leaves = None if new is None else self.calendar.leave(new.cells, instant)
        return Moved(self.cells.between(*cells_gone(was, is_)), new, leaves)

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """Forgets the cells that have left."""
        self.cells.drop_before(self.calendar.keeps(contents[self.stream][0]))

    def rebuild(self, adopt: Adopt) -> None:
        """All entries wait again, with other ids."""
        self.cells.replace(adopt(self.cells.all()))

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """Whether stored entries up to this cell have left."""
        return last_cell < self.calendar.done_before(contents[self.stream][0])

    def alike_before(self, contents: Sequence[Content]) -> int:
        """A landmark never lets go of what has entered."""
        return contents[self.stream][1] if isinstance(self.calendar.window, Landmark) else BEGINNING

    @property
    def held(self) -> int:
        """How many entries there are."""
        return self.cells.held

    @property
    def given(self) -> int:
        """It gives no ids."""
        return 0


class ViewIntake:
    """Rows of a view: each takes the place of the row before it."""

    def __init__(self) -> None:
        self.cells = Cells()
        self.current = CurrentRows()

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """All rows are of a known instant."""
        return batch

    def ready(self) -> pa.RecordBatch | None:
        """None waits."""
        return None

    def move(self, before: Sequence[Content], now: Sequence[Content], instant: int) -> Moved:
        """The rows that have come by the instant, and those that they replace."""
        come = self.cells.between(BEGINNING, instant + 1)
        self.cells.drop_before(instant + 1)
        if come is None:
            return Moved(None, None, None)
        gone, new = self.current.replace(come)
        return Moved(gone if len(gone) else None, new if len(new) else None, np.full(len(new), END))

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """What is replaced is gone already."""

    def rebuild(self, adopt: Adopt) -> None:
        """Current rows come before all that wait."""
        current = self.current.take()
        if current is not None:
            current.cells[:] = BEGINNING
            self.cells.add(current)
        self.cells.replace(adopt(self.cells.all()))

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """A row stays until another takes its place."""
        return False

    def alike_before(self, contents: Sequence[Content]) -> int:
        """Of a view nothing waits."""
        return END

    @property
    def held(self) -> int:
        """How many rows there are."""
        return self.cells.held + len(self.current)

    @property
    def given(self) -> int:
        """How many ids it has given, also to rows that are gone."""
        return self.current.given
