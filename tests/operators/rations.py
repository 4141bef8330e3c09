"""Plain joins that shed, at rates that a test gives, in process and by the definition."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from joinfold.inprocess import InProcess
from joinfold.operators.batches import draws_of
from joinfold.operators.stages.rationing import Rationer, probing_draws
from joinfold.physical.shedding import DRAWS, WHOLE
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference.contents import Timed
from joinfold.reference.rationing import Rations
from joinfold.shedding.allocation import Share
from tests.operators.runs import packed_entries

Shares = tuple[Share, ...]


@contextmanager
def at_shares(shares: Sequence[Shares]) -> Iterator[None]:
    """Lets all buckets use these shares in the first micro-batch, the second one, and so on."""

    def decide(self: Rationer, *_: Any) -> None:
        number = getattr(self, "seconds", 0.0)
        self.seconds = number + 1  # kept in the state; nothing else reads it here
        self.shares = shares[int(number) % len(shares)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rationer, "_decide", decide)
        yield


class History:
    """All rates that there have been. Buckets forget those that they no longer need."""

    def __init__(self, names: Sequence[str]) -> None:
        self.probing: dict[str, dict[int, int]] = {name: {} for name in names}
        self.holding: dict[str, dict[int, int]] = {name: {} for name in names}

    def see(self, rationers: Sequence[Rationer]) -> None:
        """Adds the rates of buckets, which agree."""
        assert all(own.facts() == rationers[0].facts() for own in rationers)
        for stream, name in enumerate(self.probing):
            for steps, timeline in (
                (self.probing[name], rationers[0].probing[stream]),
                (self.holding[name], rationers[0].holding[stream]),
            ):
                steps |= dict(zip(timeline.starts, timeline.rates, strict=True))

    def rations(self, plan: PlannedQuery) -> Rations:
        """What the definition needs to know."""
        probing = {name: sorted(steps.items()) for name, steps in self.probing.items()}
        holding = {name: sorted(steps.items()) for name, steps in self.holding.items()}
        known: dict[tuple[str, int], tuple[int, int]] = {}

        def draws(alias: str, item: Timed) -> tuple[int, int]:
            if (alias, id(item)) not in known:
                entries = packed_entries(plan, plan.timing.names.index(alias), [item.row])
                drawn = draws_of(entries)
                known[alias, id(item)] = int(probing_draws(drawn)[0]), int(drawn[0])
            return known[alias, id(item)]

        return Rations(probing, holding, draws, WHOLE, DRAWS)


def rationers_of(machine: InProcess) -> list[Rationer]:
    found = [bucket.shedder for bucket in machine.buckets]
    return [own for own in found if isinstance(own, Rationer)]
