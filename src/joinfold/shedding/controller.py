"""From budgets to the share of rows that may be kept, micro-batch by micro-batch."""

from collections.abc import Mapping
from typing import Any

from joinfold.logical.shedding import Budget, HoldBytes, HoldRows, Process
from joinfold.physical.shedding import WHOLE
from joinfold.shedding.live_load import LoadPart

SECOND_US = 1_000_000


class Controller:
    """The budgets of a query, and what it has to remember of earlier micro-batches."""

    def __init__(self, budgets: tuple[Budget, ...]) -> None:
        self.budgets = budgets
        self.clock_us: int | None = None

    def share(
        self,
        rows: int,
        clock_us: int | None,
        sampled: LoadPart,
        whole: LoadPart,
        certain: float,
        current: int,
    ) -> float:
        """The share that may be kept of the rows that are sampled; the smallest that a budget allows."""
        passed = None if clock_us is None or self.clock_us is None else clock_us - self.clock_us
        self.clock_us = clock_us if clock_us is not None else self.clock_us
        shares = [1.0]
        for budget in self.budgets:
            match budget:
                case HoldRows(rows=most):
                    shares.append(_beside(most - whole.entries, sampled.entries, certain))
                case HoldBytes(size_bytes=most):
                    shares.append(_beside(most - whole.size_bytes, sampled.size_bytes, certain))
                case Process(rows_per_second=most):
                    if passed is not None and rows:
                        shares.append(most * passed / SECOND_US / rows)
                case _:
                    pass
        return max(min(shares), 0.0)

    def facts(self) -> dict[str, Any]:
        """What has to be stored."""
        return {"clock_us": self.clock_us}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Takes what was stored."""
        self.clock_us = facts["clock_us"]


def _beside(room: float, needed: float, certain: float) -> float:
    """The share of the other entries that fits beside the certain ones, which are a share of those ``needed``."""
    others = needed * (1 - certain)
    return 1.0 if room >= needed else (room - needed * certain) / others if others else 0.0


def stepped(current: int, share: float) -> int:
    """The next rate."""
    if share * WHOLE < current:
        return max(int(share * 0.95 * WHOLE), WHOLE // 1024)
    if share >= 1:
        return WHOLE
    return int(share * 0.95 * WHOLE) if share * WHOLE > 1.25 * current else current
