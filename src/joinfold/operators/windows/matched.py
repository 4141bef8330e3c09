"""Matched windows: combinations are found one by one, for any join, any method and any structure.

    entries that enter or leave ──▶ probing ──▶ combinations ──▶ pair values ──▶ method ──▶ totals
                                       │                                         pc, ic, tc
                                       └── structures of the other windows

Combinations come in chunks, so memory is bounded by what the method keeps of them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.calendars.calendar import END
from joinfold.operators.entries import Entries, Integers, constant_entries
from joinfold.operators.methods import METHODS
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.members import Members
from joinfold.operators.windows.pair import pair_side
from joinfold.operators.windows.pair_values import pair_values
from joinfold.operators.windows.probing import IndexedWindow, Prober
from joinfold.operators.windows.side import Side, side_of
from joinfold.physical.choice import FoldChoice, Index
from joinfold.physical.source import ConstantRow, ViewOf


class MatchedWindows:
    """The windows of all inputs, and a method."""

    def __init__(self, vocabulary: Vocabulary, choice: FoldChoice, only_changed: bool, zone: str) -> None:
        self.body = body = vocabulary.body
        self.vocabulary = vocabulary
        self.zone = zone
        self.method = METHODS[choice.method](body, only_changed)
        self.prober = Prober(choice.order, vocabulary, zone)
        self.windows = [self._window(ordinal, choice) for ordinal in range(len(body.inputs))]
        if body.has_constant_row:
            new = self.windows[1].members.enter(constant_entries(body), np.array([END]))
            self.windows[1].change(INSERT, new, self.prober.keys, vocabulary)

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""
        return self.method.totals

    @property
    def has_drifted(self) -> bool:
        """Whether the rounding error of a floating sum may be too large; the bucket is then rebuilt."""
        return self.totals.has_drifted

    @property
    def may_have_wrapped(self) -> bool:
        """Whether an integer of the totals may have wrapped around."""
        return self.totals.may_have_wrapped

    @property
    def live_entries(self) -> int:
        """How many members the windows have."""
        return sum(len(window.members) for window in self.windows)

    @property
    def given(self) -> int:
        """How many ids the largest table has."""
        return max(self.totals.given, self.prober.given, *(window.members.given for window in self.windows))

    @property
    def bytes_held(self) -> int:
        """The memory of windows and of what the method keeps."""
        return self.method.bytes_held + sum(window.bytes_held for window in self.windows)

    @property
    def touched(self) -> int:
        """How many members all structures have looked at."""
        return sum(window.touched for window in self.windows)

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Does nothing: there is nothing to prepare."""

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Adds the combinations of entries with all members of the other windows, then inserts the entries."""
        for sides in self._combinations(ordinal, entries, leaves):
            self.method.add(pair_values(self.body, self.totals, sides), now)
        window = self.windows[ordinal]
        new = window.members.enter(entries, leaves)
        window.change(INSERT, new, self.prober.keys, self.vocabulary)

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Subtracts the combinations of entries, if the method needs that, and removes the entries."""
        if self.method.joins_leaving:
            for sides in self._combinations(ordinal, entries, np.full(len(entries), now)):
                self.method.subtract(pair_values(self.body, self.totals, sides))
        window = self.windows[ordinal]
        gone = window.members.leave(entries)
        window.change(REMOVE, gone, self.prober.keys, self.vocabulary)

    def leave_from(self, ordinal: int, places: Integers, entries: Entries, now: int) -> None:
        """Takes back entries that are at these places in the order of leaving."""
        window = self.windows[ordinal]
        window.members.bring_forward(places)
        leaves = window.members.next_leaves(len(places))
        for sides in self._combinations(ordinal, entries, leaves):
            self.method.take_back(pair_values(self.body, self.totals, sides), now)
        gone = window.members.leave(entries)
        window.change(REMOVE, gone, self.prober.keys, self.vocabulary)

    def enter_at(self, ordinal: int, places: Integers, entries: Entries, leaves: Integers, now: int) -> None:
        """Lets entries enter that will be at these places in the order of leaving."""
        self.enter(ordinal, entries, leaves, now)
        self.windows[ordinal].members.line_up(places)

    def advance(self, now: int) -> None:
        """Brings the totals to ``now``."""
        self.method.advance(now)

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        return self.method.heads(now)

    def expire(self, now: int) -> None:
        """Does nothing: no memory is held for entries that have left."""

    def _window(self, ordinal: int, choice: FoldChoice) -> IndexedWindow:
        spec = self.body.inputs[ordinal]
        is_view = isinstance(spec.source, ViewOf)
        members = Members(
            len(spec.keys),
            spec.integer_columns,
            len(spec.reals),
            len(self.body.extremes),
            merged=is_view or ordinal in choice.early,
            by_leave=not is_view and (self.method.by_leave or bool(self.body.extremes)),
            is_queue=not is_view,
        )
        index = Index("list") if isinstance(spec.source, ConstantRow) else choice.indexes[ordinal]
        return IndexedWindow(spec, ordinal, members, index, self.prober.asked(ordinal))

    def _combinations(self, ordinal: int, entries: Entries, leaves: Integers) -> Iterator[list[Side]]:
        """The sides of all combinations with these entries, in chunks."""
        delta = side_of(entries, leaves)
        for found in self.prober.combinations(ordinal, self.prober.start(ordinal, entries), self.windows):
            sides = [
                delta.take(found.delta) if other == ordinal else window.members.side(found.slots[other])
                for other, window in enumerate(self.windows)
            ]
            columns = self.prober.columns(found) if self.body.combining.values else {}
            yield [*sides, pair_side(self.vocabulary, columns, len(found.delta), self.zone)]
