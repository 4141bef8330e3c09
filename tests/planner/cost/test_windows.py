"""How fast entries come to a window, how many it holds, and how often answers are given."""

from math import inf

import pytest

from joinfold.planner.cost.windows import distinct, flows_of, instants_per_second
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    FAST,
    SLOW,
    WINDOW,
    chain_of,
    common_key,
    query_of,
    stream,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {WINDOW}, b {WINDOW}", 1),
        ("a [10 SECOND SLIDE 2 SECOND], b [10 SECOND SLIDE 5 SECOND]", 0.5 + 0.2),
        ("a [ROWS 100 SLIDE 10], b [ROWS 100 SLIDE 50]", 8 / 10 + 6 / 50),
        ("a [RANGE 10 SECOND SLIDE 1 ROWS], b [10 SECOND SLIDE 1 SECOND]", 8 + 1),
        ("a [PARTITION BY g ROWS 3], b [UNBOUNDED]", 8),
    ],
)
def test_how_often_answers_are_given(text: str, expected: float) -> None:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM {text} WHERE a.k = b.k"))
    assert instants_per_second(plan.timing, Statistics(SLOW)) == pytest.approx(expected)


def test_emit_says_how_often() -> None:
    for clause, expected in (("EMIT EVERY 4 SECONDS", 0.25), ("EMIT ON TRIGGER", 1.0)):
        plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM a [10 SECOND], b [UNBOUNDED] WHERE a.k = b.k {clause}"))
        assert instants_per_second(plan.timing, Statistics(SLOW)) == expected


def test_result_windows_by_number_come_as_often_as_the_slowest_window_moves() -> None:
    windows = "FROM a [10 SECOND SLIDE 1 SECOND], b [ROWS 100 SLIDE 50]"
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n {windows} WHERE a.k = b.k SYNC ON WINDOW ID"))
    assert instants_per_second(plan.timing, Statistics((stream(1_000), stream(25)))) == 0.5
    assert instants_per_second(plan.timing, Statistics((stream(1_000), stream(500)))) == 1


def test_a_view_has_a_row_for_each_group_that_changes() -> None:
    plan = plan_query(query_of(chain_of(3)), Plan(root="c"))
    first, last = flows_of(plan.pipeline, Statistics((stream(FAST, 4), stream(FAST, 4, groups=4), stream(FAST, 4))))
    view = last[plan.body.views[0]]
    assert len(first) == len(last) == 2
    assert view.entries_per_second == pytest.approx(16)  # 4 keys by 4 groups of b, all of which change
    assert (view.merged, view.calls_per_second) == pytest.approx((16, 1))


def test_a_row_more_in_a_cell_makes_no_entry_less() -> None:
    """Also where a cell begins to have more than one row, and all have one key."""
    pipeline = plan_query(query_of(common_key(2))).pipeline
    rates = (0.5, 0.99, 1.0, 1.01, 1.5, 10.0)
    entries = [flows_of(pipeline, Statistics((stream(rate), stream(1))))[0][0].entries_per_second for rate in rates]
    assert entries == sorted(entries) == pytest.approx([0.5, 0.99, 1.0, 1.0, 1.0, 1.0], rel=1e-3)


@pytest.mark.parametrize("values", [1.0, 7.0, 1e6, inf])
def test_so_many_that_are_drawn_are_different(values: float) -> None:
    found = [distinct(drawn, values) for drawn in (0.0, 0.5, 1.0, 10.0, 1e9)]
    assert found == sorted(found) and found[0] == 0 and all(own <= values for own in found)
    assert found[1] == pytest.approx(0.5, rel=0.3) and found[1] <= 0.5
