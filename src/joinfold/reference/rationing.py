"""SHED in a plain join: which combinations come, given the rates of each stream by time and the draws of its rows.

Rows are in the order in which they enter their windows, and those that enter together in the order of FROM. The last
row of a combination in this order is its prober. The combination comes if

- the prober's draw for probing is below the rate of probing when it enters, and
- of every other row, the draw for holding is below all rates of holding from when it enters until the prober enters.

Rates are out of ``whole``, draws are out of ``draws``; a draw is below a rate if its share is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from joinfold.reference.contents import Timed

Stay = tuple[int, int]
Steps = Sequence[tuple[int, int]]
"""The times at which a rate changes, ascending, each with the rate from then on."""


@dataclass(frozen=True, slots=True)
class Rations:
    """The rates of each stream, and the draws of a row of a stream: for probing and for holding."""

    probing: Mapping[str, Steps]
    holding: Mapping[str, Steps]
    draws_of: Callable[[str, Timed], tuple[int, int]]
    whole: int
    draws: int

    def let(self, chosen: Mapping[str, Timed], stays: Mapping[str, Stay]) -> bool:
        """Whether a combination comes; ``stays`` has the stay of each row of a stream, in the order of FROM."""
        order = list(stays)
        prober = max(order, key=lambda alias: (stays[alias][0], order.index(alias)))
        at = stays[prober][0]
        for alias in order:
            for_probing, for_holding = self.draws_of(alias, chosen[alias])
            if alias == prober:
                comes = self._below(for_probing, _rates(self.probing[alias], at, at))
            else:
                comes = self._below(for_holding, _rates(self.holding[alias], stays[alias][0], at))
            if not comes:
                return False
        return True

    def _below(self, draw: int, rates: list[int]) -> bool:
        return all(draw * self.whole < rate * self.draws for rate in rates)


def _rates(steps: Steps, first: int, last: int) -> list[int]:
    """The rates from one time to another, both included."""
    before = [rate for start, rate in steps if start <= first]
    return before[-1:] + [rate for start, rate in steps if first < start <= last]
