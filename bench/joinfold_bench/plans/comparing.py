"""How many times as much one plan takes as another, held against a bar."""

from dataclasses import dataclass

from joinfold_bench.engines.rates import Spread


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """How many times as much one plan takes as another, and how many times it should at least."""

    query: str
    what: str
    ratio: Spread
    bar: float

    @property
    def is_met(self) -> bool:
        """Whether the ratio reaches the bar."""
        return self.ratio.middle >= self.bar
