"""What a bucket has in memory while its windows move: the vocabulary, the windows with a method, and what was emitted.

The two ways of answering, at instants (`stages.fold`) and at arrivals (`stages.arrivals`), decide when entries enter
and leave.

Ids and labels are never freed, and floating sums drift. So all of this is rebuilt from the live entries now and then:
when few of the ids are still in use, when no label is left between two values, when a sum has become so small that
rounding errors of its earlier values could show in it, and when an integer might have wrapped around.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import together
from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.wide_totals import alike, narrowed
from joinfold.operators.windows.fused import FusedWindows
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.operators.windows.summed import SummedWindows
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import INSTANT, error_column, extreme_column, integer_column, real_columns
from joinfold.physical.stage import Body, Totals

MANY = 2**16  # tables with fewer ids are never rebuilt for their size


class Windows(Protocol):
    """The live windows of all inputs, and the totals over their combinations.

    At every instant a bucket calls `leave`, `enter` and `advance`, in this order, and then reads totals and `heads`.
    """

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""

    @property
    def has_drifted(self) -> bool:
        """Whether the rounding error of a floating sum may be too large; the bucket is then rebuilt."""

    @property
    def may_have_wrapped(self) -> bool:
        """Whether an integer of the totals may have wrapped around; the bucket is then rebuilt with wide totals."""

    @property
    def live_entries(self) -> int:
        """How many entries the windows hold, after early aggregation where there is any."""

    @property
    def bytes_held(self) -> int:
        """The memory of the windows and of what is kept of combinations."""

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Prepares for entries that will enter later. It is called for all entries as soon as they are read."""

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Lets entries enter their window at ``now``; each stays until its time in ``leaves``."""

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Lets entries leave their window at ``now``."""

    @property
    def given(self) -> int:
        """How many ids the largest table has, apart from the vocabulary; see `Live.is_outgrown`."""

    def advance(self, now: int) -> None:
        """Brings the totals to ``now``. It is called after `leave` and `enter`, before totals are read."""

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one.

        It is called whenever groups are emitted. Windows raise an error here if an integer that they sum themselves,
        before anything is multiplied, might have wrapped around.
        """

    def expire(self, now: int) -> None:
        """Frees the memory of what has left; a fold calls it after the last instant of a micro-batch."""


class Live:
    """The live windows of one bucket; ``earlier`` is what was emitted before a rebuild and not taken yet.

    A view, and what lasts until it is replaced, emits only the groups that have changed.
    """

    def __init__(
        self,
        body: Body,
        choice: FoldChoice,
        is_view: bool = False,
        zone: str = "UTC",
        earlier: Sequence[pa.RecordBatch] = (),
        is_lasting: bool = False,
    ) -> None:
        self.body = body
        self.is_view = is_view
        self.earlier = list(earlier)
        self.vocabulary = Vocabulary(body, by_class=choice.windows != "sets")
        self.windows = self._windows(choice, is_view or is_lasting, zone)
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
        """How many ids or labels the largest table has."""
        return max(self.vocabulary.given, self.windows.given)

    def remember_given(self) -> None:
        """Remembers the size of the tables after a rebuild, when all ids are in use.

        It may exceed the number of entries: combinations may have more values and groups than there are entries.
        """
        self._given_at_first = self.given

    def is_outgrown(self, entries: int, given_elsewhere: int = 0) -> bool:
        """Whether the tables have many more ids and labels than there are entries."""
        return max(self.given, given_elsewhere) > max(MANY, 4 * entries, 2 * self._given_at_first)

    def touch_groups_of(self, other: "Live") -> None:
        """Lets a view emit the groups that ``other`` has had too, even if they are gone now."""
        theirs, totals = other.windows.totals, self.windows.totals
        groups = np.union1d(theirs.existing(), theirs.changed_so_far())
        ids = self.vocabulary.group_ids_of(other.vocabulary, theirs.group_ids(groups))
        if len(groups) and ids:
            totals.touch(totals.group_of([ids[ordinal] for ordinal in totals.grouped]))

    def touch_all_groups(self) -> None:
        """Lets a view emit all groups that exist, also those that have not changed."""
        totals = self.windows.totals
        groups = totals.existing()
        if len(groups):
            totals.touch(groups)

    def combinations(self, now: int | None) -> float:
        """How many combinations the windows hold; ``now`` is the last instant, None before the first."""
        if now is not None:
            self.windows.advance(now)  # PC has no totals before this, after a rebuild
        return float(self.windows.totals.totals.ints[:, 0].sum())

    def replicates(self) -> Integers:
        """The replicates of all groups that exist, of a sample of keys; −1 for what is not sampled."""
        totals = self.windows.totals
        existing = totals.existing()
        if not len(existing):  # then the vocabulary may know no group at all
            return existing
        columns = self.vocabulary.group_columns(totals.group_ids(existing))
        found: Integers = columns[self.body.groups.index(self.body.replicates[0])].to_numpy()
        return found

    def emit(self, instant: int, now: int, always: bool) -> None:
        """Emits the groups as they are ``now``, under an instant or another number."""
        heads = self.windows.heads(now)
        self.windows.totals.emit(instant, heads, always)

    def emitted(self) -> pa.RecordBatch | None:
        """Takes all rows that were emitted, with groups and extremes as values again; None where there are none."""
        parts, self.earlier = self.emitted_so_far(), []
        if not parts:
            return None
        if self.body.narrow is None:
            return parts[0] if len(parts) == 1 else together(parts)
        totals = Totals.of(self.body)
        whole = together(alike(totals, parts))
        return narrowed(totals, whole) if self.is_view else whole

    def emitted_so_far(self) -> list[pa.RecordBatch]:
        """Takes all rows that were emitted, as several batches."""
        return [*self.earlier, *self._emitted()]

    def _emitted(self) -> Iterator[pa.RecordBatch]:
        totals = self.windows.totals
        taken = totals.take_emitted()
        if not taken.instants:
            return
        groups = self.vocabulary.group_columns(totals.group_ids(np.concatenate(taken.groups)))
        integers, reals = totals.integer_products(np.concatenate(taken.integers)), np.concatenate(taken.reals)
        columns = {INSTANT: pa.array(np.concatenate(taken.instants))}
        columns |= dict(zip(self.body.groups, groups, strict=True))
        columns |= {name: columns[name].fill_null(-1) for name in self.body.replicates}
        columns |= {integer_column(number): pa.array(values) for number, values in enumerate(integers.T)}
        for number in range(reals.shape[1] // 2):
            high, low = real_columns(number)
            columns |= {high: pa.array(reals[:, 2 * number]), low: pa.array(reals[:, 2 * number + 1])}
        for number, errors in enumerate(np.concatenate(taken.errors).T if taken.errors and not self.is_view else ()):
            columns[error_column(number)] = pa.array(errors)
        for number, labels in enumerate(self.vocabulary.extremes):
            codes = np.concatenate([extremes[number][0] for extremes in taken.extremes])
            has = np.concatenate([extremes[number][1] for extremes in taken.extremes])
            columns[extreme_column(number)] = labels.values(codes, has)
        yield pa.RecordBatch.from_pydict(columns)
