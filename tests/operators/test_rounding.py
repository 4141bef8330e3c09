"""Rounding errors are no answers: a moment within its error is 0, and CHANGES does not report what rounding makes."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from joinfold.algebra import AGGREGATES
from joinfold.inprocess import InProcess
from joinfold.physical.stage import Merge
from joinfold.reference import duck, naive
from tests.operators.runs import Answers, Data, answer, answered, check, check_stream, feed, plan_of, rows
from tests.strategies import assert_same_answers

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
DOUBLES = "k INT, v DOUBLE"
SUMS = ("SUM(a.v)", "AVG(b.v)", "SUM(a.v * b.v)")
STATISTICS = (
    *("VAR_POP(a.v)", "VAR_SAMP(b.v)", "STDDEV_POP(a.v)", "COVAR_POP(a.v, b.v)", "COVAR_SAMP(a.v, b.v)"),
    *("CORR(a.v, b.v)", "REGR_SLOPE(a.v, b.v)", "SKEWNESS(a.v)", "KURTOSIS(b.v)"),
)
magnitudes = st.sampled_from([0.0, 1e-8, 0.1, 0.3, 1.0, 1e8, 1e20, 1e30])
doubles = st.builds(lambda size, factor: size * factor, magnitudes, st.sampled_from([-1.0, 0.7, 1.0]))
streams = st.lists(doubles, min_size=1, max_size=14)


def joined(select: str, tail: str = "") -> str:
    return f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k{tail}"


def pair(left: Sequence[float], right: Sequence[float]) -> Data:
    return {"a": rows(left, k=1), "b": rows(right, k=1)}


# --- a moment within its error is 0 -------------------------------------------------------------------------------


@pytest.mark.parametrize("giant", [1e6, 1e8, 1e12, 1e20])
def test_the_deviation_of_one_remaining_value_is_0(giant: float) -> None:
    data = {"a": rows([giant / 3, 0.1, giant / 7, None, None, None, 0.1], k=1)}
    text = f"SELECT STDDEV_POP(v) AS d, VAR_POP(v) AS w, COUNT(v) AS n FROM a {WINDOW}"
    single = [row for row in answered(text, DOUBLES, data) if row[3] == 1]
    assert len(single) > 2 and all(row[1:3] == (0.0, 0.0) for row in single)


@given(value=st.sampled_from([0.1, 1 / 3, 1e-7, 123456.789]), count=st.integers(1, 30), giant=magnitudes)
def test_equal_values_have_no_variance_and_no_covariance(value: float, count: int, giant: float) -> None:
    left, right = [giant, *[value] * count], [giant / 3, -giant, *[0.7 * value] * count]
    found = answered(
        joined("VAR_POP(a.v) AS w, COVAR_POP(a.v, b.v) AS c, CORR(a.v, b.v) AS r"), DOUBLES, pair(left, right)
    )
    assert all(row[1:] == (0.0, 0.0, None) for row in found if 5 < row[0] <= count + 1)


# --- CHANGES ------------------------------------------------------------------------------------------------------


def test_a_covariance_that_stays_0_is_no_change() -> None:
    found = check(joined("COVAR_POP(a.v, b.v) AS c", " CHANGES"), DOUBLES, pair([0.1] * 20, [0.3] * 20))
    assert [row[1:] for row in found] == [("insert", 0.0), ("update", None)]


def test_a_value_is_compared_with_the_instant_before() -> None:
    """Each step is less than a billionth of the value. All of them are reported, as a consumer adds them up."""
    text = f"SELECT AVG(v) AS m FROM a {WINDOW} CHANGES"
    for type_ in ("BIGINT", "DOUBLE"):
        found = check(text, f"k INT, v {type_}", {"a": rows([10**12 + step for step in range(20)], k=1)})
        assert len(found) == 25 - 1


def exceeds(aggregate: str, old: float, new: float, weight: float) -> bool:
    """Whether two exact values differ by more than twice the bound of the page."""
    if aggregate in SUMS:
        return abs(old - new) > 2e-9 * weight
    return abs(old - new) > 2e-6 * max(abs(old), abs(new)) + 1e-9 * weight


def weights(aggregate: str, data: Data) -> dict[Any, float]:
    """The sums of the absolute values at each instant; for other moments, the squares of the largest values."""
    if aggregate not in SUMS:
        largest = max((abs(row["v"]) for own in data.values() for row in own), default=0.0)
        return dict.fromkeys(range(-1, 40), max(largest, 1.0) ** 2)
    text = joined(aggregate.replace("a.v", "ABS(a.v)").replace("b.v", "ABS(b.v)") + " AS w")
    return {row[0]: row[1] or 0.0 for row in naive.answers(plan_of(text, DOUBLES).query, data)}


def check_changes(aggregate: str, data: Data, found: Answers) -> None:
    """Exact values that are equal are no change; what differs by more than twice the bound is one."""
    exact = naive.answers(plan_of(joined(f"{aggregate} AS s"), DOUBLES).query, data)
    updated = {row[0] for row in found}
    weight = weights(aggregate, data)
    for (_, old), (instant, new) in itertools.pairwise(exact):
        if old == new or (None not in (old, new) and math.isnan(old) and math.isnan(new)):
            assert instant not in updated, (instant, old)
        elif old is None or new is None:
            assert instant in updated
        elif exceeds(aggregate, old, new, max(weight[instant], weight[instant - 1])):
            assert instant in updated, (instant, old, new)


@pytest.mark.parametrize("aggregate", [*SUMS, *STATISTICS])
def test_changes_are_those_of_the_exact_values(aggregate: str) -> None:
    @settings(settings.get_profile(settings.get_current_profile_name()))
    @given(left=streams, right=streams)
    @example(left=[1e20, 0.1, 0.3, -0.1, 0.1, 0.1, 0.1, 0.1], right=[0.1] * 9)
    @example(left=[0.1] * 9, right=[1e30, 0.1, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    def hold(left: list[float], right: list[float]) -> None:
        data = pair(left, right)
        check_changes(aggregate, data, answered(joined(f"{aggregate} AS s", " CHANGES"), DOUBLES, data))

    hold()


@given(left=streams, right=streams, aggregate=st.sampled_from([*SUMS, *STATISTICS]))
def test_changes_do_not_depend_on_batches(left: list[float], right: list[float], aggregate: str) -> None:
    text, data = joined(f"{aggregate} AS s", " CHANGES"), pair(left, right)
    at_once, machine, found = answered(text, DOUBLES, data), InProcess(plan_of(text, DOUBLES), 2), []
    for at in range(0, 15, 5):
        feed(machine, {name: own[at : at + 5] for name, own in data.items()})
        found += answer(machine)
    assert [row[:2] for row in found] == [row[:2] for row in at_once][: len(found)]


def test_the_references_agree_on_changes_of_statistics() -> None:
    data = pair([0.1, 0.3, 0.1, 0.1, 0.1, 0.7, 0.1, 0.1, 0.1, 0.1], [0.3, 0.3, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.9, 0.2])
    for aggregate in (*SUMS, *STATISTICS):
        query = plan_of(joined(f"{aggregate} AS s", " CHANGES"), DOUBLES).query
        expected = naive.answers(query, data)
        assert_same_answers(expected, duck.answers(query, data))
        check_stream(joined(f"{aggregate} AS s", " CHANGES"), DOUBLES, [data])


@pytest.mark.parametrize("type_", ["BIGINT", "DECIMAL(9, 2)", "DOUBLE"])
@pytest.mark.parametrize("name", [name for name, entry in AGGREGATES.items() if entry.is_number(0)])
def test_planner_and_query_agree_on_what_is_rounded(name: str, type_: str) -> None:
    entry = AGGREGATES[name]
    if entry.signature.noun == "integers" and type_ != "BIGINT":
        return
    arguments = ", ".join(("a.v", "b.v")[: entry.arities[-1]])
    plan = plan_of(joined(f"{name}({arguments}) AS s"), f"k INT, v {type_}")
    assert isinstance(plan.pipeline.last, Merge)
    assert [own.is_rounded for own in plan.query.aggregates] == [
        not own.is_exact for own in plan.pipeline.last.aggregates
    ]
