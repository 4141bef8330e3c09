"""From the budgets of a query to the share of its rows that can be afforded, micro-batch by micro-batch."""

from collections.abc import Mapping
from typing import Any, assert_never

from joinfold.logical.shedding import HoldAvailable, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import KeySampling, Shedding
from joinfold.shedding.control import BackToBack, Pace, Triggered, held_share, processed_share
from joinfold.shedding.live_load import LoadPart

SPARE = 1.4
"""Under KEEP UP, so many times the keys are held as can be used, so that more can be used at once."""


class Controller:
    """The budgets of a query, and what has to be remembered of earlier micro-batches."""

    def __init__(self, shedding: Shedding) -> None:
        self.shedding = shedding
        self.clock_us: int | None = None
        self.pace = Pace()

    def share(self, rows: int, clock_us: int | None, sampled: LoadPart, whole: LoadPart) -> float:
        """The share of a micro-batch's rows that can be afforded: the smallest that a budget allows.

        The windows would hold ``sampled``, and beside it the load of the streams that stay ``whole``.
        """
        shares = [self.processed(rows, clock_us)]
        for budget in self.shedding.budgets:
            match budget:
                case HoldRows(rows=most):
                    shares.append(held_share(most - whole.entries, sampled.entries))
                case HoldBytes(size_bytes=most):
                    shares.append(held_share(most - whole.size_bytes, sampled.size_bytes))
                case HoldAvailable() | Process() | KeepUp():
                    pass
                case _:
                    assert_never(budget)
        return min(shares)

    def processed(self, rows: int, clock_us: int | None) -> float:
        """The share of a micro-batch's rows that may be processed; 1 if there is no clock."""
        if clock_us is None:
            return 1.0
        shares = [1.0]
        for budget in self.shedding.budgets:
            match budget:
                case Process(rows_per_second=most):
                    shares.append(processed_share(most, self.clock_us, clock_us, rows))
                case KeepUp(within_us=within_us):
                    trigger_us = self.shedding.trigger_us
                    if trigger_us is None and within_us is None:
                        continue
                    cadence = BackToBack(within_us or 0) if trigger_us is None else Triggered(trigger_us)
                    self.pace = self.pace.go_on(cadence, clock_us, rows)
                    shares.append(min(SPARE * self.pace.steady_share, 1.0) if self._holds_spare else self.pace.share)
                case HoldRows() | HoldBytes() | HoldAvailable():
                    pass
                case _:
                    assert_never(budget)
        self.clock_us = clock_us
        return min(shares)

    @property
    def _holds_spare(self) -> bool:
        """Whether more may be held than is used: keys can enter the windows later, rows cannot."""
        return isinstance(self.shedding, KeySampling)

    def use(self, rows: float, moved: float = 0.0) -> None:
        """Tells the work of the micro-batch, which may be another than could be afforded. See `Pace.using`."""
        self.pace = self.pace.using(rows, moved)

    def room(self, done: float) -> float | None:
        """How much more than this can be done in the micro-batch; None if there is no limit."""
        return None if self.pace.ceiling is None else self.pace.ceiling - done

    def facts(self) -> dict[str, Any]:
        """What has to be stored."""
        return {"clock_us": self.clock_us, "pace": self.pace.facts()}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Takes what was stored."""
        self.clock_us, self.pace = facts["clock_us"], Pace.from_facts(facts["pace"])
