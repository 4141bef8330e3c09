"""From the budgets of a query to the share of its rows that can be afforded, micro-batch by micro-batch."""

from collections.abc import Mapping
from typing import Any, assert_never

from joinfold.logical.shedding import HoldAvailable, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import Shedding
from joinfold.shedding.control import BackToBack, Pace, Triggered, held_share, processed_share
from joinfold.shedding.live_load import LoadPart


class Controller:
    """The budgets of a query, and what has to be remembered of earlier micro-batches."""

    def __init__(self, shedding: Shedding) -> None:
        self.shedding = shedding
        self.clock_us: int | None = None
        self.pace = Pace()

    def share(
        self, rows: int, clock_us: int | None, sampled: LoadPart, whole: LoadPart, exchanged: bool = False
    ) -> float:
        """The share of a micro-batch's rows that can be afforded: the smallest that a budget allows.

        The windows would hold ``sampled``, and beside it the load of the streams that stay ``whole``. For ``exchanged``
        see `Pace.go_on`.
        """
        shares = [self.processed(rows, clock_us, exchanged)]
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

    def processed(self, rows: int, clock_us: int | None, exchanged: bool = False) -> float:
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
                    self.pace = self.pace.go_on(cadence, clock_us, rows, exchanged)
                    shares.append(self.pace.share)
                case HoldRows() | HoldBytes() | HoldAvailable():
                    pass
                case _:
                    assert_never(budget)
        self.clock_us = clock_us
        return min(shares)

    def use(self, share: float) -> None:
        """Tells at which share the micro-batch is processed, which may be another than could be afforded."""
        self.pace = self.pace.using(share)

    def facts(self) -> dict[str, Any]:
        """What has to be stored."""
        return {"clock_us": self.clock_us, "pace": self.pace.facts()}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Takes what was stored."""
        self.clock_us, self.pace = facts["clock_us"], Pace.from_facts(facts["pace"])
