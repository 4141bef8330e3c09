"""Estimates and bounds from the totals of a sample, against the definition; and where there are none."""

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.emitted import Emitted
from joinfold.operators.stages import estimating
from joinfold.operators.stages.merge import finished
from joinfold.physical.column_names import INSTANT, aggregate_column, bound_columns, kept_column
from joinfold.physical.shedding import WHOLE
from tests.operators.runs import Answers
from tests.operators.sampled import WINDOW, Member, Sampled, defined, merged, sampled_plan, totals_of
from tests.strategies import assert_same_answers

SCHEMA = "k INT, g STRING, v INT, w BIGINT, d DOUBLE, m DECIMAL(12, 2), t TIMESTAMP"
SUMS = """SELECT g, COUNT(*) AS n, COUNT(v) FILTER (WHERE v > 0) AS some, SUM(v) AS s, SUM(w) AS wide, SUM(d) AS real,
          SUM(m) AS money, REGR_COUNT(v, d) AS pairs"""
NUMBERS = """SELECT AVG(v) AS mean, AVG(m) AS price, SUM(v) / COUNT(*) AS ratio, 2 * COUNT(*) + 1 AS more,
             VAR_SAMP(d) AS spread, CORR(v, d) AS corr, SUM(m) * 2 AS money, CAST(AVG(d) AS FLOAT) AS single,
             COUNT(*) FILTER (WHERE v > 0) / COUNT(*) AS share"""
EXTREMES = """SELECT MAX(v) AS largest, MIN(m) AS least, MAX(g) AS word, MAX(v) - MIN(v) AS span, MAX_BY(g, v) AS best,
              BOOL_AND(v > 0) AS always, BIT_OR(v) AS bits, BIT_XOR(v) + 1 AS odd, SUM(v) + MAX(v) AS both"""


def rows_of(seed: int, count: int, groups: int) -> list[dict[str, Any]]:
    """Rows of many keys; NULLs here and there, and numbers of very different sizes."""
    random = np.random.default_rng(seed)

    def some(value: Any) -> Any:
        return None if random.random() < 0.05 else value

    return [
        {
            "k": key,
            "g": "xyz"[random.integers(groups)],
            "v": some(int(random.integers(-3, 9))),
            "w": some(int(random.integers(-9, 10)) * 10 ** int(random.integers(0, 18))),
            "d": some(float(random.normal())),
            "m": some(Decimal(int(random.integers(-999, 9999))) / 100),
            "t": key,
        }
        for key in range(count)
    ]


def members_of(seed: int, count: int, groups: int, axes: int, replicates: int) -> list[Member]:
    random = np.random.default_rng(seed)
    cells = random.integers(-1, replicates, (count, axes)) if axes > 1 else random.integers(-4, replicates, (count, 1))
    return [
        Member(row, tuple(max(int(own), -1) for own in cell))
        for row, cell in zip(rows_of(seed, count, groups), cells, strict=True)
    ]


sizes = st.sampled_from([0, 1, 3, 30, 90, 200])
rates = st.sampled_from([WHOLE - 1, WHOLE // 2, WHOLE // 4, 40_000, 1_000])


@pytest.mark.parametrize("select", [SUMS, NUMBERS, EXTREMES])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), count=sizes, groups=st.integers(1, 3), rate=rates)
def test_a_sample_of_keys_is_estimated_as_defined(select: str, seed: int, count: int, groups: int, rate: int) -> None:
    own = sampled_plan(f"{select} {WINDOW}{' GROUP BY g' if select == SUMS else ''}", SCHEMA)
    instants = {10: members_of(seed, count, groups, 1, 32), 20: [Member(row) for row in rows_of(seed, 20, groups)]}
    by_instant = {10: rate, 20: WHOLE}
    assert_same_answers(defined(own, instants, by_instant), merged(own, instants, by_instant), 1e-6)
