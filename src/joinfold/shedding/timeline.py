"""A rate for each time: how many rows of a stream may probe, or are held, as time goes on.

A micro-batch changes a rate for the rows that enter their window after all rows before. So the rate of a row follows
from the time at which it enters, and it does not matter which micro-batch brings the row.

    rates        ├─── 1 ───┼──── 1/2 ────┼─ 3/4 ─┤
    draw 0.3       [─────────────────────────────▶       held as long as its window holds it
    draw 0.6       [───────)                             held until the rate fell; it does not come back
    draw 0.6                    |                        not held
    draw 0.6                                [────▶       held

A row is held as long as its draw has been below all rates since it entered.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joinfold.physical.shedding import WHOLE
from joinfold.shedding.rates import BEGINNING, threshold

Integers = NDArray[np.int64]
NEVER = 2**62
"""When a row ceases to be held that always is."""

CLOSE = ((64, 0.02), (128, 0.1), (192, 0.25))
"""Up to so many rates, a new one that differs by less than this part is not taken. Beyond, only lower ones are."""


@dataclass(slots=True)
class Timeline:
    """The rates out of WHOLE, each from its start on, oldest first."""

    starts: list[int] = field(default_factory=lambda: [BEGINNING])
    rates: list[int] = field(default_factory=lambda: [WHOLE])

    @property
    def current(self) -> int:
        """The last rate."""
        return self.rates[-1]

    @property
    def is_whole(self) -> bool:
        """Whether all rates are whole."""
        return all(rate == WHOLE for rate in self.rates)

    def accepts(self, rate: int) -> bool:
        """Whether another rate differs enough from the current one. The more rates there are, the more it has to."""
        if rate == self.current:
            return False
        apart = abs(rate - self.current) / max(self.current, 1)
        if rate in (0, WHOLE) and len(self.rates) <= CLOSE[0][0]:
            return True
        close = next((part for most, part in CLOSE if len(self.rates) <= most), None)
        return apart > (CLOSE[-1][1] if close is None else close) and (close is not None or rate < self.current)

    def change(self, start: int, rate: int) -> None:
        """Lets another rate apply from a time on, at which no rate starts later."""
        assert start >= self.starts[-1]
        if start == self.starts[-1]:
            self.rates[-1] = rate
        else:
            self.starts.append(start)
            self.rates.append(rate)

    def thresholds(self, times: Integers) -> Integers:
        """For each time, the draw below which a row may."""
        found: Integers = np.array([threshold(rate) for rate in self.rates])[self._at(times)]
        return found

    def until(self, times: Integers, draws: Integers) -> Integers:
        """For rows that enter at these times, the time up to which each is held; the same time if it never is."""
        at, found = self._at(times), np.full(len(times), NEVER)
        for number in range(len(self.rates) - 1, int(at.min(initial=len(self.rates))) - 1, -1):
            ends = (at <= number) & (draws >= threshold(self.rates[number]))
            found[ends] = np.maximum(times[ends], self.starts[number])
        return found

    def forget(self, before: int) -> None:
        """Drops the rates that no time from ``before`` on has."""
        gone = max(bisect_right(self.starts, before) - 1, 0)
        del self.starts[:gone], self.rates[:gone]

    def facts(self) -> dict[str, Any]:
        """The rates as they are stored."""
        return {"starts": self.starts, "rates": self.rates}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Timeline":
        """The inverse of `facts`."""
        return cls(list(facts["starts"]), list(facts["rates"]))

    def _at(self, times: Integers) -> Integers:
        found: Integers = np.maximum(np.searchsorted(self.starts, times, "right") - 1, 0)
        return found
