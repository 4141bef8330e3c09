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
"""A micro-batch should take this part of its interval, where the duration of every one is known."""
SAFE_AIM = 0.5
"""Under a trigger, this part: a batch also reads rows, which cannot be shed, and how long it takes is not known."""
TOO_LONG = 0.95
"""A micro-batch that is known to take a larger part of its interval has too much to do."""
MOST_FALL = 0.25
"""A single micro-batch lowers the ceiling at most to this part of what it did of each interval's rows."""
MOST_RISE = 1.05
"""A single micro-batch of a known duration raises the ceiling at most so many times."""
TRIAL_RISE, QUICK_RISE = 1.03, 1.16
"""The step of a trial, and of one that begins because fewer rows come."""
MOST_AHEAD = 1.25
"""A trial raises the ceiling at most to so many times what was done, and then waits for it."""
FIRST_PATIENCE, MOST_PATIENCE = 128, 1024
"""For how many micro-batches in time a ceiling is left alone before a trial."""
FORGOTTEN = 64
"""After so many micro-batches in time, the last of them with all their rows, there is no ceiling any more."""
SOON = 4
"""For how many micro-batches in time a ceiling is left alone that is lower than it has to be."""
FEWER_ROWS = 0.8
"""A trial begins at once if arrivals fall below this part of those for which the ceiling was found."""
AGAIN, MOST_LEVERAGE = 4, 8
"""A batch that is too long again, so soon after another, doubles the leverage, up to this; otherwise it is halved."""
SLIGHTLY = 1.2
"""A single batch that takes so long after many in time is forgiven, except in a trial."""
BACKLOG, LONG_BACKLOG = 1.3, 3.0
"""A batch with so many times the rows of an interval has a backlog, or a long one."""
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
    ``done`` is the work of the last batch, counted in rows. To change the sample in the windows is work, too; ``moved``
    is this part of it.

    The *ceiling* is how many rows can be processed within the aim; None as long as all could be. A batch
    with more rows is thinned to the ceiling, so one that has a backlog is thinned more. Where thinning is work by
    itself, a short backlog is not thinned (`steady_share`). It goes anyway, because `AIM` is less than an interval.

    A batch that takes too long lowers the ceiling at once, in proportion to its duration. Where reading is a large part
    of the cost, that shortens batches too little. So if batches are still too long, without a backlog and without
    another sample, the ``leverage`` rises: the power of the proportion. The ceiling is then lower than the ``bound``,
    which is that of the proportion itself, and approaches it again when batches are in time.

    Where the duration of every batch is known, the ceiling follows it up again, slowly. Under a trigger, a batch that
    is in time tells nothing about its duration. So the ceiling stays until ``patience`` batches in a row were in time
    (``calm`` counts them), or the ``arrivals``, in rows per interval, are fewer than when it was found. Then a *trial*
    raises it step by step, until a batch takes too long or nothing is shed. A trial that fails goes back to the ceiling
    that was ``good``, or higher, and doubles the patience. So a load that stays the same is seldom exceeded.

    ``at_floor``: batches take too long although hardly a row is processed, as reading the rows takes that long.
    """

    share: float = 1.0
    clock_us: int | None = None
    rows: int = 0
    per_interval: float = 0.0
    done: float = 0.0
    moved: float = 0.0
    ceiling: float | None = None
    bound: float = 0.0
    good: float | None = None
    arrivals: float = 0.0
    calm: int = 0
    patience: int = FIRST_PATIENCE
    leverage: int = 1
    slip: float = 0.0
    at_floor: bool = False

    def using(self, rows: float, moved: float = 0.0) -> "Pace":
        """The same, if the last batch did other work than was allowed: for rows of its own, and for rows that moved."""
        return replace(self, done=rows + moved, moved=moved)

    def go_on(self, cadence: Cadence, clock_us: int, rows: int) -> "Pace":
        """The state for a micro-batch of so many rows that starts at this time."""
        after, per_interval = self, float(rows)
        if self.clock_us is not None and clock_us > self.clock_us and self.rows:
            gap = (clock_us - self.clock_us) / cadence.interval_us
            duration, slip = cadence.duration(gap, self.slip)
            after = replace(self, slip=slip)._judged(cadence, duration, rows / gap)
            per_interval = rows / max(gap, 1.0)
        share = after.share_of(rows)
        return replace(
            after, share=share, done=share * rows, moved=0.0, clock_us=clock_us, rows=rows, per_interval=per_interval
        )

    @property
    def steady_share(self) -> float:
        """The share that is allowed of the rows of an interval; if there is a long backlog, of all rows."""
        return self.share_of(self.rows if self.rows > LONG_BACKLOG * self.per_interval else self.per_interval)

    def share_of(self, rows: float) -> float:
        """The share of so many rows that is below the ceiling."""
        return 1.0 if self.ceiling is None or not rows else min(1.0, max(self.ceiling / rows, LEAST_SHARE))

    def _judged(self, cadence: Cadence, duration: float | None, arrivals: float) -> "Pace":
        """The state with the ceiling that follows from how long the last batch took."""
        if duration is not None and duration > TOO_LONG:
            is_forgiven = self.ceiling is not None and self.good is None and self.calm >= AGAIN
            return replace(self, calm=0) if is_forgiven and duration < SLIGHTLY else self._lowered(cadence, duration)
        if self.ceiling is None:
            return self
        calm = self.calm + 1
        if self.share >= 1:
            return replace(self, calm=calm, at_floor=False) if calm <= FORGOTTEN else Pace()
        good, rise = self.good, 1.0
        if duration is not None:
            rise = (AIM / duration) ** 0.25
            if rise > 1:  # it may have done less than the ceiling
                rise = min(max(self.done * AIM / duration / self.ceiling, 1.0) ** 0.25, MOST_RISE)
        else:
            are_fewer = arrivals < FEWER_ROWS * self.arrivals
            if are_fewer or calm > self.patience:
                good = self.ceiling if good is None else good
                rise = QUICK_RISE if are_fewer else TRIAL_RISE
            elif calm > SOON:
                rise = min(max(self.bound / self.ceiling, 1.0), TRIAL_RISE)
            rise = min(rise, max(MOST_AHEAD * self.done / self.ceiling, 1.0))
        return replace(self, ceiling=self.ceiling * rise, good=good, calm=calm, at_floor=False)

    def _lowered(self, cadence: Cadence, duration: float) -> "Pace":
        leverage, patience = self.leverage, self.patience
        is_usual = self.rows <= BACKLOG * self.per_interval and self.done <= BACKLOG * (self.done - self.moved)
        if self.ceiling is not None and is_usual:
            leverage = min(2 * leverage, MOST_LEVERAGE) if self.calm < AGAIN else max(leverage // 2, 1)
        least = max(MOST_FALL * self.done / self.rows, LEAST_SHARE) * self.per_interval
        aim = AIM if isinstance(cadence, BackToBack) else SAFE_AIM
        ceiling = max(self.done * (aim / duration) ** leverage, least)
        if self.good is not None:
            ceiling = max(ceiling, self.good)
            patience = min(2 * patience, MOST_PATIENCE) if self.calm > patience else patience
        return replace(
            self,
            ceiling=ceiling,
            bound=self.done * aim / duration,
            good=None,
            arrivals=max(self.per_interval, self.arrivals if self.calm < AGAIN else 0.0),
            calm=0,
            patience=patience,
            leverage=leverage,
            at_floor=self.done <= 2 * LEAST_SHARE * self.rows,
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
