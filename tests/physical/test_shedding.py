"""Budgets in wall-clock time are known as such; a bounded run refuses them."""

import pytest

from joinfold.errors import UsageError
from joinfold.logical.shedding import Budget, HoldAvailable, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import KeySampling, reads_clock, refuse_clock


@pytest.mark.parametrize(
    ("budgets", "reads"),
    [
        ((HoldRows(1),), False),
        ((HoldBytes(1), HoldAvailable()), False),
        ((Process(1),), True),
        ((HoldRows(1), KeepUp()), True),
    ],
)
def test_wall_clock_time(budgets: tuple[Budget, ...], reads: bool) -> None:
    shedding = KeySampling(budgets, 0, (0,))
    assert reads_clock(shedding) is reads
    if reads:
        with pytest.raises(UsageError, match="sheds by wall-clock time, but its inputs are bounded"):
            refuse_clock(shedding)
    else:
        refuse_clock(shedding)


def test_nothing_is_read_without_shed() -> None:
    assert not reads_clock(None)
    refuse_clock(None)
