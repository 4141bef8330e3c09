"""What a bucket holds while its windows move: ids for values, a method with its windows, and what was noted.

When entries enter and leave is up to the two ways of answering: at instants (`stages.fold`) and at every row
(`stages.arrivals`).

Ids and labels are never given back, and floating sums round as they move. So what is here is made anew from the live
entries now and then: when few of the ids are still in use, when no label is left between two values, and when a sum has
become so small that what it was before could show in it.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import together
from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.fused import FusedWindows
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.operators.windows.summed import SummedWindows
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import INSTANT, extreme_column, integer_column, real_columns
from joinfold.physical.stage import Body

MANY = 2**16  # ids that are kept whether they are in use or not


class Windows(Protocol):
    """The live windows of all inputs, and the totals over their combinations."""

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""

    @property
    def has_drifted(self) -> bool:
        """Whether a floating sum has become small against what has gone through it."""

    @property
    def live_entries(self) -> int:
        """How many entries the windows hold, after aggregation where there is any."""

    @property
    def bytes_held(self) -> int:
        """The memory of the windows and of what is kept of combinations."""

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Entries are known that will enter later; none enters that was not expected."""

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Entries enter their window at ``now``, where each stays until it leaves."""

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Entries leave their window at ``now``."""

    @property
    def given(self) -> int:
        """How many ids its largest table has given, beside those of the vocabulary."""

    def advance(self, now: int) -> None:
        """Brings the totals to ``now``."""

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups at ``now``, and where there is one."""

    def expire(self, now: int) -> None:
        """Gives memory back of what has left."""


class Live:
    """The live windows of one bucket; ``earlier`` is what was noted before they were rebuilt."""

    def __init__(
        self,
        body: Body,
        choice: FoldChoice,
        only_changed: bool = False,
        zone: str = "UTC",
        earlier: Sequence[pa.RecordBatch] = (),
    ) -> None:
        self.body = body
        self.earlier = list(earlier)
        self.vocabulary = Vocabulary(body, by_class=choice.windows != "sets")
        self.windows = self._windows(choice, only_changed, zone)
        self._given_at_first = 0

    def _windows(self, choice: FoldChoice, only_changed: bool, zone: str) -> Windows:
        match choice.windows:
            case "sets":
                return FusedWindows(self.body, only_changed)
            case "sums":
                return SummedWindows(self.vocabulary, only_changed, zone)
            case "structures":
                return MatchedWindows(self.vocabulary, choice, only_changed, zone)

    @property
    def given(self) -> int:
        """How many ids or labels the largest table has given."""
        return max(self.vocabulary.given, self.windows.given)

    def remember_given(self) -> None:
        """All that was given so far is in use: combinations may have more values and groups than there are entries."""
        self._given_at_first = self.given

    def is_outgrown(self, entries: int, given_elsewhere: int = 0) -> bool:
        """Whether ids and labels are many more than what is left."""
        return max(self.given, given_elsewhere) > max(MANY, 4 * entries, 2 * self._given_at_first)

    def emit(self, instant: int, now: int, always: bool) -> None:
        """Notes the groups as they stand ``now``, under an instant or another number."""
        heads = self.windows.heads(now)
        self.windows.totals.emit(instant, heads, always)

    def emitted(self) -> pa.RecordBatch | None:
        """The rows that were noted, with groups and extremes as values again."""
        parts, self.earlier = self.emitted_so_far(), []
        if len(parts) < 2:
            return parts[0] if parts else None
        return together(parts)

    def emitted_so_far(self) -> list[pa.RecordBatch]:
        """The rows that were noted, in pieces."""
        return [*self.earlier, *self._emitted()]

    def _emitted(self) -> Iterator[pa.RecordBatch]:
        totals = self.windows.totals
        taken = totals.take_emitted()
        if not taken.instants:
            return
        groups = self.vocabulary.group_columns(totals.group_ids(np.concatenate(taken.groups)))
        integers, reals = totals.integer_products(np.concatenate(taken.integers)), np.concatenate(taken.reals)
        columns = {INSTANT: pa.array(np.repeat(taken.instants, [len(groups) for groups in taken.groups]))}
        columns |= dict(zip(self.body.groups, groups, strict=True))
        columns |= {integer_column(number): pa.array(own) for number, own in enumerate(integers.T)}
        for number in range(reals.shape[1] // 2):
            high, low = real_columns(number)
            columns |= {high: pa.array(reals[:, 2 * number]), low: pa.array(reals[:, 2 * number + 1])}
        for number, labels in enumerate(self.vocabulary.extremes):
            codes = np.concatenate([extremes[number][0] for extremes in taken.extremes])
            has = np.concatenate([extremes[number][1] for extremes in taken.extremes])
            columns[extreme_column(number)] = labels.values(codes, has)
        yield pa.RecordBatch.from_pydict(columns)
