"""The ratio of what two plans take, in time or memory, and the bar for it."""

from dataclasses import dataclass

from joinfold_bench.engines.rates import Spread


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """How many times as much one plan takes as another, and the least that this ratio should be."""

    query: str
    what: str
    ratio: Spread
    bar: float

    @property
    def is_met(self) -> bool:
        """Whether the ratio reaches the bar."""
        return self.ratio.middle >= self.bar
