"""Numbers at their limits: overflow, NaN and infinities that come and go, sums that nearly cancel."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.reference import naive
from tests.operators.runs import answer, answered, check, feed, plan_of, rows, tuples

LARGEST = 2**63 - 1
SMALLEST = -(2**63)
WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
BIGINTS, DOUBLES = "k INT, v BIGINT", "k INT, v DOUBLE"


def joined(select: str) -> str:
    return f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"


def single(select: str, window: str = WINDOW) -> str:
    return f"SELECT {select} FROM a {window}"


# --- integers and decimals are exact, or refused ------------------------------------------------------------------


def test_a_sum_that_fits_although_the_sums_on_the_way_do_not() -> None:
    values = [LARGEST, LARGEST, SMALLEST, SMALLEST, 5, LARGEST, -5, SMALLEST]
    found = check(single("SUM(v) AS s, AVG(v) AS m", "[TUMBLE 8 MICROSECOND]"), BIGINTS, {"a": rows(values, k=1)})
    assert found[0][1] == sum(values)


@pytest.mark.parametrize("values", [[LARGEST, 1], [SMALLEST, -1]])
def test_a_sum_that_does_not_fit_is_refused(values: list[int]) -> None:
    with pytest.raises(EvaluationError, match=f"^{sum(values)} does not fit BIGINT$"):
        answered(single("SUM(v) AS s"), BIGINTS, {"a": rows(values, k=1)})


def test_products_of_large_integers_are_exact() -> None:
    left, right = [LARGEST, SMALLEST, LARGEST, 3, -4], [LARGEST, -LARGEST, 2**40, SMALLEST, 7]
    data = {"a": rows(left, k=1), "b": rows(right, k=1)}
    check(joined("AVG(a.v * b.v) AS m"), BIGINTS, data)
    with pytest.raises(EvaluationError, match=f"^{LARGEST * LARGEST} does not fit BIGINT$"):
        answered(joined("SUM(a.v * b.v) AS s"), BIGINTS, data)
    cancelling = {"a": rows([2**40, -(2**40) + 1], k=1), "b": [{"ts": 1, "k": 1, "v": 2**40}]}
    found = check(joined("SUM(a.v * b.v) AS s") + " EMIT EVERY 2 MICROSECONDS", BIGINTS, cancelling)
    assert found[0] == (2, 2**40)


def test_decimals_of_38_digits() -> None:
    largest = Decimal("9" * 34 + ".9999")
    values = [largest, largest.copy_negate(), largest, Decimal("-0.0001"), None, Decimal("0.0001")]
    data = {"a": rows(values, k=1), "b": rows([Decimal(1), Decimal(-1)], k=1)}
    found = check(joined("SUM(a.v) AS s"), "k INT, v DECIMAL(38, 4)", {**data, "b": data["b"][:1]})
    assert found[0] == (1, largest)
    with pytest.raises(EvaluationError, match="does not fit DECIMAL"):
        answered(
            joined("SUM(a.v) AS s"), "k INT, v DECIMAL(38, 4)", {"a": rows([largest, largest], k=1), "b": data["b"]}
        )


def test_averages_and_products_of_decimals_round_once() -> None:
    left = [Decimal(text) for text in ("1.0001", "2.0000", "-7.7777", "99999999.9999")]
    right = [Decimal(text) for text in ("0.3333", "-99999999.9999", "0.0000")]
    data = {"a": rows(left, k=1), "b": rows([*right, None], k=1)}
    check(joined("AVG(a.v) AS m, SUM(a.v * b.v) AS s, AVG(a.v * b.v) AS p"), "k INT, v DECIMAL(12, 4)", data)


# --- NaN and infinities leave with their rows ---------------------------------------------------------------------

SPECIAL = [1.0, math.inf, 2.0, math.nan, 3.0, -math.inf, math.inf, 0.0, 1.5, 0.1, 0.2, -0.3, 7.0]
PARTNER = [0.0, 2.0, math.inf, -1.0, math.nan, 1.0, 1.0, 1.0, -0.0, 2.0, 1.0]


@pytest.mark.parametrize(
    "aggregate",
    [
        *("SUM(a.v)", "AVG(a.v)", "SUM(a.v * b.v)", "AVG(a.v * b.v)", "MIN(a.v)", "MAX(b.v)", "VAR_POP(a.v)"),
        *("VAR_SAMP(a.v * b.v)", "STDDEV_SAMP(b.v)", "COVAR_POP(a.v, b.v)", "CORR(a.v, b.v)", "REGR_SLOPE(a.v, b.v)"),
        *("REGR_INTERCEPT(a.v, b.v)", "SUM(a.v) FILTER (WHERE b.v > 0)"),
    ],
)
def test_nan_and_infinities_come_and_go(aggregate: str) -> None:
    data = {"a": rows(SPECIAL, k=1), "b": rows(PARTNER, k=1)}
    check(joined(f"{aggregate} AS s, COUNT(*) AS n"), DOUBLES, data)
    check(joined(f"a.v, {aggregate} AS s") + " GROUP BY a.v", DOUBLES, data)


def test_a_sum_that_overflows_is_finite_again_when_its_rows_have_left() -> None:
    values = [1.7e308, 1.7e308, 1.0, 2.0, 3.0, 0.5, 0.25, 0.125]
    found = dict(check(single("SUM(v) AS s"), DOUBLES, {"a": rows(values, k=1)}))  # type: ignore[arg-type]
    assert found[3] == math.inf and found[6] == 1.0 + 2.0 + 3.0 + 0.5


def test_a_variance_that_overflows_is_infinite_while_it_does() -> None:
    values = [1.0, 1e300, 2.0, 3.0, 4.0, 5.0, 6.0]
    found = check(single("VAR_POP(v) AS s, STDDEV_SAMP(v) AS d"), DOUBLES, {"a": rows(values, k=1)})
    assert found[1][1] == math.inf and found[-1][1] is None


# --- sums that nearly cancel --------------------------------------------------------------------------------------


@pytest.mark.parametrize("giant", [1e16, 1e30, -1e100, 1e300])
@pytest.mark.parametrize("aggregate", ["SUM(a.v)", "AVG(a.v * b.v)", "SUM(b.v)"])
def test_giants_leave_nothing_behind(giant: float, aggregate: str) -> None:
    values = [1.0, giant, 2.0, 3.0, giant / 3, 5.0, 1e-5, 7.0, 1e-20, 1.0, 1.5, 2.5]
    check(joined(f"{aggregate} AS s"), DOUBLES, {"a": rows(values, k=1), "b": rows([0.1] * 11, k=1)}, tolerance=1e-12)


@pytest.mark.parametrize("giant", [1e30, -1e100, 1e300, 1.7e308])
@pytest.mark.parametrize("aggregate", ["SUM(a.v)", "AVG(b.v)", "SUM(a.v + b.v)"])
@pytest.mark.parametrize("option", ["method = tc", "method = tc, early = none", "method = pc", "index = 'a list'"])
def test_giants_leave_nothing_behind_whatever_the_plan(giant: float, aggregate: str, option: str) -> None:
    values = [1.0, giant, giant, 2.0, 3.0, giant / 3, 5.0, 1e-5, 7.0, 1e-20, 1.0, 1.5, 2.5]
    data = {"a": rows(values, k=1), "b": rows([0.1] * 11, k=1)}
    check(joined(f"{aggregate} AS s") + f" OPTION ({option})", DOUBLES, data, tolerance=1e-12)


def test_a_giant_that_never_met_a_partner_leaves_nothing_behind() -> None:
    """Its key's sum was large, no group's was: the drift of what is summed by key counts too."""
    left = rows([1e40, 1e20 / 3, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], k=1)  # of 1e40 + 1e20/3 nothing is left for 0.1
    check(joined("SUM(a.v) AS s"), DOUBLES, {"a": left, "b": rows([1.0, 1.0], k=1, start=6)}, tolerance=1e-12)


def test_a_spread_that_is_a_millionth_of_the_mean() -> None:
    values = [1e6 + step for step in (-1.0, 1.0, 0.5, -0.5, 2.0, -2.0, 0.0, 1.0, -1.5)]
    other = [-1e6 + step for step in (1.0, 0.25, -1.0, 0.5, 1.0, -2.0, 1.0, 0.0)]
    names = "VAR_POP(a.v) VAR_SAMP(a.v) STDDEV_POP(b.v) COVAR_SAMP(a.v,b.v) CORR(a.v,b.v) REGR_SLOPE(a.v,b.v)".split()
    select = ", ".join(f"{name} AS o{ordinal}" for ordinal, name in enumerate(names))
    check(joined(select), DOUBLES, {"a": rows(values, k=1), "b": rows(other, k=1)}, tolerance=1e-6)


def test_a_window_that_slid_a_hundred_thousand_times() -> None:
    """Values of all sizes go through a group that never empties; the sum is as if it had been added up now."""
    plan = plan_of(single("SUM(v) AS s", "[50 MICROSECOND SLIDE 10 MICROSECOND]"), DOUBLES)
    random = np.random.default_rng(7)
    count = 100_000
    values = random.standard_normal(count) * 10.0 ** random.integers(-8, 17, count)
    values[-200:] = random.standard_normal(200) * 1e-8
    times = pa.array(np.arange(count), pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": times, "v": values})
    machine = InProcess(plan)
    found: list[tuple[Any, ...]] = []
    for start in range(0, count, 20_000):
        machine.feed({"a": table.slice(start, 20_000)})
        found += tuples(machine.answer())
    for instant, total in found[:: max(1, len(found) // 500)] + found[-10:]:
        content = values[max(0, instant - 50) : instant]
        exact = sum(map(Fraction, content.tolist()), Fraction(0))
        assert abs(Fraction(total) - exact) <= Fraction(1e-9) * Fraction(float(np.abs(content).sum()))


def test_ordinary_sums_are_not_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups whose values are often zero, or cancel, cost nothing extra."""
    monkeypatch.setattr(Fold, "rebuild", lambda fold: pytest.fail("rebuilt"))
    random = np.random.default_rng(7)
    left = [{"ts": ts, "k": 1, "v": float(v)} for ts, v in enumerate(random.choice([0.0, 0.0, 0.1, -0.1, 1e6], 300))]
    right = [{"ts": ts, "k": 1, "v": float(v)} for ts, v in enumerate(random.choice([0.0, 0.3, -0.3], 300))]
    found = answered(joined("SUM(a.v) AS s, VAR_POP(a.v) AS v, CORR(a.v, b.v) AS c"), DOUBLES, {"a": left, "b": right})
    assert 0.0 in {row[1] for row in found}


# --- many combinations --------------------------------------------------------------------------------------------


def multiplied(machine: InProcess, count: int) -> None:
    """Makes every live entry one of ``count`` rows of the same value."""
    for fold in machine.buckets:
        assert isinstance(fold, Fold)
        for intake in fold.intakes.values():
            for entries in intake.cells.all():
                entries.payload = entries.payload._replace(ints=entries.payload.ints * count)


@pytest.mark.parametrize(("count", "value"), [(10**6, 7), (10**6, -(2**20)), (2 * 10**9, 1)])
def test_sums_over_very_many_combinations(count: int, value: int) -> None:
    machine = InProcess(plan_of(joined("COUNT(*) AS n, SUM(a.v) AS s, AVG(b.v) AS m"), BIGINTS))
    feed(machine, {"a": rows([value], k=1), "b": rows([value], k=1)})
    multiplied(machine, count)
    assert answer(machine, to_the_end=True)[0] == (1, count**2, value * count**2, float(value))


@pytest.mark.parametrize("method", ["ic", "tc", "pc"])
def test_what_fits_is_not_refused_when_it_leaves(method: str) -> None:
    machine = InProcess(plan_of(joined("COUNT(*) AS n") + f" OPTION (method = {method}, early = none)", BIGINTS))
    feed(machine, {"a": rows([1], k=1), "b": rows([1], k=1)})
    multiplied(machine, 2**31)
    assert [row[1] for row in answer(machine, to_the_end=True)] == [2**62] * 4 + [0]


magnitudes = st.sampled_from([0.0, 1e-30, 1e-8, 0.1, 1.0, 1e8, 1e30, 1e150, math.inf, math.nan])
doubles = st.builds(lambda size, factor: size * factor, magnitudes, st.sampled_from([-1.0, -0.3, 0.7, 1.0]))


@given(left=st.lists(doubles, min_size=1, max_size=25), right=st.lists(doubles, min_size=1, max_size=25))
def test_no_sum_is_wrong_by_more_than_a_billionth_of_what_it_sums(left: list[float], right: list[float]) -> None:
    text = joined("SUM(a.v * b.v) AS s, SUM(ABS(a.v) * ABS(b.v)) AS w, SUM(b.v) AS t, SUM(ABS(b.v)) AS x")
    data = {"a": rows(left, k=1), "b": rows(right, k=1)}
    expected = {row[0]: row[1:] for row in naive.answers(plan_of(text, DOUBLES).query, data)}
    found = {row[0]: row[1:] for row in answered(text, DOUBLES, data)}
    assert found.keys() == expected.keys()
    for instant, (product, products, total, totals) in expected.items():
        for exact, weight, value in ((product, products, found[instant][0]), (total, totals, found[instant][2])):
            if exact is None or not math.isfinite(weight):
                assert value == exact or (math.isnan(value) and math.isnan(exact))
            else:
                assert abs(value - exact) <= 1e-9 * weight
