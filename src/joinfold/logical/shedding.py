"""SHED: what a query may give up when CPU or memory is short.

Shedding changes answers, so it belongs to the meaning of a query. The budgets say how much the query may use. A query
with aggregates then answers with estimates; a plain join emits fewer combinations.
"""

from dataclasses import dataclass
from typing import Literal

Sampler = Literal["key", "row"]
Favour = Literal["most pairs", "rates", "inverse rates", "windows", "equal"]


@dataclass(frozen=True, slots=True)
class KeepUp:
    """A micro-batch ends within this time; None: within the trigger interval."""

    within_us: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """At most so many rows are processed per second of wall-clock time, of all streams together."""

    rows_per_second: int


@dataclass(frozen=True, slots=True)
class HoldRows:
    """All windows together hold at most so many live entries."""

    rows: int


@dataclass(frozen=True, slots=True)
class HoldBytes:
    """The live entries of all windows together have at most this size."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class HoldAvailable:
    """The live entries of all windows fit into the memory of the workers."""


Budget = KeepUp | Process | HoldRows | HoldBytes | HoldAvailable


@dataclass(frozen=True, slots=True)
class Estimating:
    """Aggregates become estimates from a sample; without a ``sampler`` the planner chooses. Confidence in percent."""

    sampler: Sampler | None = None
    confidence: float = 95.0


@dataclass(frozen=True, slots=True)
class AllTo:
    """One stream gets as much as it can use, the others what is left."""

    alias: str


@dataclass(frozen=True, slots=True)
class Favouring:
    """How a plain join divides a budget among its streams, and the least that each stream gets."""

    favour: Favour | AllTo = "most pairs"
    least_rows: int = 0
    least_rows_per_second: int = 0


@dataclass(frozen=True, slots=True)
class Shed:
    """The clause SHED: budgets, at most one of each kind, what is done within them, and the seed of the sample."""

    budgets: tuple[Budget, ...]
    how: Estimating | Favouring
    seed: int = 0

    def __post_init__(self) -> None:
        assert self.budgets

    @property
    def reads_clock(self) -> bool:
        """Whether a budget is in wall-clock time."""
        return any(isinstance(budget, KeepUp | Process) for budget in self.budgets)
