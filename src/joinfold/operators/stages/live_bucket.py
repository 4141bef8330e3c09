"""What folds at instants and at arrivals have in common: live windows, which are rebuilt now and then.

Under SHED the windows have a sample of the entries that are held. Each answer uses the sample that all cells of its
windows have in common (`stages.sampling`). If this is another than before, what differs leaves and enters, or the
windows are rebuilt.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.methods import METHODS
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.sampling import difference, in_sample, is_exchanged, replicates, weighted
from joinfold.operators.windows.live import Live
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import WHOLE, KeySampling, Shedding
from joinfold.physical.stage import FoldAtArrivals, FoldAtInstants, JoinAtMoves, View
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import EVERYTHING, Sample


class LiveBucket(Bucket):
    """A bucket with live windows; ``is_view``: it emits the groups that have changed, for a later stage.

    ``sample`` is what the windows have now, ``samples`` has that of each answer of the last piece.
    """

    def __init__(
        self,
        stage: FoldAtInstants | FoldAtArrivals | JoinAtMoves,
        timing: Timing,
        number: int,
        choice: FoldChoice,
        shedding: Shedding | None = None,
    ) -> None:
        super().__init__(stage, timing, number, choice, shedding)
        self.body = stage.body
        self.is_view = isinstance(stage, FoldAtInstants) and isinstance(stage.output, View)
        self.is_wide = False
        self.sample = EVERYTHING
        self.samples: dict[int, Sample] = {}
        self.live = self.open_live([])

    def open_live(self, earlier: list[pa.RecordBatch]) -> Live:
        """Empty windows; ``earlier`` is what was emitted before and not taken yet."""
        body = self.body.widened if self.is_wide else self.body
        return Live(body, self.choice, self.is_view, self.timing.zone, earlier, self.is_lasting)

    @property
    def is_lasting(self) -> bool:
        """Whether emitted rows last until another of their group replaces them."""
        return False

    @property
    def entries_held(self) -> int:
        """How many entries the windows hold."""
        return self.live.windows.live_entries

    @property
    def bytes_held(self) -> int:
        """The memory of the windows and of what is kept of combinations."""
        return self.live.windows.bytes_held

    @property
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far; 0 without structures."""
        windows = self.live.windows
        return self.touched_before + (windows.touched if isinstance(windows, MatchedWindows) else 0)

    def read(self, ordinal: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries with ids instead of values. Rebuilds the bucket if no order label is left for a value."""
        try:
            return self.live.vocabulary.entries_of(ordinal, batch)
        except GapUsedUp:
            self.rebuild()
            return self.live.vocabulary.entries_of(ordinal, batch)

    @abstractmethod
    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the entries.

        ``keep_labels``: the values of the pair's extremes get new order labels first, all at once.
        """

    def put_aside(self, keep_labels: bool) -> Live:
        """Replaces the live windows by empty ones, and returns the old ones."""
        self.touched_before = self.touched
        self.live, old = self.open_live(self.live.emitted_so_far()), self.live
        if keep_labels:
            self.live.vocabulary.label_pairs_of(old.vocabulary)
        return old

    def emit(self, number: int, now: int) -> None:
        """Emits the groups as they are ``now``, under an instant or another number.

        A bucket whose sums have drifted too far, or whose integers may have wrapped around, is rebuilt first. Then it
        is wide as long as it is in memory.
        """
        self.live.windows.advance(now)
        if self.live.windows.may_have_wrapped:
            self.is_wide = True
            self.rebuild()
            self.live.windows.advance(now)
        if self.live.windows.has_drifted:
            self.rebuild()
            self.live.windows.advance(now)
        self.live.emit(number, now, always=self.body.is_global and self.is_first)

    # --- sampling ---------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> float | None:
        """The rate of the last answer."""
        return None if self.sampler is None else self.sample.rate / WHOLE

    @property
    def missing_groups(self) -> int | None:
        """For every group that the sample keeps at rate p there are (1 − p)/p others; None if nobody can tell.

        In a chain, only the fold that has the sampled inputs divides its groups by replicates.
        """
        shedding = None if self.sampler is None else self.sampler.shedding
        if not isinstance(shedding, KeySampling) or not shedding.groups_are_whole or not self.body.replicates:
            return None
        numbers, rate = self.live.replicates(), self.sample.rate
        return int(np.count_nonzero(numbers >= 0) * (WHOLE - rate) / rate)

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Prepares the windows for entries, whether the sample has them or not."""
        self.live.windows.expect(ordinal, self._with_replicates(ordinal, entries))

    @abstractmethod
    def expect_all(self) -> None:
        """Prepares the windows for all entries that are there."""

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Lets the entries that the sample has enter their window."""
        if self.sampler is None or entries.draws is None:
            self.live.windows.enter(ordinal, entries, leaves, now)
        elif (has := in_sample(self.sample, entries)).any():
            sampled = self._with_replicates(ordinal, entries.take(has))
            self.live.windows.enter(ordinal, sampled, leaves[has], now)

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Lets the entries that the sample has leave their window."""
        if self.sampler is None or entries.draws is None:
            self.live.windows.leave(ordinal, entries, now)
        elif (has := in_sample(self.sample, entries)).any():
            self.live.windows.leave(ordinal, self._with_replicates(ordinal, entries.take(has)), now)

    def _with_replicates(self, ordinal: int, entries: Entries) -> Entries:
        """Entries whose groups are divided by the replicates of the sample.

        A sampled row counts for those that were shed.
        """
        if self.sampler is None or entries.draws is None:
            return entries
        numbers = replicates(self.sampler.shedding, self.sample, entries)
        group = self.live.vocabulary.with_replicates(ordinal, entries.group, numbers)
        payload = entries.payload if isinstance(self.sampler.shedding, KeySampling) else weighted(self.sample, entries)
        return replace(entries, group=group, payload=payload)

    def use_sample(self, first_cells: Mapping[int, int]) -> None:
        """Lets the windows have the sample that all cells from these on have in common."""
        if self.sampler is None:
            return
        sample = self.sampler.sample(first_cells)
        if sample != self.sample:
            self._replace_sample(sample)
        self.sample = sample

    def _replace_sample(self, sample: Sample) -> None:
        """Exchanges what differs, if it can be taken back, or rebuilds all.

        A view that is rebuilt also emits the groups that the new sample does not have.
        """
        if self._can_exchange(sample):
            self._exchange(sample)
            return
        old, self.sample = self.live, sample
        self.rebuild()
        if self.is_view:
            self.live.touch_groups_of(old)

    def _can_exchange(self, sample: Sample) -> bool:
        """Whether the windows can have another sample without being rebuilt.

        Any method can let more enter, and some can take back what has entered.
        """
        if self.position.applied is None or self.body.extremes or self.sampler is None or not self.leaves_by_time:
            return False
        if not METHODS[self.choice.method].takes_back(self.body) and not sample.extends(self.sample):
            return False
        return is_exchanged(self.sampler.shedding, self.sample, sample)

    def _exchange(self, sample: Sample) -> None:
        """Lets leave what only the old sample has, and enter what only the new one has."""
        now, entering = self.position.applied, list[tuple[int, Integers, Entries]]()
        assert self.sampler is not None and now is not None
        for ordinal in self.drawn:
            held = self.inside_of(ordinal)
            if held is None:
                continue
            gone, new = difference(self.sampler.shedding, self.sample, sample, held)
            if gone.any():
                self._leave_from(ordinal, _places(gone, in_sample(self.sample, held)), held.take(gone), now)
            if new.any():
                entering.append((ordinal, _places(new, in_sample(sample, held)), held.take(new)))
        self.sample = sample
        self.expect_all()
        for ordinal, places, entries in entering:
            self._enter_at(ordinal, places, entries, now)

    def _leave_from(self, ordinal: int, places: Integers, entries: Entries, now: int) -> None:
        """Lets entries leave that are at these places among those that the window has, in the order of leaving."""
        windows, entries = self.live.windows, self._with_replicates(ordinal, entries)
        if isinstance(windows, MatchedWindows):
            windows.leave_from(ordinal, places, entries, now)
        else:
            windows.leave(ordinal, entries, now)

    def _enter_at(self, ordinal: int, places: Integers, entries: Entries, now: int) -> None:
        """Lets entries enter that will be at these places."""
        leaves = self.leaves_of(ordinal, entries, now)
        windows, entries = self.live.windows, self._with_replicates(ordinal, entries)
        if isinstance(windows, MatchedWindows):
            windows.enter_at(ordinal, places, entries, leaves, now)
        else:
            windows.enter(ordinal, entries, leaves, now)

    @property
    def drawn(self) -> list[int]:
        """The inputs that are sampled, by ordinal."""
        return [ordinal for ordinal, spec in enumerate(self.inputs) if spec.drawn_by]

    @property
    @abstractmethod
    def leaves_by_time(self) -> bool:
        """Whether the entries of sampled inputs leave by themselves, and do not replace each other."""

    @abstractmethod
    def inside_of(self, ordinal: int) -> Entries | None:
        """The entries of a sampled input that are inside its window, whether the sample has them or not."""

    @abstractmethod
    def leaves_of(self, ordinal: int, entries: Entries, now: int) -> Integers:
        """When entries that are inside leave."""

    def thin(self, is_moved: bool, first_cells: Mapping[int, int]) -> None:
        """Drops the entries that are no longer held, once the windows have a sample that does not need them."""
        if self.sampler is None:
            return
        self.sampler.use(self.sample)
        self.thins = self.sampler.lowered and (is_moved or self.position.applied is None)
        if self.thins:
            self.drop_unheld(self.sampler.still_holds)
            self.sampler.lowered = False
        self.sampler.forget(first_cells)

    @abstractmethod
    def drop_unheld(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops the entries of sampled inputs that are not held, by their draws."""

    def rates_of_samples(self) -> dict[int, tuple[int, int]] | None:
        """The rate and the expected number of keys of each answer of the last piece; None if nothing is sampled."""
        if self.sampler is None:
            return None
        return {number: (own.rate, own.expected) for number, own in self.samples.items()}


def _places(chosen: Flags, sampled: Flags) -> Integers:
    """The places of chosen entries among those that a sample has."""
    return np.flatnonzero(chosen[sampled])
