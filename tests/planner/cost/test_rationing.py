"""Structures are chosen for windows as they are when a plain join sheds."""

import pytest

from joinfold.logical.shedding import AllTo, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import PairRationing
from joinfold.planner.cost.rationing import ExpectedStream, expected_shares
from joinfold.planner.cost.windows import flows_of
from joinfold.planner.drafting.draft import draft
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.shedding.allocation import Share
from tests.planner.known import query_of, stream

TEXT = "SELECT a.v, b.v AS w FROM a [{} SECOND], b [{} SECOND] WHERE a.k = b.k {}"
FIGURE_5 = Statistics((stream(800, keys=100), stream(200, keys=100)))
FIVE = (ExpectedStream("a", 800, 100, 24), ExpectedStream("b", 200, 200, 8))


def rationing(*budgets: Process | HoldRows | HoldBytes | KeepUp, **how: object) -> PairRationing:
    return PairRationing(budgets, 0, **{"favour": "most pairs", "least_rows": 0, "least_rows_per_second": 0} | how)  # type: ignore[arg-type]


def test_the_shares_of_the_paper() -> None:
    assert expected_shares(rationing(Process(100)), FIVE) == (Share(0.125, 1), Share(0, 1))
    assert expected_shares(rationing(Process(100), favour=AllTo("b")), FIVE) == (Share(0, 1), Share(0.5, 1))
    assert expected_shares(rationing(HoldRows(150)), FIVE) == (Share(1, 0), Share(1, 0.75))
    assert expected_shares(rationing(KeepUp()), FIVE) == (Share(), Share())


def test_a_size_is_divided_by_the_size_of_rows() -> None:
    even = expected_shares(rationing(HoldBytes(100 * 32), favour="equal"), FIVE)
    assert [share.rows for share in even] == pytest.approx([1, 0.5])
    assert expected_shares(rationing(HoldBytes(64), least_rows=10), FIVE)[0].rows == pytest.approx(0.1)


def flows_with(shed: str) -> list[tuple[float, float, float]]:
    (flows,) = flows_of(draft(query_of(TEXT.format(1, 1, shed))).pipeline, FIGURE_5)
    return [(flow.apart, flow.probing, flow.held) for flow in flows]


def test_flows_within_budgets() -> None:
    assert flows_with("") == flows_with("SHED TO HOLD 1000 ROWS") == [(800, 1, 1), (200, 1, 1)]
    assert flows_with("SHED TO HOLD 300 ROWS") == [(100, 1, 0.125), (200, 1, 1)]
    assert flows_with("SHED TO PROCESS 100 ROWS PER SECOND FAVOUR ALL TO b") == [(800, 0, 1), (200, 0.5, 1)]


def structures(plan: PlannedQuery) -> list[str]:
    return [index.structure for index in plan.choice.indexes]


def test_structures_are_chosen_for_what_is_left() -> None:
    """Of 10,000 rows per second only 100 probe, so trees, which are cheap to probe, do not pay any more."""
    fast = Statistics((stream(8_000, keys=100), stream(2_000, keys=100)))
    plain = plan_query(query_of(TEXT.format(10, 100, "")), statistics=fast)
    shed = "SHED TO PROCESS 100 ROWS PER SECOND"
    rationed = plan_query(query_of(TEXT.format(10, 100, shed)), statistics=fast)
    assert (structures(plain), structures(rationed)) == (["btree", "btree"], ["hash", "hash"])


def test_shedding_costs_less() -> None:
    costs = []
    for shed in ("", "SHED TO HOLD 9000 ROWS", "SHED TO PROCESS 100 ROWS PER SECOND AND HOLD 9000 ROWS"):
        decision = plan_query(query_of(TEXT.format(10, 100, shed)), statistics=FIGURE_5).decision
        assert decision is not None
        costs.append((decision.chosen.estimate.cpu, decision.chosen.estimate.memory_bytes))
    assert costs == sorted(costs, reverse=True) and len(set(costs)) == 3
