"""Computes rates from the times of micro-batches, and a median with its spread from repeated rates.

The first two micro-batches start workers and compile code. A rate is measured over the *steady* micro-batches after
them; the start-up time is reported separately. For a run that the cap stopped, the rate is the larger of two: the rate
of its steady micro-batches, and all rows that it finished divided by its time. If it finished no micro-batch, it is
credited with one. So a cap never makes another engine look slower than it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from joinfold_bench.engines.measure import Batch, StreamRun

STARTING_BATCHES = 2
Basis = Literal["steady", "whole run", "cap", "instants"]


@dataclass(frozen=True, slots=True)
class Rate:
    """Input rows per second, and what the rate was computed from."""

    rows_per_second: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Spread:
    """The median, the smallest and the largest of repeated measurements."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        assert values
        return cls(median(values), min(values), max(values))


def rate_of(run: StreamRun, batch_rows: int) -> Rate:
    """The rate of a run whose full micro-batches have ``batch_rows`` rows."""
    steady = steady_batches(run.batches)
    rates = [Rate(_per_second(steady), "steady")] if steady else []
    if run.capped:
        finished = sum(batch.rows for batch in run.batches) or batch_rows
        rates.append(Rate(finished / run.seconds, "cap"))
    elif not rates:
        rates.append(Rate(sum(batch.rows for batch in run.batches) / run.seconds, "whole run"))
    return max(rates, key=lambda rate: rate.rows_per_second)


def steady_batches(batches: Sequence[Batch]) -> list[Batch]:
    """The micro-batches after the start that had rows. Spark may run one without rows at the end; it does not count."""
    return [batch for batch in batches if batch.number >= STARTING_BATCHES and batch.rows]


def startup_seconds(batches: Sequence[Batch]) -> float | None:
    """Seconds from the start of the query until its second micro-batch had finished; None if it never did."""
    done = [batch.finished_seconds for batch in batches if batch.number == STARTING_BATCHES - 1]
    return done[0] if done else None


def _per_second(batches: Sequence[Batch]) -> float:
    return sum(batch.rows for batch in batches) / sum(batch.seconds for batch in batches)
