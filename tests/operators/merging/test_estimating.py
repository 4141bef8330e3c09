"""Estimates and bounds from the totals of a sample, against the definition; and where there are none."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.merging.merge import merge
from joinfold.operators.stages import estimating
from joinfold.physical.column_names import aggregate_column
from joinfold.physical.shedding import REPLICATES, WHOLE
from tests.operators.runs import Answers
from tests.operators.sampled import (
    WINDOW,
    Member,
    Sampled,
    assert_same_estimates,
    defined,
    merged,
    sampled_plan,
    totals_of,
)

SCHEMA = "k INT, g STRING, v INT, w BIGINT, d DOUBLE, m DECIMAL(12, 2)"
SUMS = """SELECT g, COUNT(*) AS n, COUNT(v) FILTER (WHERE v > 0) AS some, SUM(v) AS s, SUM(w) AS wide, SUM(d) AS real,
          SUM(m) AS money, REGR_COUNT(v, d) AS pairs"""
NUMBERS = """SELECT AVG(v) AS mean, AVG(m) AS price, SUM(v) / COUNT(*) AS ratio, 2 * COUNT(*) + 1 AS more,
             VAR_SAMP(d) AS spread, CORR(v, d) AS corr, SUM(m) * 2 AS money, CAST(AVG(d) AS FLOAT) AS single,
             COUNT(*) FILTER (WHERE v > 0) / COUNT(*) AS share"""
EXTREMES = """SELECT MAX(v) AS largest, MIN(m) AS least, MAX(g) AS word, MAX(v) - MIN(v) AS span, MAX_BY(g, v) AS best,
              BOOL_AND(v > 0) AS always, BIT_OR(v) AS bits, BIT_XOR(v) + 1 AS odd, SUM(v) + MAX(v) AS both"""

sizes = st.sampled_from([0, 1, 3, 30, 90, 200])
seeds = st.integers(0, 10**6)
queries = pytest.mark.parametrize("select", [SUMS, NUMBERS, EXTREMES], ids=["sums", "numbers", "extremes"])


def rows_of(seed: int, count: int, groups: int = 1) -> list[dict[str, Any]]:
    """Rows of many keys, with NULLs here and there, and numbers of very different sizes."""
    random = np.random.default_rng(seed)

    def some(value: Any) -> Any:
        return None if random.random() < 0.05 else value

    return [
        {
            "k": key,
            "g": "xyz"[random.integers(groups)],
            "v": some(int(random.integers(-3, 9))),
            "w": some(int(random.integers(-9, 10)) * 10 ** int(random.integers(0, 14))),
            "d": some(float(random.normal())),
            "m": some(Decimal(int(random.integers(-999, 9999))) / 100),
        }
        for key in range(count)
    ]


def sample_of_keys(seed: int, count: int, groups: int = 1) -> list[Member]:
    """Rows in 32 replicates; some are certain."""
    replicates = np.random.default_rng(seed).integers(-4, REPLICATES["key"], count)
    return [
        Member(row, (max(int(own), -1),)) for row, own in zip(rows_of(seed, count, groups), replicates, strict=True)
    ]


def sample_of_rows(seed: int, count: int, weight: int) -> list[Member]:
    """Combinations in 8 replicates of each of two inputs: rows of one meet rows of the other."""
    random = np.random.default_rng(seed)
    sides = random.integers(0, REPLICATES["row"], (2, max(count // 4, 1)))
    pairs = random.integers(0, sides.shape[1], (count, 2))
    cells = [(int(sides[0, left]), int(sides[1, right])) for left, right in pairs]
    return [Member(row, cell, weight) for row, cell in zip(rows_of(seed, count), cells, strict=True)]


def query(select: str) -> str:
    return f"{select} {WINDOW}{' GROUP BY g' if select == SUMS else ''}"


# --- against the definition ---------------------------------------------------------------------------------------


@queries
@settings(max_examples=10, deadline=None)
@given(
    seed=seeds,
    count=sizes,
    groups=st.integers(1, 3),
    rate=st.sampled_from([WHOLE - 1, WHOLE // 2, WHOLE // 4, 40_000, 1_000]),
    confidence=st.sampled_from([50.0, 95.0, 99.99]),
)
def test_a_sample_of_keys_is_estimated_as_defined(
    select: str, seed: int, count: int, groups: int, rate: int, confidence: float
) -> None:
    own = sampled_plan(query(select), SCHEMA, confidence=confidence)
    instants = {10: sample_of_keys(seed, count, groups), 20: [Member(row) for row in rows_of(seed, 20, groups)]}
    rates = {10: rate, 20: WHOLE}
    assert_same_estimates(own, defined(own, instants, rates), merged(own, instants, rates))


@queries
@settings(max_examples=6, deadline=None)
@given(seed=seeds, count=sizes, rows_for_one=st.sampled_from([1, 2, 7]))
def test_a_sample_of_rows_is_estimated_as_defined(select: str, seed: int, count: int, rows_for_one: int) -> None:
    """Combinations count for several already. If one row in m is kept, one combination in m² is."""
    own = sampled_plan(query(select), SCHEMA, by_key=False, axes=2)
    members = sample_of_rows(seed, count, rows_for_one**2)
    if rows_for_one == 1:
        members = [Member(member.row, (-1, -1)) for member in members]
    rates = {10: WHOLE // rows_for_one}
    found = merged(own, {10: members}, rates)
    assert_same_estimates(own, defined(own, {10: members}, rates), found)
    assert all(row[-1] == pytest.approx(rows_for_one**-2) for row in found)


@settings(max_examples=8, deadline=None)
@given(seed=seeds, rates=st.lists(st.sampled_from([WHOLE, WHOLE // 2]), min_size=3, max_size=3), by_group=st.booleans())
def test_changes_compare_what_is_selected_and_show_the_bounds_of_now_or_of_before(
    seed: int, rates: list[int], by_group: bool
) -> None:
    text = f"SELECT {'g, ' if by_group else ''}COUNT(*) AS n, SUM(v) AS s {WINDOW} {'GROUP BY g' if by_group else ''}"
    own = sampled_plan(f"{text} HAVING COUNT(*) > 3 CHANGES", SCHEMA)
    counts = np.random.default_rng(seed).integers(0, 60, 3).tolist()
    instants = {
        10 * place: [Member(member.row, member.cell if rate < WHOLE else (-1,)) for member in some]
        for place, (rate, count) in enumerate(zip(rates, counts, strict=True))
        for some in [sample_of_keys(seed, count, 3)]
    }
    by_instant = dict(zip(instants, rates, strict=True))
    expected = [row for row in defined(own, instants, by_instant) if row[0] > 0]
    assert_same_estimates(own, expected, merged(own, instants, by_instant))


@queries
def test_bounds_do_not_depend_on_how_many_groups_are_computed_at_once(
    select: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = sampled_plan(f"{select.replace('SELECT ', 'SELECT k % 7 AS q, ', 1)} {WINDOW} GROUP BY k % 7, g", SCHEMA)
    instants, rates = {10: sample_of_keys(1, 900, 2), 20: sample_of_keys(2, 900, 2)}, {10: WHOLE // 2, 20: WHOLE // 3}
    whole = merged(own, instants, rates)
    monkeypatch.setattr(estimating, "AT_ONCE", 100)
    assert merged(own, instants, rates) == whole


# --- exactness ----------------------------------------------------------------------------------------------------


@queries
@pytest.mark.parametrize("complete", [False, True])
def test_nothing_is_scaled_where_nothing_was_shed_or_groups_are_complete(select: str, complete: bool) -> None:
    """The aggregates are those of any totals, to the last bit, and so are both bounds."""
    own = sampled_plan(query(select), SCHEMA, complete=complete)
    rate = WHOLE // 3 if complete else WHOLE
    members = {10: [Member(row, (place % 32 if complete else -1,)) for place, row in enumerate(rows_of(5, 99, 3))]}
    plain = merge(own.last, [totals_of(own, members)])
    found = merged(own, members, {10: rate})
    selected = own.plan.query.selected
    for number, place in enumerate(selected):
        for row in found:
            value, *rest = row[1 + place : 1 + (selected[number + 1] if number + 1 < len(selected) else len(row) - 2)]
            assert rest == [value] * len(rest)
    counts = plain.column(aggregate_column(0)).to_pylist()
    shown = [row[1 + selected[1 if select == SUMS else 0]] for row in found]
    assert sorted(map(str, counts)) == sorted(map(str, shown))
    assert {row[-1] for row in found} == {rate / WHOLE}


def test_an_instant_of_which_nothing_is_in_the_sample_has_its_answer() -> None:
    """Without GROUP BY. Nothing looks exact: there may be more than none."""
    own = sampled_plan(f"SELECT COUNT(*) AS n, SUM(v) AS s, MAX(v) AS x, AVG(d) AS a {WINDOW}", SCHEMA)
    rates = {10: WHOLE // 4, 20: WHOLE, 30: WHOLE // 4}
    found = merged(own, {30: [Member(rows_of(1, 1)[0], (3,))]}, rates)
    nothing = (None,) * 9
    assert found[0] == (10, 0, 0, None, *nothing, 0.25)
    assert found[1] == (20, 0, 0, 0, *nothing, 1.0)
    assert found[2][1:4] == (4, 1, None)
    assert_same_estimates(own, defined(own, {30: [Member(rows_of(1, 1)[0], (3,))]}, rates), found)


def test_a_maximum_is_a_lower_bound_and_a_minimum_an_upper_bound() -> None:
    own = sampled_plan(f"SELECT MAX(g) AS g, MIN(v) AS v, MAX(v) - MIN(v) AS span {WINDOW}", SCHEMA)
    row = {"k": 1, "g": "x", "v": 5, "w": 1, "d": 0.5, "m": None}
    assert merged(own, {10: [Member(row, (0,))]}, {10: 9}) == [
        (10, "x", "x", None, 5, None, 5, 0, None, None, 9 / WHOLE)
    ]
    assert merged(own, {10: [Member(row)]}, {10: WHOLE}) == [(10, "x", "x", "x", 5, 5, 5, 0, 0, 0, 1.0)]


# --- where there are no bounds ------------------------------------------------------------------------------------

MANY = f"SELECT SUM(d) AS s, AVG(d) AS a, COUNT(d) AS n {WINDOW}"


def many(**other: Any) -> list[Member]:
    """A hundred sampled rows, the first of which has other values."""
    row = {"k": 1, "g": "x", "v": 2, "w": 1, "d": 1.5, "m": Decimal(1)}
    replicates = np.random.default_rng(3).integers(0, 32, 100).tolist()
    return [Member({**row, **(other if not place else {})}, (own,)) for place, own in enumerate(replicates)]


def columns_of(own: Sampled, found: Answers) -> dict[str, Any]:
    (row,) = found
    return dict(zip(own.plan.query.schema.names, row, strict=True))


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -float("inf")])
def test_a_sum_that_is_not_finite_has_no_bounds(special: float) -> None:
    own = sampled_plan(MANY, SCHEMA)
    found = columns_of(own, merged(own, {10: many(d=special)}, {10: WHOLE // 2}))
    assert [found[name] for name in ("s_low", "s_high", "a_low", "a_high")] == [None] * 4
    assert found["n_low"] < found["n"] == 200 < found["n_high"]
    usual = columns_of(own, merged(own, {10: many()}, {10: WHOLE // 2}))
    assert usual["s_low"] < usual["s"] == 300 < usual["s_high"] and usual["a_low"] <= usual["a"] == 1.5


def test_a_number_has_bounds_if_each_of_its_aggregates_has_enough_keys() -> None:
    text = "SELECT COUNT(*) FILTER (WHERE k = {}) / COUNT(*) AS share"
    rare, usual = (sampled_plan(f"{text.format(key)} {WINDOW}", SCHEMA) for key in (2, 1))
    members = {10: [*many(k=2), *many()]}
    assert columns_of(rare, merged(rare, members, {10: WHOLE // 2}))["share_low"] is None
    assert columns_of(usual, merged(usual, members, {10: WHOLE // 2}))["share_low"] is not None


def test_a_number_that_cannot_be_computed_without_some_cell_has_no_bounds() -> None:
    """CAST fails if a part of the sample is left out, since more then counts for it; other groups have their bounds."""
    text = f"SELECT g, CAST(SUM(v) AS TINYINT) AS tiny {WINDOW} GROUP BY g"
    own = sampled_plan(text, SCHEMA)
    rows = [
        *many(),
        *(
            Member({**member.row, "g": "y", "v": 0 if place else 126}, member.cell)
            for place, member in enumerate(many())
        ),
    ]
    members = [
        Member({**member.row, "v": 1 if member.row["g"] == "x" else member.row["v"]}, member.cell) for member in rows
    ]
    found = {row[1]: row[2:5] for row in merged(own, {10: members}, {10: WHOLE - 1})}
    assert found["x"][0] == 100 and None not in found["x"]
    assert found["y"] == (126, None, None)


def test_a_group_that_having_removes_does_not_fail() -> None:
    text = f"SELECT g, CAST(SUM(v) AS TINYINT) AS tiny {WINDOW} GROUP BY g"
    kept = sampled_plan(f"{text} HAVING SUM(v) < 300", SCHEMA)
    assert merged(kept, {10: many()}, {10: WHOLE // 2}) == []
    failing = sampled_plan(text, SCHEMA)
    with pytest.raises(EvaluationError):
        merged(failing, {10: many()}, {10: WHOLE // 2})


def test_bounds_stay_in_the_range_of_their_type() -> None:
    own = sampled_plan(f"SELECT SUM(w) AS s {WINDOW}", SCHEMA)
    members = [Member({**member.row, "w": 9 * 10**16}, member.cell) for member in many()[:90]]
    found = columns_of(own, merged(own, {10: members}, {10: WHOLE * 9 // 10}))
    assert found["s"] > 9 * 10**18 and found["s_high"] == 2**63 - 1
    assert 8 * 10**18 < found["s_low"] < found["s"]


@pytest.mark.parametrize(("by_key", "select"), [(True, SUMS), (True, NUMBERS), (False, SUMS), (False, NUMBERS)])
def test_bounds_are_given_for_a_large_sample(by_key: bool, select: str) -> None:
    own = sampled_plan(query(select), SCHEMA, by_key, axes=1 if by_key else 2)
    members = {10: sample_of_keys(7, 400) if by_key else sample_of_rows(7, 600, 9)}
    rates = {10: WHOLE // 3}
    found = merged(own, members, rates)
    assert_same_estimates(own, defined(own, members, rates), found)
    assert None not in columns_of(own, found).values()
    for name, value in list(columns_of(own, found).items())[2 if select == SUMS else 1 : -1]:
        if not name.endswith(("_low", "_high")):
            low, high = (columns_of(own, found)[f"{name}_{side}"] for side in ("low", "high"))
            assert low < value < high
