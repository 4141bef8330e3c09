"""Ranges and conditions on carried columns let the same combinations through as WHERE does."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.query import LogicalQuery
from joinfold.physical.column_names import pair_column
from joinfold.physical.combining import Bound, PairCondition, RangeJoin
from joinfold.planner.drafting.linking import pair_conditions, ranges_of
from joinfold.reference.evaluate import Context, is_true
from tests.planner.gathering import Row, carried_rows, gathered_for
from tests.planner.known import WINDOW, query_of

WHERE = (
    "a.x < b.x",
    "a.x >= b.x + 1",
    "b.x <= a.v",
    "a.x BETWEEN b.x - 2 AND b.x + 2",
    "a.x > b.x AND a.x <= b.v",
    "a.x BETWEEN b.k AND b.d",
    "a.x <> b.x",
    "a.x + b.x < c.x",
    "a.x < b.x AND b.x < c.x AND a.v + c.v > 0",
)
number = st.one_of(st.none(), st.integers(-3, 3))
row = st.fixed_dictionaries({**dict.fromkeys(("k", "x", "v"), number), "d": st.sampled_from([None, -1.5, 0.5, 2.0])})
rows = st.fixed_dictionaries(dict.fromkeys("abc", row))


def aliases_of(where: str) -> str:
    return "abc" if "c." in where else "ab"


def query_over(where: str) -> LogicalQuery:
    inputs = ", ".join(f"{alias} {WINDOW}" for alias in aliases_of(where))
    return query_of(f"SELECT COUNT(*) AS n FROM {inputs} WHERE {where}")


def linked(where: str) -> tuple[tuple[RangeJoin, ...], tuple[PairCondition, ...]]:
    query, gathered = query_over(where), gathered_for(aliases_of(where))
    return ranges_of(query.graph, gathered), pair_conditions(query.graph, gathered)


def is_within(join: RangeJoin, carried: Mapping[str, Row]) -> bool:
    value, bounds = carried[pair_column(join.value_input)][join.value], carried[pair_column(join.bound_input)]

    def meets(bound: Bound | None, sign: int) -> bool:
        if bound is None:
            return True
        other = bounds[bound.column]
        if value is None or other is None:
            return False
        return sign * (value - other) > 0 or (bound.inclusive and bool(value == other))

    return meets(join.low, 1) and meets(join.high, -1)


@pytest.mark.parametrize("where", WHERE)
@given(values=rows)
def test_what_is_linked_is_what_was_said(where: str, values: dict[str, Row]) -> None:
    query, gathered = query_over(where), gathered_for(aliases_of(where))
    ranges, conditions = ranges_of(query.graph, gathered), pair_conditions(query.graph, gathered)
    carried = carried_rows(gathered, values)
    met = all(is_within(join, carried) for join in ranges)
    met = met and all(is_true(condition.expression, Context(carried)) for condition in conditions)
    assert met == all(is_true(part, Context(values)) for part in query.where)


def test_a_band_is_one_range_unless_its_bounds_are_compared_in_different_types() -> None:
    (band,), nothing = linked("a.x > b.x AND a.x <= b.v")
    assert nothing == ()
    assert band == RangeJoin(0, "a.x", 1, Bound("b.x", inclusive=False), Bound("b.v", inclusive=True))
    (below, above), _ = linked("a.x BETWEEN b.k AND b.d")
    assert (below.high, above.low) == (None, None)
    assert above.value == "(as DOUBLE a.x)" != below.value


def test_what_is_no_range_is_a_condition_on_the_inputs_that_it_reads() -> None:
    ranges, (condition, between) = linked("a.x <> c.x AND a.x + b.x + c.x > 1")
    assert ranges == ()
    assert (condition.ordinals, between.ordinals) == ((0, 2), (0, 1, 2))
