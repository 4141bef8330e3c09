"""From the times of micro-batches to rates, and from repeated rates to a median with its spread.

The first two micro-batches start workers and compile; a rate is of the *steady* ones after them, and how long the
start took is told apart. A run that a cap stopped is given the better of two readings: its steady micro-batches, or
the rows it finished over the cap, where none finished counts as one. So a cap never flatters joinfold.
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
    """Input rows per second, and what it was read from."""

    rows_per_second: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of repeated measurements between the smallest and the largest."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        assert values
        return cls(median(values), min(values), max(values))


def rate_of(run: StreamRun, batch_rows: int) -> Rate:
    """The rate of a run whose micro-batches have ``batch_rows`` rows."""
    steady = steady_batches(run.batches)
    found = [Rate(_per_second(steady), "steady")] if steady else []
    if run.capped:
        finished = sum(batch.rows for batch in run.batches) or batch_rows
        found.append(Rate(finished / run.seconds, "cap"))
    elif not found:
        found.append(Rate(sum(batch.rows for batch in run.batches) / run.seconds, "whole run"))
    return max(found, key=lambda rate: rate.rows_per_second)


def steady_batches(batches: Sequence[Batch]) -> list[Batch]:
    """Those after the start that had rows; what Spark runs behind the last row belongs to no rate."""
    return [batch for batch in batches if batch.number >= STARTING_BATCHES and batch.rows]


def startup_seconds(batches: Sequence[Batch]) -> float | None:
    """From the start of the query until its second micro-batch was done; None if it never was."""
    done = [batch.finished_seconds for batch in batches if batch.number == STARTING_BATCHES - 1]
    return done[0] if done else None


def _per_second(batches: Sequence[Batch]) -> float:
    return sum(batch.rows for batch in batches) / sum(batch.seconds for batch in batches)
