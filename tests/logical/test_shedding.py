"""The types of SHED check themselves, and their texts leave out defaults."""

from collections.abc import Callable

import pytest

from joinfold.errors import UsageError
from joinfold.logical.shedding import (
    UNSTATED,
    AllTo,
    Budget,
    Estimating,
    Favouring,
    HoldAvailable,
    HoldBytes,
    HoldRows,
    KeepUp,
    Process,
    Shed,
    budget_to_hold,
    check_amount,
    check_confidence,
    check_seed,
    in_order,
)


@pytest.mark.parametrize(
    ("shed", "text"),
    [
        (Shed(UNSTATED, Estimating()), "SHED"),
        (Shed(UNSTATED, Favouring()), "SHED"),
        (Shed((KeepUp(),), Estimating()), "SHED TO KEEP UP"),
        (Shed((KeepUp(90_000_000),), Estimating()), "SHED TO KEEP UP WITHIN 90 SECOND"),
        (Shed((Process(1), HoldRows(1)), Estimating()), "SHED TO PROCESS 1 ROW PER SECOND AND HOLD 1 ROW"),
        (
            Shed((HoldRows(1000),), Estimating("row", 99.5), 7),
            "SHED TO HOLD 1000 ROWS SAMPLE BY ROW CONFIDENCE 99.5 PERCENT SEED 7",
        ),
        (Shed((HoldBytes(64_000_000),), Estimating(None, 99.0)), "SHED TO HOLD 64 MEGABYTES CONFIDENCE 99 PERCENT"),
        (Shed((HoldBytes(1_000_000_000),), Estimating("key")), "SHED TO HOLD 1 GIGABYTE SAMPLE BY KEY"),
        (Shed((HoldBytes(1_500),), Estimating()), "SHED TO HOLD 1500 BYTES"),
        (Shed((HoldBytes(65_536_000),), Estimating()), "SHED TO HOLD 65536 KILOBYTES"),
        (Shed(UNSTATED, Favouring("inverse rates")), "SHED FAVOUR INVERSE RATES"),
        (
            Shed(UNSTATED, Favouring(AllTo("order"), 1, 20)),
            "SHED FAVOUR ALL TO `order` AT LEAST 1 ROW OF EACH AT LEAST 20 ROWS PER SECOND OF EACH",
        ),
    ],
)
def test_canonical_text(shed: Shed, text: str) -> None:
    assert shed.to_sql() == text


@pytest.mark.parametrize(
    ("amount", "unit", "budget"),
    [
        (5, "ROWS", HoldRows(5)),
        (1, "row", HoldRows(1)),
        (5, "Bytes", HoldBytes(5)),
        (5, "kilobyte", HoldBytes(5_000)),
        (64, "MEGABYTES", HoldBytes(64_000_000)),
        (2, "GIGABYTE", HoldBytes(2_000_000_000)),
    ],
)
def test_units_of_hold(amount: int, unit: str, budget: Budget) -> None:
    assert budget_to_hold(amount, unit) == budget


def test_only_budgets_of_time_read_the_clock() -> None:
    for budgets, reads in [((KeepUp(),), True), ((Process(5), HoldRows(5)), True), ((HoldRows(5),), False)]:
        assert Shed(budgets, Estimating()).reads_clock == reads
    assert Shed(UNSTATED, Favouring()).reads_clock


def test_budgets_are_ordered_by_kind() -> None:
    assert in_order((HoldRows(5), Process(6), KeepUp())) == (KeepUp(), Process(6), HoldRows(5))
    for wrong in [(), (HoldRows(5), KeepUp()), (HoldRows(5), HoldBytes(5)), (HoldAvailable(),)]:
        with pytest.raises(AssertionError):
            Shed(wrong, Estimating())


LIMIT = 2**63


@pytest.mark.parametrize(
    "make",
    [
        lambda: KeepUp(0),
        lambda: Process(0),
        lambda: HoldRows(-1),
        lambda: HoldBytes(LIMIT),
        lambda: Process(1.5),  # type: ignore[arg-type]
        lambda: Process(True),
        lambda: budget_to_hold(5, "MB"),
        lambda: budget_to_hold(0, "ROWS"),
        lambda: budget_to_hold(10**10, "GIGABYTES"),
        lambda: check_amount("it", 0),
        lambda: check_confidence(49.99),
        lambda: check_confidence(99.991),
        lambda: check_confidence(float("nan")),
        lambda: check_confidence("95"),  # type: ignore[arg-type]
        lambda: Estimating(confidence=100),
        lambda: check_seed(-1),
        lambda: check_seed(LIMIT),
        lambda: check_seed(0.5),  # type: ignore[arg-type]
    ],
)
def test_what_has_no_meaning_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


def test_the_nearest_values_are_accepted() -> None:
    assert KeepUp(1) and Process(1) and HoldRows(LIMIT - 1) and HoldBytes(1)
    assert [check_confidence(percent) for percent in (50, 99.99)] == [50.0, 99.99]
    assert [check_seed(seed) for seed in (0, LIMIT - 1)] == [0, LIMIT - 1]
