"""The sampler that is expected to be more exact is taken, unless the query, the checkpoint or ignorance decides."""

from dataclasses import replace

import pytest

from joinfold.errors import QueryError
from joinfold.planner.context import Context
from joinfold.planner.drafting.draft import draft
from joinfold.planner.passes.choose_sampler import choose_sampler
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import JOINED, context, query_of, stream, unknown

MANY_ROWS = Statistics((stream(5_000, keys=50), stream(5_000, keys=50)))
FEW_ROWS = Statistics((stream(50, keys=500), stream(50, keys=500)))
SHED = "SHED TO PROCESS 1000 ROWS PER SECOND"


def known(statistics: Statistics | None) -> Context:
    return replace(context(), statistics=statistics)


@pytest.mark.parametrize(
    ("shed", "statistics", "taken"),
    [
        (SHED, MANY_ROWS, "row"),
        ("SHED TO PROCESS 25 ROWS PER SECOND", FEW_ROWS, "key"),
        (f"{SHED} SAMPLE BY KEY", MANY_ROWS, "key"),
        (SHED, unknown(2), "key"),
        (SHED, None, "key"),
    ],
)
def test_the_sampler(shed: str, statistics: Statistics | None, taken: str) -> None:
    query = query_of(f"SELECT COUNT(*) AS n {JOINED} {shed}")
    plan = choose_sampler(draft(query), known(statistics))
    assert plan.sampler == taken and plan.query is query
    assert (plan.forecast is None) == (statistics is None)


def test_conditions_over_both_rows_leave_no_choice() -> None:
    plan = choose_sampler(draft(query_of(f"SELECT COUNT(*) AS n {JOINED} AND a.v < b.v {SHED}")), known(MANY_ROWS))
    assert plan.sampler == "key" and plan.forecast is not None
    assert [own.sampler for own in plan.forecast.samplers] == ["key"]


def test_a_checkpoint_keeps_its_sampler() -> None:
    drafted = draft(query_of(f"SELECT COUNT(*) AS n {JOINED} {SHED}"))
    for statistics in (MANY_ROWS, FEW_ROWS, None):
        for sampler in ("key", "row"):
            assert choose_sampler(drafted, replace(known(statistics), sampler=sampler)).sampler == sampler


def test_other_queries_are_left_alone() -> None:
    for text in (f"SELECT COUNT(*) AS n {JOINED}", f"SELECT a.v AS x, b.v AS y {JOINED} SHED TO HOLD 9 ROWS"):
        plan = draft(query_of(text))
        assert choose_sampler(plan, known(MANY_ROWS)) is plan


def test_a_stream_that_stays_whole_must_fit_the_budget() -> None:
    window = "[10 SECOND SLIDE 1 SECOND]"
    joined = f"FROM a {window}, b {window}, c {window} WHERE a.k = b.k AND b.j = c.j"
    large = Statistics((stream(50, keys=500), stream(50, keys=500), stream(5_000, keys=4_000)))
    query = query_of(f"SELECT COUNT(*) AS n {joined} SHED TO HOLD 900 ROWS")
    with pytest.raises(QueryError, match=r"the window of 'c' alone holds about .* entries, more than HOLD 900 ROWS"):
        choose_sampler(draft(query), known(large))
    small = Statistics((*large.streams[:2], stream(5, keys=500)))
    assert choose_sampler(draft(query), known(small)).sampler == "key"
