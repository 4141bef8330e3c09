"""How entries come to a window: by time, or as rows of a view, which replace each other.

An intake holds the entries of one input until they enter, and afterwards until they leave:

    stored entries ──▶ admit ──▶ cells ──▶ move ──▶ entries that leave, entries that enter
                         │         ▲
                         └─▶ waiting ──▶ ready     rows of a ROWS window, until row boundaries tell their block
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import draws_of, together
from joinfold.operators.calendars.calendar import BEGINNING, END, Calendar, Content
from joinfold.operators.cells import Cells, cells_gone, cells_new
from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.windows.current_rows import CurrentRows
from joinfold.physical.column_names import CELL
from joinfold.physical.payload import InputSpec
from joinfold.physical.source import ConstantRow, StreamRows, ViewOf
from joinfold.window import Landmark, Rows

Adopt = Callable[[Sequence[Entries]], list[Entries]]


class Moved(NamedTuple):
    """Entries that leave a window at an instant, those that enter, and when these will leave; None for none."""

    gone: Entries | None
    new: Entries | None
    leaves: Integers | None


class Intake(Protocol):
    """The entries of one input on their way through its window."""

    cells: Cells

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Takes stored entries. Returns those whose cells are known; the fold reads them and adds them to ``cells``."""

    def ready(self) -> pa.RecordBatch | None:
        """Entries whose cells have become known by new row boundaries; the fold adds these to ``cells`` too."""

    def move(self, before: Sequence[Content], now: Sequence[Content], instant: int) -> Moved:
        """What leaves and enters as the windows of all streams move from one content to another."""

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """Drops the entries that have left."""

    def rebuild(self, adopt: Adopt) -> None:
        """Puts all entries back into ``cells``, where they wait again; ``adopt`` gives them new ids."""

    def thin(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops the entries that SHED no longer holds, by their draws."""

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """Whether stored entries up to this cell are no longer needed."""

    def alike_before(self, contents: Sequence[Content]) -> int:
        """Cells before this one no longer matter; see `Bucket.alike_before`."""

    @property
    def held(self) -> int:
        """How many entries there are."""

    @property
    def given(self) -> int:
        """How many ids its own id table has. The fold is rebuilt when this is much more than ``held``."""


class TimedIntake:
    """Entries of a stream. They enter and leave by their cells."""

    def __init__(self, stream: int, calendar: Calendar) -> None:
        self.stream = stream
        self.calendar = calendar
        self.cells = Cells()
        self.waiting: list[pa.RecordBatch] = []  # rows whose block is not known yet

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """All entries; rows of a ROWS window wait until row boundaries tell their block."""
        if isinstance(self.calendar.window, Rows):
            self.waiting.append(batch)
            return None
        return batch

    def ready(self) -> pa.RecordBatch | None:
        """The waiting rows whose block is known by now, with the block as their cell."""
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
        """The cells that the window has lost, and those that it has gained."""
        was, is_ = before[self.stream], now[self.stream]
        new = self.cells.between(*cells_new(was, is_))
        leaves = None if new is None else self.calendar.leave(new.cells, instant)
        return Moved(self.cells.between(*cells_gone(was, is_)), new, leaves)

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """Drops the cells that have left."""
        self.cells.drop_before(self.calendar.keeps(contents[self.stream][0]))

    def rebuild(self, adopt: Adopt) -> None:
        """Gives all entries new ids; they wait again."""
        self.cells.replace(adopt(self.cells.all()))

    def thin(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops entries from cells, and waiting rows."""
        self.cells.replace(_thinned(self.cells.all(), holds))
        self.waiting = [batch.filter(pa.array(holds(draws_of(batch)))) for batch in self.waiting]

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """Whether stored entries up to this cell have left."""
        return last_cell < self.calendar.done_before(contents[self.stream][0])

    def alike_before(self, contents: Sequence[Content]) -> int:
        """For a landmark, the end of its content: entries never leave it again."""
        return contents[self.stream][1] if isinstance(self.calendar.window, Landmark) else BEGINNING

    @property
    def held(self) -> int:
        """How many entries there are."""
        return self.cells.held

    @property
    def given(self) -> int:
        """0: it has no id table."""
        return 0


class ViewIntake:
    """Rows of a view. Each replaces the row before it."""

    def __init__(self) -> None:
        self.cells = Cells()
        self.current = CurrentRows()

    def admit(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """All rows: their instants are known."""
        return batch

    def ready(self) -> pa.RecordBatch | None:
        """None: no row waits."""
        return None

    def move(self, before: Sequence[Content], now: Sequence[Content], instant: int) -> Moved:
        """The rows that have come by the instant enter, and the rows that they replace leave."""
        come = self.cells.between(BEGINNING, instant + 1)
        self.cells.drop_before(instant + 1)
        if come is None:
            return Moved(None, None, None)
        gone, new = self.current.replace(come)
        return Moved(gone if len(gone) else None, new if len(new) else None, np.full(len(new), END))

    def drop_gone(self, contents: Sequence[Content]) -> None:
        """Does nothing: rows that were replaced are gone already."""

    def rebuild(self, adopt: Adopt) -> None:
        """Puts the current rows before all rows that wait, and gives all of them new ids."""
        current = self.current.take()
        if current is not None:
            current.cells[:] = BEGINNING
            self.cells.add(current)
        self.cells.replace(adopt(self.cells.all()))

    def thin(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops rows that wait, and current rows."""
        self.cells.replace(_thinned(self.cells.all(), holds))
        current = self.current.take()
        for rows in _thinned([] if current is None else [current], holds):
            self.current.replace(rows)

    def is_done(self, last_cell: int, contents: Sequence[Content]) -> bool:
        """False: a row is needed until another replaces it."""
        return False

    def alike_before(self, contents: Sequence[Content]) -> int:
        """END: only the last row of a group counts, whatever its instant."""
        return END

    @property
    def held(self) -> int:
        """How many rows there are."""
        return self.cells.held + len(self.current)

    @property
    def given(self) -> int:
        """How many ids its id table has, also those of rows that are gone."""
        return self.current.given


def intakes_of(inputs: Sequence[InputSpec], calendars: Sequence[Calendar]) -> dict[int, Intake]:
    """The intake of each input, by its ordinal. The constant row has none: it is in its window from the start."""
    intakes: dict[int, Intake] = {}
    for ordinal, spec in enumerate(inputs):
        match spec.source:
            case StreamRows(stream=stream):
                intakes[ordinal] = TimedIntake(stream, calendars[stream])
            case ViewOf():
                intakes[ordinal] = ViewIntake()
            case ConstantRow():
                pass
    return intakes


def _thinned(many: Sequence[Entries], holds: Callable[[Integers], Flags]) -> list[Entries]:
    """The entries that are still held, without empty parts."""
    found = []
    for entries in many:
        assert entries.draws is not None
        kept = entries.take(np.flatnonzero(holds(entries.draws)))
        found += [kept] if len(kept) else []
    return found
