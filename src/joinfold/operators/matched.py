"""Windows whose combinations are found one by one: any join, any method, any structure.

    entries that enter or leave ──▶ probing ──▶ combinations ──▶ their worth ──▶ method ──▶ totals
                                      │  structures of the other windows             pc, ic, tc

Combinations come in chunks, so memory is bounded by what the method keeps of them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.choice import FoldChoice, Index
from joinfold.operators.entries import Entries, Integers, constant_entries
from joinfold.operators.groups import GroupTotals
from joinfold.operators.layout import CONSTANT_ROW, FoldLayout
from joinfold.operators.members import Members
from joinfold.operators.methods import METHODS
from joinfold.operators.pairs import pair_side
from joinfold.operators.probing import Bound, IndexedWindow, Prober
from joinfold.operators.side import Side, side_of
from joinfold.operators.timeline import END
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.worth import worth_of


class Matched:
    """The windows of all inputs, and a method."""

    def __init__(self, layout: FoldLayout, choice: FoldChoice, vocabulary: Vocabulary) -> None:
        self.layout = layout
        self.vocabulary = vocabulary
        self.method = METHODS[choice.method](layout)
        self.prober = Prober(layout, choice.order, vocabulary)
        self.windows = [self._window(place, choice) for place in range(len(layout.inputs))]
        if layout.has_constant_row:
            new = self.windows[1].members.enter(constant_entries(layout), np.array([END]))
            self.windows[1].change(INSERT, new, self.prober.keys, vocabulary)

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""
        return self.method.totals

    @property
    def is_worn(self) -> bool:
        """Whether a floating sum has become small against what has gone through it."""
        return self.totals.is_worn

    @property
    def live_entries(self) -> int:
        """How many members the windows have."""
        return sum(len(window.members) for window in self.windows)

    @property
    def given(self) -> int:
        """How many ids its largest table has given."""
        return max(self.totals.given, self.prober.given, *(window.members.given for window in self.windows))

    @property
    def bytes_held(self) -> int:
        """The memory of windows and of what the method keeps."""
        return self.method.bytes_held + sum(window.bytes_held for window in self.windows)

    @property
    def touched(self) -> int:
        """How many members all structures have looked at."""
        return sum(window.touched for window in self.windows)

    def expect(self, place: int, entries: Entries) -> None:
        """Nothing has to be prepared for entries that will enter."""

    def enter(self, place: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Entries enter their window, where each stays until it leaves."""
        for sides in self._combinations(place, entries, leaves):
            self.method.add(worth_of(self.layout, self.totals, sides), now)
        window = self.windows[place]
        new = window.members.enter(entries, leaves)
        window.change(INSERT, new, self.prober.keys, self.vocabulary)

    def leave(self, place: int, entries: Entries, now: int) -> None:
        """Entries leave their window."""
        if self.method.joins_leaving:
            for sides in self._combinations(place, entries, np.full(len(entries), now)):
                self.method.subtract(worth_of(self.layout, self.totals, sides))
        window = self.windows[place]
        gone = window.members.leave(entries)
        window.change(REMOVE, gone, self.prober.keys, self.vocabulary)

    def settle(self, now: int) -> None:
        """Brings the totals to ``now``."""
        self.method.settle(now)

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme the codes of all groups, and where there is one."""
        return self.method.heads(now)

    def expire(self, now: int) -> None:
        """Nothing is held of what has left."""

    def _window(self, place: int, choice: FoldChoice) -> IndexedWindow:
        side = self.layout.inputs[place]
        is_view = place in self.layout.views
        members = Members(
            len(side.keys),
            len(side.integers) + len(side.reals),
            len(side.reals),
            len(self.layout.extremes),
            merged=is_view or place in choice.early,
            by_leave=not is_view and (self.method.by_leave or bool(self.layout.extremes)),
            is_queue=not is_view,
        )
        is_constant = self.layout.feeds[place] == CONSTANT_ROW
        index = Index("list") if is_constant else choice.indexes[place]
        return IndexedWindow(self.layout, place, members, index, self.prober.asked(place))

    def _combinations(self, place: int, entries: Entries, leaves: Integers) -> Iterator[list[Side]]:
        """The sides of all combinations with these entries, in chunks."""
        delta = side_of(entries, leaves)
        classes = self.layout.inputs[place].classes
        parts = {own: entries.parts[:, number] for number, own in enumerate(classes)}
        start = Bound(np.arange(len(entries)), {}, parts, {place: entries.carried})
        for found in self.prober.combinations(place, start, self.windows):
            sides = [
                delta.take(found.delta) if other == place else window.members.side(found.slots[other])
                for other, window in enumerate(self.windows)
            ]
            columns = self.prober.columns(found) if self.layout.combining.values else {}
            yield [*sides, pair_side(self.layout, self.vocabulary, columns, len(found.delta))]
