"""SYNC ON WINDOW ID: every stream counts its own windows, and those of one number are joined (Du).

The number of the result window takes the place of the instant. Cells are sub-windows, of time or of rows; with n of
them in a window that slides by k, window wid of a stream holds n cells from cell wid·k on, from its first window on:

    cells       0 1 2 3 4 5 6 7          n = 3, k = 2
    window 0    [---)
    window 1        [---)                cell 2 enters at wid 0 and leaves at wid 2

Nothing else about the windows must agree. A result window is complete when its window of every stream is; until then
its cells wait. With ``MOD k`` the first stream's first k windows come again and again, and its later ones are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from joinfold.operators.cuts import Cuts
from joinfold.operators.timeline import BEGINNING, END, NEVER, Clock, CountingWindow, Timeline, Times, TimeWindow
from joinfold.window import Grid, RangeByRows, Rows, Sliding

Origins = list[int | None]


@dataclass(frozen=True, slots=True)
class WindowIds(Timeline):
    """The windows of streams by number; ``by_rows`` and candidates have no meaning."""

    modulus: int | None = None

    def __post_init__(self) -> None:
        cells = tuple(
            Grid(window.moves.phase_us, window.subwindow_us) if isinstance(window, Sliding) else Grid(0, 1)
            for window in self.windows
        )
        object.__setattr__(self, "cells", cells)

    @staticmethod
    def by_number(windows: tuple[TimeWindow | CountingWindow, ...], modulus: int | None) -> "WindowIds":
        """The windows of a query."""
        return WindowIds(windows, (), modulus=modulus)

    @property
    def on_trigger(self) -> bool:
        """The windows decide, whatever the trigger is."""
        return False

    @property
    def only_landmarks(self) -> bool:
        """A landmark has no number."""
        return False

    @property
    def open_ended(self) -> tuple[int, ...]:
        """Where rows decide how far a window reaches."""
        return tuple(place for place, window in enumerate(self.windows) if isinstance(window, RangeByRows))

    def accepts(self, place: int, ts: Times) -> np.ndarray:
        """Rows that are not before START."""
        window = self.windows[place]
        if isinstance(window, Sliding) and window.start_us is not None:
            return np.asarray(ts >= window.start_us)
        return np.ones(len(ts), np.bool_)

    def first_instant(self, place: int, cell: Times) -> Times:
        """The watermark at which the first window that would hold the cell is complete; between two windows, its end.

        Where windows count rows it goes by rows.
        """
        window = self.windows[place]
        if not isinstance(window, Sliding):
            return cell + 1
        start = cell * window.subwindow_us + self.cell_phase_us(place)
        begin = window.moves.next(start - window.size_us)
        return np.where(begin <= start, begin + window.size_us, start + window.subwindow_us)


@dataclass(frozen=True, slots=True)
class Numbering:
    """What is known of the windows of all streams by now: cuts of those that count rows, first cells of the others."""

    ids: WindowIds
    cuts: Mapping[int, Cuts]
    origins: Origins

    def content(self, stream: int, wid: int) -> tuple[int, int]:
        """First cell and end cell, exclusive, of the window of a stream that result window ``wid`` takes."""
        return self._held(stream, self._own(stream, wid))

    def leave(self, stream: int, cells: Times, now: int) -> Times:
        """The first result window after ``now`` that does not hold each cell, which ``now`` holds; END if not known.

        Where windows come again the last one lets all cells go, also those that the first has again.
        """
        last = (self.ids.modulus if self._repeats(stream) else None) or END
        if isinstance(self.ids.windows[stream], RangeByRows) or last == 1:
            return np.full_like(cells, END)
        _, step = self._shape(stream)
        own = (cells - self._first_cell(stream)) // step + 1
        return now - self._own(stream, now) + np.minimum(own, last)

    def edges(self, stream: int, wid: int) -> tuple[int, int]:
        """Where the window begins and ends: times, or numbers of rows."""
        own, window = self._own(stream, wid), self.ids.windows[stream]
        match window:
            case Sliding():
                begin = self._beginning(stream, window) + own * window.slide_us
                return begin, begin + window.size_us
            case Rows():
                return own * window.slide + 1, own * window.slide + window.size
            case _:
                return self._held(stream, own)

    def complete(self, clock: Clock, watermark: int) -> int:
        """How many result windows are complete."""
        return min(self._complete(stream, clock, watermark) for stream in range(len(self.ids.windows)))

    def keeps(self, stream: int, first: int) -> int:
        """Cells from this one on are still of use where the content begins at ``first``."""
        return BEGINNING if self._repeats(stream) else first

    def ignores(self, stream: int) -> int:
        """Cells from this one on, or times where rows count, are in no window that is used; NEVER if not known."""
        if not self._repeats(stream):
            return NEVER
        assert self.ids.modulus is not None
        window, last = self.ids.windows[stream], self.ids.modulus - 1
        match window:
            case Rows():
                return self.cuts[stream].after(last * window.slide + window.size)
            case RangeByRows():
                return self.cuts[stream].move(last) if self.cuts[stream].moved > last else NEVER
            case _:
                return NEVER if self.origins[stream] is None else self._held(stream, last)[1]

    def _repeats(self, stream: int) -> bool:
        return stream == 0 and self.ids.modulus is not None

    def _own(self, stream: int, wid: int) -> int:
        return wid % self.ids.modulus if self._repeats(stream) and self.ids.modulus else wid

    def _shape(self, stream: int) -> tuple[int, int]:
        """Cells in a window, and by how many it slides."""
        window = self.ids.windows[stream]
        if isinstance(window, Sliding):
            return window.panes, window.step
        assert isinstance(window, Rows)
        return window.size // window.block, window.slide // window.block

    def _first_cell(self, stream: int) -> int:
        window = self.ids.windows[stream]
        if isinstance(window, Rows):
            return 0
        assert isinstance(window, Sliding)
        if window.start_us is not None:
            return (window.start_us - self.ids.cell_phase_us(stream)) // window.subwindow_us
        origin = self.origins[stream]
        assert origin is not None
        return origin // window.step * window.step

    def _beginning(self, stream: int, window: Sliding) -> int:
        """Where window 0 begins."""
        return self._first_cell(stream) * window.subwindow_us + self.ids.cell_phase_us(stream)

    def _held(self, stream: int, own: int) -> tuple[int, int]:
        window = self.ids.windows[stream]
        if isinstance(window, RangeByRows):
            end = self.cuts[stream].move(own)
            return end - window.size_us, end
        panes, step = self._shape(stream)
        first = self._first_cell(stream) + own * step
        return first, first + panes

    def _complete(self, stream: int, clock: Clock, watermark: int) -> int:
        window, largest = self.ids.windows[stream], clock.largest[stream]
        if largest is None:
            return 0
        match window:
            case Sliding():
                begin = self._beginning(stream, window)
                found = (largest - begin) // window.slide_us + 1
                if watermark != END:
                    found = min(found, (watermark - window.size_us - begin) // window.slide_us + 1)
            case Rows():
                found = (self.cuts[stream].last - window.size) // window.slide + 1
            case _:
                found = self.cuts[stream].moved
        found = max(0, found)
        return NEVER if self._repeats(stream) and self.ids.modulus and found >= self.ids.modulus else found
