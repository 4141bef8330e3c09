"""Shedding as a part of the plan: what is sampled or rationed, within which budgets, and how estimates are made.

Every row of a sampled input has a *draw*, a hash that is uniform between 0 and `DRAWS`. A row stays as long as its draw
is below the sampling rate of its cell. Rates are whole numbers out of `WHOLE`. So the arithmetic is exact, and all
buckets compute alike.

``trigger_us`` is the time between two micro-batches, None if they run back to back.
"""

from dataclasses import dataclass
from typing import Literal

from joinfold.errors import UsageError
from joinfold.logical.expressions import Expression
from joinfold.logical.shedding import AllTo, Budget, Favour, KeepUp, Process, Sampler
from joinfold.types import DataType

WHOLE = 2**16
"""The sampling rate at which nothing is shed."""

DRAWS = 2**62
"""Draws are at least 0 and below this."""

REPLICATES: dict[Sampler, int] = {"key": 32, "row": 8}
"""Into how many random groups a sample of keys, or of the rows of an input, is divided to estimate its error."""

MOST_ROWS_FOR_ONE = 255
"""A sample of rows has at least one row of so many."""

BoundRule = Literal["count", "total", "ratio", "lower bound", "upper bound", "unknown"]


@dataclass(frozen=True, slots=True)
class KeySampling:
    """Keys are sampled: all rows of a key stay or go. A few heavy keys stay for certain.

    ``streams`` are those that have the key; the rows of others all stay. ``groups_are_whole``: a group has one key, so
    it is shown as a whole or not at all.
    """

    budgets: tuple[Budget, ...]
    seed: int
    streams: tuple[int, ...]
    groups_are_whole: bool = False
    trigger_us: int | None = None


@dataclass(frozen=True, slots=True)
class RowSampling:
    """Rows are sampled, those of each stream by themselves, one in m. Equal rows stay or go together."""

    budgets: tuple[Budget, ...]
    seed: int
    streams: tuple[int, ...]
    trigger_us: int | None = None


@dataclass(frozen=True, slots=True)
class PairRationing:
    """A plain join probes with fewer rows, or holds fewer; ``favour`` divides the budgets among the streams."""

    budgets: tuple[Budget, ...]
    seed: int
    favour: Favour | AllTo
    least_rows: int
    least_rows_per_second: int
    trigger_us: int | None = None


Shedding = KeySampling | RowSampling | PairRationing


Sampling = KeySampling | RowSampling


def reads_clock(shedding: Shedding | None) -> bool:
    """Whether a budget is in wall-clock time, so that PACK has to know the time of the micro-batch."""
    return shedding is not None and any(isinstance(budget, KeepUp | Process) for budget in shedding.budgets)


def refuse_clock(shedding: Shedding | None) -> None:
    """Raises `UsageError` if a budget is in wall-clock time, which a bounded run does not have."""
    if reads_clock(shedding):
        raise UsageError(
            "this query sheds by wall-clock time, but its inputs are bounded",
            "start it on streams, or shed only to hold: SHED TO HOLD 64 MEGABYTES.",
        )


@dataclass(frozen=True, slots=True)
class EstimatedOutput:
    """A column of the SELECT list that has bounds: its number, and its expression over the columns of MERGE's output.

    ``rule`` says how the bounds are found: 'count' for a sum of terms that are not negative, 'total' for other sums,
    both with the number of the ``aggregate``; 'ratio' for every other number; 'lower bound' for a maximum, which is at
    least that of the sample, 'upper bound' for a minimum; 'unknown' where a sample bounds nothing.
    """

    number: int
    expression: Expression
    type: DataType
    rule: BoundRule
    aggregate: int | None = None


@dataclass(frozen=True, slots=True)
class Estimates:
    """How MERGE makes estimates and bounds from the totals of a sample.

    ``replicates`` has the columns of totals that hold the number of the replicate: one if keys are sampled, one for
    each sampled input if rows are. The number is −1 for what is not sampled. ``complete``: a group that is shown is
    complete, since it is in one key. ``confidence`` is between 0 and 1.
    """

    sampler: Sampler
    replicates: tuple[str, ...]
    outputs: tuple[EstimatedOutput, ...]
    confidence: float
    complete: bool

    @property
    def scales(self) -> bool:
        """Whether MERGE scales what was sampled. If rows are sampled, FOLD lets each count for those that were shed."""
        return self.sampler == "key"

    @property
    def bounded(self) -> tuple[EstimatedOutput, ...]:
        """The outputs whose bounds MERGE computes. Those of complete groups are the values themselves."""
        return () if self.complete else self.outputs

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells the totals of a group have on each axis: one for each replicate, and one for the rest."""
        return tuple(REPLICATES[self.sampler] + 1 for _ in self.replicates)
