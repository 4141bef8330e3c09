"""The instants at which a query answers, as far as the watermark has come.

A window holds a cell during one stay [enter, leave). The union of all stays is a few long intervals. An instant is a
candidate inside one of them, or the first candidate after one that contains a candidate:

    candidates     ' ' ' ' ' ' ' ' ' '
    stays            [---)       [-)
                       [----)
    union            [------)    [-)
    instants         ! ! ! ! !   ! !         the gap costs nothing, however long it is

Instants come in pieces, because there may be many of them when a query catches up.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from joinfold.operators.calendars.calendar import BEGINNING, END, NEVER, Calendar
from joinfold.operators.calendars.position import Position
from joinfold.operators.calendars.time import Candidates, KeyedCalendar, TimeCalendar
from joinfold.operators.calendars.window_ids import WindowIdCalendar
from joinfold.operators.entries import Integers
from joinfold.physical.timing import AsFound, AtArrivals, AtCandidates, AtTriggers, ByWindowId, Timing
from joinfold.window import Continuous, Landmark, Sliding

Columns = list[list[int]]


class Emission(Protocol):
    """Finds the instants at which a query answers; all buckets find the same."""

    def instants(self, position: Position, until: int, most: int) -> Iterator[Integers]:
        """The instants, or numbers of result windows, after the last answer and up to the watermark ``until``.

        They come in pieces of at most ``most``. There is at least one piece, which may be empty.
        """

    def prune(self, until: int) -> None:
        """Drops what no instant after ``until`` depends on."""

    def placed(self, instants: Sequence[int]) -> Columns | None:
        """The output columns that replace the instant, a list for each; None where answers have instants."""


def emission_of(timing: Timing, calendars: Sequence[Calendar]) -> Emission:
    """The emission of a query. EMIT ON ARRIVAL, and plain joins on time, find their instants without it."""
    match timing.rule:
        case AtCandidates():
            return CandidateEmission(timing.rule, calendars)
        case ByWindowId():
            return WindowIdEmission(calendars)
        case AtTriggers() | AtArrivals() | AsFound():
            return TriggerEmission()


class TriggerEmission:
    """The watermark is the instant."""

    def instants(self, position: Position, until: int, most: int) -> Iterator[Integers]:
        """The watermark if it has advanced; at the end of a bounded run, 1 µs after the last row."""
        if until == END:
            yield np.array([] if position.latest is None else [position.latest + 1], np.int64)
        else:
            yield np.array([until] if until != position.answered else [], np.int64)

    def prune(self, until: int) -> None:
        """There is nothing to drop."""

    def placed(self, instants: Sequence[int]) -> Columns | None:
        """None: answers have instants."""
        return None


class WindowIdEmission:
    """Result windows, each as soon as the windows of that number are complete in all streams."""

    def __init__(self, calendars: Sequence[Calendar]) -> None:
        self.calendars = [calendar for calendar in calendars if isinstance(calendar, WindowIdCalendar)]
        assert len(self.calendars) == len(calendars)

    def instants(self, position: Position, until: int, most: int) -> Iterator[Integers]:
        """The numbers of the result windows that have become complete."""
        complete = min(calendar.complete(until) for calendar in self.calendars)
        first = 0 if position.applied is None else position.applied + 1
        for start in range(first, max(complete, first + 1), most):
            yield np.arange(start, min(start + most, complete))

    def prune(self, until: int) -> None:
        """There is nothing to drop."""

    def visits(self, cells: Mapping[int, Integers]) -> "OccupiedWindows | None":
        """The result windows that a bucket with these cells has to visit, by stream; None for all of them."""
        spans = [self.calendars[stream].holding(own) for stream, own in cells.items()]
        known = [span for span in spans if span is not None]
        return OccupiedWindows(known) if len(known) == len(spans) else None

    def placed(self, instants: Sequence[int]) -> Columns | None:
        """The numbers of the result windows, then the beginnings and ends of the windows of each stream."""
        columns = [list(instants)]
        for calendar in self.calendars:
            edges = [calendar.edges(number) for number in instants]
            columns += [[begin for begin, _ in edges], [end for _, end in edges]]
        return columns


class OccupiedWindows:
    """The result windows that hold a cell of a bucket, and the first after each of these, which loses it.

    The bucket has no answer in the others, however many there are. It also visits the last of a piece, to stand there.
    """

    def __init__(self, spans: Sequence[tuple[Integers, Integers]]) -> None:
        first = np.concatenate([first for first, _ in spans])
        order = np.argsort(first)
        self.first = first[order]
        self.until = np.maximum.accumulate(np.concatenate([until for _, until in spans])[order])

    def among(self, numbers: Integers) -> Integers:
        """Those of the numbers of a piece that are visited."""
        until = np.append(BEGINNING, self.until)[np.searchsorted(self.first, numbers, "right")]
        visited = numbers <= until
        visited[-1:] = True
        return numbers[visited]


class CandidateEmission:
    """The candidates at which a window holds a row, or held one at the candidate before, or has moved by rows."""

    def __init__(self, rule: AtCandidates, calendars: Sequence[Calendar]) -> None:
        self.candidates = Candidates(rule)
        self.calendars = calendars
        self.only_landmarks = all(isinstance(calendar.window, Landmark) for calendar in calendars)

    def placed(self, instants: Sequence[int]) -> Columns | None:
        """None: answers have instants."""
        return None

    def instants(self, position: Position, until: int, most: int) -> Iterator[Integers]:
        """All instants after the last answer. At the end of a bounded run they stop where all windows are empty."""
        after = BEGINNING if position.answered is None else position.answered
        if self.only_landmarks:  # they are the instants at which a landmark gained a row
            gains = [calendar.first_instant(calendar.position.occupied) for calendar in self.calendars]
            found = np.unique(np.concatenate(gains))
            yield from in_pieces(found[(found > after) & (found <= until)], most)
            return
        moves = moves_of(self.calendars, until)
        before, last = self._spans(moves)
        before, last = np.maximum(before, after), np.minimum(last, until)
        open_ = before < last
        moved = np.empty(0, np.int64)
        if moves is not None and len(moves):
            moved = np.unique(self.candidates.after(moves - 1, moves))
            moved = moved[(moved > after) & (moved <= until)]
        yield from self._within(before[open_], last[open_], moves, moved, most)

    def _within(
        self, before: Integers, last: Integers, moves: Integers | None, moved: Integers, most: int
    ) -> Iterator[Integers]:
        """The candidates in the intervals before < τ ≤ last, and those of ``moved``, in pieces.

        A piece looks at ``most`` intervals, so that many pieces of many intervals cost no more than one piece of all.
        """
        while True:
            limit = NEVER if len(last) <= most else int(last[most - 1])
            piece = self.candidates.within(before[:most], last[:most], moves, most)
            others = moved[: np.searchsorted(moved, limit, "right")][:most]
            if len(others):
                piece = np.unique(np.concatenate([piece, others]))[:most]
            yield piece
            done = limit if len(piece) < most else int(piece[-1])
            closed = int(np.searchsorted(last, done, "right"))
            before, last = before[closed:], last[closed:]
            moved = moved[np.searchsorted(moved, done, "right") :]
            if not len(last) and not len(moved):
                return
            before[:1] = np.maximum(before[:1], done)

    def prune(self, until: int) -> None:
        """Drops the cells that no instant after ``until`` depends on."""
        if until == END:
            return
        moves = moves_of(self.calendars, until)
        for calendar in self.calendars:
            cells = calendar.position.occupied
            first = calendar.first_instant(cells)
            if self.only_landmarks:
                matters = first > until
            elif isinstance(calendar, KeyedCalendar):
                matters = self.candidates.after(first - 1, first) > until
            elif isinstance(calendar, TimeCalendar) and not isinstance(calendar.window, Landmark):
                closing = self.candidates.after(calendar.leave_at(cells) - 1, moves)
                matters = (first != NEVER) & (closing > until)
            else:
                matters = np.zeros(len(cells), np.bool_)
            if not matters.all():
                calendar.position.occupied = cells[matters]

    def _spans(self, moves: Integers | None) -> tuple[Integers, Integers]:
        """The intervals before < τ ≤ last whose candidates are instants, disjoint and ascending.

        Cells that no instant holds give empty intervals: there ``first`` is NEVER.
        """
        nothing = np.empty(0, np.int64)
        firsts, leaves = [nothing], [nothing]
        for calendar in self.calendars:
            if isinstance(calendar, TimeCalendar) and isinstance(calendar.window, Sliding | Continuous):
                firsts.append(calendar.first_instant(calendar.position.occupied))
                leaves.append(calendar.leave_at(calendar.position.occupied))
        first, leave = np.concatenate(firsts), np.concatenate(leaves)
        if self.candidates.by_rows:
            first = self.candidates.after(first - 1, moves)
            first = np.where(first < leave, first, NEVER)
        order = np.argsort(first, kind="stable")
        first = first[order]
        closing = np.maximum.accumulate(self.candidates.after(leave[order] - 1, moves))
        begins = np.ones(len(first), np.bool_)
        begins[1:] = first[1:] > closing[:-1]
        ends = np.roll(begins, -1)
        return first[begins] - 1, closing[ends]


def in_pieces(instants: Integers, most: int) -> Iterator[Integers]:
    """Instants in pieces of at most ``most``, at least one piece."""
    for start in range(0, max(len(instants), 1), most):
        yield instants[start : start + most]


def moves_of(calendars: Sequence[Calendar], until: int) -> Integers | None:
    """The instants at which rows have moved windows, ascending; None where no window counts rows."""
    found = [moves for calendar in calendars if (moves := calendar.moves(until)) is not None]
    return np.unique(np.concatenate(found)) if found else None
