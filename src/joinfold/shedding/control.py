"""How budgets become sampling rates: pure functions of what every bucket learns from the headers, with a small state.

    PROCESS    rows that may be processed in the time since the batch before, over the rows that came
    HOLD       entries that may be held, over the entries of all live cells
    KEEP UP    a controller, see `Pace`

All of them give the *share* of rows that can be afforded. A sample must not follow every change of this share, because
a lower rate thins old cells, and a higher one adds a segment of cells: `Steps` follows it in steps.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from joinfold.physical.shedding import WHOLE

HOLD_MARGIN = 0.95
"""The part of a budget of entries that a sample aims at. The size of a sample is random."""

LEAST_SHARE = 1 / 1024
"""No controller goes below this share. Whatever a batch costs at this share cannot be shed."""


def processed_share(rows_per_second: float, before_us: int | None, clock_us: int, rows: int) -> float:
    """The share of a micro-batch's rows that may be processed: those that came in the time since the batch before.

    The share is 1 if that time is not known: in the first micro-batch, or if the clock was set back.
    """
    if before_us is None or clock_us <= before_us or not rows:
        return 1.0
    return min(1.0, rows_per_second * (clock_us - before_us) / 1e6 / rows)


def held_share(budget: float, live: float, certain: float = 0.0) -> float:
    """The share of the live entries that may be held, where ``certain`` entries are held anyway."""
    if live <= budget:
        return 1.0
    return min(max((HOLD_MARGIN * budget - certain) / (live - certain), 0.0), 1.0) if live > certain else 0.0


# --- keep up --------------------------------------------------------------------------------------------------------

AIM = 0.85
"""A micro-batch should take this part of its interval."""
TOO_LONG = 0.95
"""A micro-batch that is known to take a larger part of its interval has too much to do."""
MOST_FALL = 0.25
"""A single micro-batch lowers the ceiling at most to this part."""
MOST_RISE = 1.05
"""A single micro-batch of a known duration raises the ceiling at most so many times."""
TRIAL_RISE, MOST_TRIAL_RISE = 1.05, 2.0
"""The first step of a trial. Each next step is larger by the same factor; the largest is relative to what was done."""
FIRST_PATIENCE, MOST_PATIENCE = 32, 512
"""For how many micro-batches in time a ceiling is left alone before a trial."""
FEWER_ROWS = 0.8
"""A trial begins at once if arrivals fall below this part of those for which the ceiling was found."""
AGAIN, MOST_LEVERAGE = 4, 8
"""A batch that is too long again, so soon after another, doubles the leverage, up to this; otherwise it is halved."""
MOST_EXCUSED = 2.5
"""A batch in which the sample was exchanged may take so many intervals."""
AT_ONCE = 1.5
"""A share rises at most by this factor from batch to batch, unless everything can be afforded."""
JITTER, JITTER_US = 0.02, 20_000
"""By how much a trigger may be early or late: a part of the interval, or a time."""


@dataclass(frozen=True, slots=True)
class Triggered:
    """A trigger starts micro-batches at multiples of the interval. One that takes longer delays the next."""

    interval_us: int

    def duration(self, gap: float, slip: float) -> tuple[float | None, float]:
        """How long a batch took, in intervals, given the gap between its start and the next one; and the new slip.

        None: it was in time, whatever it took. Then the gap is a number of intervals, or less than one after a batch
        that was started late. The slip is by how much the batches of a row start later and later.
        """
        jitter = max(JITTER, JITTER_US / self.interval_us)
        late = gap - round(gap)
        if gap < 1 - jitter:
            return None, 0.0
        if abs(late) > jitter or slip + late > jitter:
            return gap, 0.0
        return None, slip + late


@dataclass(frozen=True, slots=True)
class BackToBack:
    """Every micro-batch starts when the one before ends. It should take less than the interval."""

    interval_us: int

    def duration(self, gap: float, slip: float) -> tuple[float | None, float]:
        """How long a batch took, in intervals: the gap between its start and the next one. There is no slip."""
        return gap, slip


Cadence = Triggered | BackToBack


@dataclass(frozen=True, slots=True)
class Pace:
    """The controller of KEEP UP: what it remembers, and the ``share`` of the last micro-batch's rows that it allows.

    It learns how long a batch took only when the next one starts. ``clock_us`` and ``rows`` are of the last batch.

    The *ceiling* is how many rows can be processed within `AIM` of the interval; None as long as all could be. A batch
    with more rows is thinned to the ceiling, so one that has a backlog is thinned more. The ceiling may have been found
    while the windows were filling, so the share approaches it in steps.

    A batch that takes too long lowers the ceiling at once, in proportion to its duration. Where reading is a large part
    of the cost, that shortens batches too little. So if batches are still too long, the ``leverage`` rises: the power
    of the proportion. To exchange the sample in the windows takes time by itself. So a batch that did it is
    ``excused``, unless the one before was.

    Where the duration of every batch is known, the ceiling follows it up again, slowly. Under a trigger, a batch that
    is in time tells nothing about its duration. So the ceiling stays until ``patience`` batches in a row were in time
    (``calm`` counts them), or the ``arrivals``, in rows per interval, are fewer than when it was found. Then a *trial*
    raises it by larger and larger steps, until a batch takes too long or nothing is shed. A trial that fails goes back
    to the ceiling that was ``good``, or higher, and doubles the patience. So a load that stays the same is seldom
    exceeded.

    ``at_floor``: batches take too long although hardly a row is processed, as reading the rows takes that long.
    """

    share: float = 1.0
    clock_us: int | None = None
    rows: int = 0
    ceiling: float | None = None
    good: float | None = None
    arrivals: float = 0.0
    calm: int = 0
    patience: int = FIRST_PATIENCE
    leverage: int = 1
    excused: bool = False
    slip: float = 0.0
    at_floor: bool = False

    def using(self, share: float) -> "Pace":
        """The same, if the last batch is processed at another share than was allowed."""
        return replace(self, share=share)

    def go_on(self, cadence: Cadence, clock_us: int, rows: int, exchanged: bool = False) -> "Pace":
        """The state for a micro-batch of so many rows that starts at this time.

        ``exchanged``: the sample in the windows was exchanged in the batch before.
        """
        after = self
        if self.clock_us is not None and clock_us > self.clock_us and self.rows:
            gap = (clock_us - self.clock_us) / cadence.interval_us
            duration, slip = cadence.duration(gap, self.slip)
            after = replace(self, slip=slip)
            is_long = duration is not None and duration > TOO_LONG
            if is_long and exchanged and not self.excused and gap < MOST_EXCUSED:
                after = replace(after, excused=True)
            else:
                after = replace(after, excused=False)._judged(duration, rows / gap)
        share = 1.0
        if after.ceiling is not None and rows:
            share = min(1.0, max(after.ceiling / rows, LEAST_SHARE))
            share = share if share >= 1 else min(share, AT_ONCE * self.share)
        return replace(after, share=share, clock_us=clock_us, rows=rows)

    def _judged(self, duration: float | None, arrivals: float) -> "Pace":
        """The state with the ceiling that follows from how long the last batch took."""
        if duration is not None and duration > TOO_LONG:
            return self._lowered(duration, arrivals)
        if self.ceiling is None:
            return self
        calm = self.calm + 1
        if self.share >= 1:
            return replace(self, calm=calm, at_floor=False) if calm <= 2 * self.patience else Pace()
        good, rise = self.good, 1.0
        done = self.share * self.rows
        if duration is not None:
            rise = (AIM / duration) ** 0.25
            if rise > 1:  # it may have done less than the ceiling
                rise = min(max(done * AIM / duration / self.ceiling, 1.0) ** 0.25, MOST_RISE)
        else:
            if arrivals < FEWER_ROWS * self.arrivals:
                calm = max(calm, self.patience + 1)
            if calm > self.patience:
                good = self.ceiling if good is None else good
                rise = TRIAL_RISE ** (calm - self.patience)
                rise = min(rise, max(MOST_TRIAL_RISE * done / self.ceiling, 1.0))
        return replace(self, ceiling=self.ceiling * rise, good=good, calm=calm, at_floor=False)

    def _lowered(self, duration: float, arrivals: float) -> "Pace":
        leverage, patience = self.leverage, self.patience
        if self.ceiling is not None:
            leverage = min(2 * leverage, MOST_LEVERAGE) if self.calm < AGAIN else max(leverage // 2, 1)
        share = max(self.share * max((AIM / duration) ** leverage, MOST_FALL), LEAST_SHARE)
        ceiling = share * self.rows
        if self.good is not None:
            ceiling, patience = max(ceiling, self.good), min(2 * patience, MOST_PATIENCE)
        return replace(
            self,
            ceiling=ceiling,
            good=None,
            arrivals=arrivals,
            calm=0,
            patience=patience,
            leverage=leverage,
            at_floor=self.share <= 2 * LEAST_SHARE,
        )

    def facts(self) -> dict[str, Any]:
        """The state as it is stored."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Pace":
        """The inverse of `facts`."""
        return cls(**facts)


# --- steps ----------------------------------------------------------------------------------------------------------

STEPS_PER_HALF = 8
"""Rates are WHOLE·2^(−k/8)."""
BELOW = 0.95
"""A rate is set to at most this part of the share that can be afforded."""
RISE = 1.25
"""A rate rises when this many times as much can be afforded."""
SURE = 4
"""Everything is kept again when it could be afforded for so many micro-batches in a row."""
LEAST_RATE = int(WHOLE * LEAST_SHARE)


@dataclass(frozen=True, slots=True)
class Steps:
    """The sampling rate, out of WHOLE, and for how many micro-batches in a row everything could be afforded."""

    rate: int = WHOLE
    could_be_whole: int = 0

    def toward(self, share: float) -> "Steps":
        """The state after a micro-batch for which this share can be afforded."""
        if share >= 1:
            waited = min(self.could_be_whole + 1, SURE)
            return Steps(WHOLE if waited == SURE else self.rate, waited)
        if share * WHOLE < self.rate or share * WHOLE >= RISE * self.rate:
            return Steps(on_grid(BELOW * share))
        return Steps(self.rate)

    def facts(self) -> dict[str, Any]:
        """The state as it is stored."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Steps":
        """The inverse of `facts`."""
        return cls(**facts)


def on_grid(share: float) -> int:
    """The largest rate of the grid that is at most this share, but never less than the least rate."""
    return next(rate for rate in _GRID if rate <= share * WHOLE or rate == LEAST_RATE)


_GRID = [round(WHOLE * 2 ** (-k / STEPS_PER_HALF)) for k in range(10 * STEPS_PER_HALF + 1)]
assert _GRID[-1] == LEAST_RATE
