"""What folds at instants and at arrivals have in common: live windows, which are rebuilt now and then."""

from abc import abstractmethod

import pyarrow as pa

from joinfold.operators.entries import Entries
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.windows.live import Live
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import Shedding
from joinfold.physical.stage import FoldAtArrivals, FoldAtInstants, JoinAtMoves, View
from joinfold.physical.timing import Timing


class LiveBucket(Bucket):
    """A bucket with live windows; ``is_view``: it emits the groups that have changed, for a later stage."""

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
        self.live = self.open_live([])

    def open_live(self, earlier: list[pa.RecordBatch]) -> Live:
        """Empty windows; ``earlier`` is what was emitted before and not taken yet."""
        return Live(self.body, self.choice, self.is_view, self.timing.zone, earlier)

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

        A bucket whose sums have drifted too far is rebuilt first.
        """
        self.live.windows.advance(now)
        if self.live.windows.has_drifted:
            self.rebuild()
            self.live.windows.advance(now)
        self.live.emit(number, now, always=self.body.is_global and self.is_first)
