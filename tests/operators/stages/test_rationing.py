"""How budgets become rates of probing and holding, and that all that is needed for it can be stored."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from joinfold.logical.shedding import AllTo, Budget, HoldBytes, HoldRows, KeepUp, Process
from joinfold.operators.packing.header import Load
from joinfold.operators.stages.rationing import Rationer, probing_draws
from joinfold.physical.shedding import DRAWS, WHOLE, PairRationing
from joinfold.physical.timing import AsFound, Timing
from joinfold.shedding.rates import BEGINNING
from joinfold.shedding.timeline import NEVER
from joinfold.window import Continuous, PartitionedRows

SECOND = 1_000_000
TIMING = Timing(("a", "b"), (Continuous(10 * SECOND), Continuous(20 * SECOND)), (0, 0), AsFound())


def rationer(*budgets: Budget, favour: object = "most pairs", least: int = 0, per_second: int = 0) -> Rationer:
    return Rationer(PairRationing(budgets, 0, favour, least, per_second), TIMING)  # type: ignore[arg-type]


def load(number: int, entries: int, entry_bytes: int = 8, clock: bool = True) -> Load:
    """A batch per second, each with rows of that second."""
    return Load(entries, entries, entries * entry_bytes, number * SECOND, [], [], number * SECOND if clock else None)


def run(own: Rationer, batches: Sequence[tuple[int, int]], first: int = 1, sizes: tuple[int, int] = (8, 8)) -> None:
    """Micro-batches of so many rows of a and b, with windows of 10 and 20 seconds."""
    for number, rows in enumerate(batches, first):
        loads = [(stream, load(number, rows[stream], sizes[stream])) for stream in range(2)]
        needed = {0: (number - 11) * SECOND, 1: (number - 21) * SECOND}
        own.see(loads, needed, number * SECOND + 1)


def shares(own: Rationer) -> list[tuple[float, float]]:
    return [
        (round(p.current / WHOLE, 2), round(h.current / WHOLE, 2))
        for p, h in zip(own.probing, own.holding, strict=True)
    ]


def test_probes_are_divided_by_rates_and_windows() -> None:
    """Windows of 400 and 600 rows; a brings 40 rows per second, b 30. So 30 of 70 rows may probe."""
    for favour, expected in [
        ("rates", [3 / 7, 3 / 7]),
        ("equal", [15 / 40, 15 / 30]),
        ("windows", [12 / 40, 18 / 30]),
        (AllTo("b"), [0, 1]),
        ("most pairs", [30 / 40, 0]),
    ]:
        own = rationer(Process(30), favour=favour)
        run(own, [(40, 30)] * 60)
        assert [probes for probes, _ in shares(own)] == pytest.approx(expected, abs=0.02), favour
        assert [held for _, held in shares(own)] == [1, 1]


def test_room_goes_to_the_window_of_the_slower_stream() -> None:
    own = rationer(HoldRows(500))
    run(own, [(40, 20)] * 60)
    assert shares(own) == [(1, pytest.approx(0.25, abs=0.01)), (1, pytest.approx(1, abs=0.02))]
    own = rationer(HoldRows(500), favour="rates")
    run(own, [(40, 20)] * 60)
    assert shares(own)[0][1] == pytest.approx(333 / 400, abs=0.02)


def test_bytes_are_divided_by_the_size_of_rows() -> None:
    """400 rows of each, those of a three times as large: an equal division gives as many rows of both."""
    own = rationer(HoldBytes(400 * 4 * 8 // 2), favour="equal")
    run(own, [(40, 20)] * 60, sizes=(24, 8))
    assert [held for _, held in shares(own)] == pytest.approx([0.5, 0.5], abs=0.02)


def test_floors() -> None:
    own = rationer(HoldRows(450), Process(20), least=100, per_second=5)
    run(own, [(40, 20)] * 60)
    (probes_a, rows_a), (probes_b, rows_b) = shares(own)
    assert min(probes_a * 40, probes_b * 20) >= 4.8 and min(rows_a, rows_b) * 400 >= 98


def test_a_budget_that_is_not_exceeded_changes_nothing() -> None:
    own = rationer(HoldRows(800), Process(60), KeepUp(2 * SECOND))
    run(own, [(40, 20)] * 60)
    assert all(timeline.rates == [WHOLE] for timeline in own.probing + own.holding)


def test_nothing_is_shed_before_there_is_a_time_to_compare_with() -> None:
    own = rationer(Process(10))
    run(own, [(40, 20)])
    assert shares(own) == [(1, 1), (1, 1)]


def test_keeping_up_follows_the_time_between_micro_batches() -> None:
    """One batch per second, which is twice what is allowed."""
    own = rationer(KeepUp(SECOND // 2), favour="rates")
    run(own, [(40, 20)] * 3)
    assert 0 < shares(own)[0][0] < 0.5


def test_rates_apply_to_rows_that_enter_after_all_before() -> None:
    own = rationer(HoldRows(50))
    run(own, [(40, 0)] * 2)
    assert own.holding[0].starts == [BEGINNING] and own.latest == 2 * SECOND + 1
    run(own, [(40, 0)], first=3)
    assert own.holding[0].starts == [BEGINNING, 2 * SECOND + 2] and own.holding[0].current < WHOLE
    assert [lowered.stream for lowered in own.take_lowered()] == [0] and own.take_lowered() == []
    enters, draws = np.array([SECOND, 3 * SECOND]), np.array([DRAWS - 1, DRAWS - 1])
    assert own.held_until(0, enters, draws).tolist() == [2 * SECOND + 2, 3 * SECOND]
    assert own.held_until(0, enters, np.zeros(2, np.int64)).tolist() == [NEVER, NEVER]
    own.forget([3 * SECOND, 3 * SECOND], 3 * SECOND)
    assert own.holding[0].starts == [2 * SECOND + 2]


def test_a_batch_without_rows_decides_nothing() -> None:
    own = rationer(HoldRows(50))
    run(own, [(40, 20)] * 5)
    before = own.facts()
    own.see([], {0: 0, 1: 0}, own.latest)
    assert own.facts() == before


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_headers_does_not_matter(order: int) -> None:
    """Several tasks pack a stream. Every bucket gets all headers, but in any order."""
    one, other = rationer(HoldRows(60)), rationer(HoldRows(60))
    for number in range(1, 200):
        loads = [(stream, load(number, 10 + part * number % 7)) for stream in range(2) for part in range(3)]
        needed = {0: (number - 11) * SECOND, 1: (number - 150) * SECOND}
        one.see(loads, needed, number * SECOND)
        other.see(loads[::order], needed, number * SECOND)
    assert one.facts() == other.facts()


def test_what_is_stored_goes_on_as_before() -> None:
    one, other = (rationer(HoldRows(300), Process(30), favour="rates") for _ in range(2))
    batches = [(40 + number % 7, 20 + number % 3) for number in range(60)]
    run(one, batches)
    for number, batch in enumerate(batches, 1):
        run(other, [batch], first=number)
        again = rationer(HoldRows(300), Process(30), favour="rates")
        again.restore(json.loads(json.dumps(other.facts())))
        other = again
    assert one.facts() == other.facts()


def test_draws_for_probing_are_independent_of_those_for_holding() -> None:
    draws = np.arange(0, DRAWS, DRAWS // 10_000)
    probing = probing_draws(draws)
    assert probing.min() >= 0 and probing.max() < DRAWS
    assert abs(np.corrcoef(draws.astype(float), probing.astype(float))[0, 1]) < 0.03
    both = np.mean((draws < DRAWS // 2) & (probing < DRAWS // 2))
    assert both == pytest.approx(0.25, abs=0.02)


def test_a_window_of_last_rows_is_as_large_as_its_partitions_allow() -> None:
    """Four partitions with two rows each, whatever comes, beside a window of 300 rows: FAVOUR WINDOWS goes by these."""
    windows = (PartitionedRows(("k",), 2), Continuous(10 * SECOND))
    shedding = PairRationing((Process(30),), 0, "windows", 0, 0)
    own = Rationer(shedding, Timing(("a", "b"), windows, (0, 0), AsFound()))
    for number in range(1, 40):
        partitions = replace(load(number, 300), smallest=[number % 4])
        own.see(
            [(0, partitions), (1, load(number, 30))], {0: BEGINNING, 1: (number - 11) * SECOND}, number * SECOND + 1
        )
    probing = [timeline.current / WHOLE for timeline in own.probing]
    assert probing[0] * 300 < 2 and probing[1] * 30 > 28
    facts = json.loads(json.dumps(own.facts()))
    again = Rationer(shedding, Timing(("a", "b"), windows, (0, 0), AsFound()))
    again.restore(facts)
    assert again.facts() == own.facts() and again.partitions[0].keys == 4
    for stream in facts["streams"].values():  # as an older version has stored them
        del stream["partitions"]
    again.restore(facts)
    assert again.partitions[0].keys == 0
