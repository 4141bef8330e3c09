"""The smallest share that a budget allows; budgets without a clock allow everything."""

import pytest

from joinfold.logical.shedding import Budget, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import KeySampling
from joinfold.shedding.control import AIM, HOLD_MARGIN, SAFE_AIM
from joinfold.shedding.controller import SPARE, Controller
from joinfold.shedding.live_load import LoadPart

SECOND_US = 1_000_000
NOTHING = LoadPart(0, 0, 0, 0)
LOAD = LoadPart(0, 1_000, 1_000, 8_000)


def controller(*budgets: Budget, trigger_us: int | None = None) -> Controller:
    return Controller(KeySampling(budgets, 0, (0,), trigger_us=trigger_us))


@pytest.mark.parametrize(
    ("budget", "whole", "share"),
    [
        (HoldRows(1_000), NOTHING, 1.0),
        (HoldRows(500), NOTHING, 0.5 * HOLD_MARGIN),
        (HoldBytes(4_000), NOTHING, 0.5 * HOLD_MARGIN),
        (HoldRows(700), LoadPart(0, 200, 200, 0), 0.5 * HOLD_MARGIN),
        (HoldRows(100), LoadPart(0, 200, 200, 0), 0.0),
    ],
)
def test_what_the_windows_may_hold(budget: Budget, whole: LoadPart, share: float) -> None:
    assert controller(budget).share(10, None, LOAD, whole) == pytest.approx(share)


def test_the_smallest_share_counts() -> None:
    both = controller(Process(50), HoldRows(500))
    assert both.share(200, 0, LOAD, NOTHING) == pytest.approx(0.5 * HOLD_MARGIN)
    assert both.share(200, SECOND_US, LOAD, NOTHING) == 0.25
    assert both.share(200, 5 * SECOND_US, LOAD, NOTHING) == pytest.approx(0.5 * HOLD_MARGIN)


@pytest.mark.parametrize(("trigger_us", "aim"), [(None, AIM), (SECOND_US, SAFE_AIM)])
def test_keeping_up_with_and_without_a_trigger(trigger_us: int | None, aim: float) -> None:
    keeping = controller(KeepUp(SECOND_US), trigger_us=trigger_us)
    assert keeping.processed(1_000, 0) == 1.0
    assert keeping.processed(1_700, SECOND_US + 700_000) == pytest.approx(SPARE * aim / 1.7)
    again = controller(KeepUp(SECOND_US), trigger_us=trigger_us)
    again.restore(keeping.facts())
    assert again.facts() == keeping.facts()
    assert again.processed(1_000, 5 * SECOND_US) == keeping.processed(1_000, 5 * SECOND_US)


def test_without_a_clock_or_an_interval_everything_is_processed() -> None:
    assert controller(Process(1), KeepUp(1)).processed(1_000, None) == 1.0
    unknown = controller(KeepUp())
    assert [unknown.processed(1_000, clock_us) for clock_us in (0, 10**9)] == [1.0, 1.0]
