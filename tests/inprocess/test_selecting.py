"""HAVING, SELECT and CHANGES over what MERGE gives."""

import datetime
import itertools
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from joinfold.arrow import arrow_type
from joinfold.dialect import read_schema
from joinfold.errors import EvaluationError
from joinfold.inprocess.selecting import close_to, equal
from joinfold.physical.shedding import WHOLE
from joinfold.reference import naive
from tests.operators.runs import answered, check, rows
from tests.operators.sampled import WINDOW, Member, merged, sampled_plan

ONE = "[TUMBLE 1 MICROSECOND]"
TEXTS = [{"ts": ts, "s": s} for ts, s in enumerate(["1", "x", "12", "12", "1", "x"])]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("DOUBLE", [0.0, -0.0, 1.0, 1.0 + 2**-51, 1.0 + 2**-48, -1.0, 1e300, -1.7e308, math.nan, math.inf, -math.inf]),
        ("FLOAT", [0.0, 1.0, 1.5, math.nan, math.inf]),
        ("BIGINT", [0, 1, 10**12, 10**12 + 1]),
        ("DECIMAL(12, 10)", [Decimal(1), Decimal("1.0000000001"), Decimal(0)]),
        ("STRING", ["", "x", "X"]),
        ("BINARY", [b"", b"x"]),
        ("BOOLEAN", [True, False]),
        ("DATE", [datetime.date(1970, 1, 1), datetime.date(2024, 2, 29)]),
        ("TIMESTAMP", [0, 1]),
    ],
)
def test_values_change_as_the_definition_says(type_: str, values: list[Any]) -> None:
    (field,) = read_schema(f"v {type_}")
    pairs = list(itertools.product([None, *values], repeat=2))
    old, new = (pa.array([pair[side] for pair in pairs], arrow_type(field.type)) for side in (0, 1))
    assert equal(old, new).tolist() == [not naive.differ(*pair, is_rounded=False) for pair in pairs]
    if type_ == "DOUBLE":
        assert close_to(old, new).tolist() == [not naive.differ(*pair, is_rounded=True) for pair in pairs]


@pytest.mark.parametrize("changes", ["", " CHANGES"])
def test_select_is_not_computed_where_having_is_false(changes: str) -> None:
    text = f"SELECT CAST(MAX(a.s) AS INT) AS n FROM a {ONE}"
    found = check(f"{text} HAVING MAX(a.s) LIKE '1%'{changes}", "s STRING", {"a": TEXTS})
    expected = ["insert", "delete", "insert", "update", "delete"] if changes else [1, 12, 12, 1]
    assert [row[1] for row in found] == expected
    with pytest.raises(EvaluationError):
        answered(text + changes, "s STRING", {"a": TEXTS})


@pytest.mark.parametrize("type_", ["DOUBLE", "BIGINT"])
def test_a_value_that_creeps_is_emitted_at_every_step(type_: str) -> None:
    data = {"a": rows([10**12 + step for step in (0, 1, 2, 2, 3, 4)])}
    found = check(f"SELECT AVG(a.v) AS s FROM a {ONE} CHANGES", f"v {type_}", data)
    assert [row[0] for row in found] == [1, 2, 3, 5, 6, 7]


def test_what_is_deleted_is_shown_as_it_was() -> None:
    data = {"a": [{"ts": ts, "g": g, "v": ts} for ts, g in ((0, "x"), (0, "y"), (1, "y"), (2, None))]}
    found = check(f"SELECT a.g, MAX(a.v) + 1 AS m FROM a {ONE} GROUP BY a.g CHANGES", "g STRING, v BIGINT", data)
    assert sorted(found, key=str) == [
        (1, "insert", "x", 1),
        (1, "insert", "y", 1),
        (2, "delete", "x", 1),
        (2, "update", "y", 2),
        (3, "delete", "y", 2),
        (3, "insert", None, 3),
        (4, "delete", None, 3),
    ]


def test_a_column_of_nulls_and_a_constant() -> None:
    text = f"SELECT NULL AS z, 'c' AS c, COUNT(*) AS n FROM a {ONE} CHANGES"
    found = check(text, "v BIGINT", {"a": rows([1, 2])})
    assert found == [(1, "insert", None, "c", 1), (3, "update", None, "c", 0)]


# --- estimates ----------------------------------------------------------------------------------------------------

ESTIMATE = f"SELECT g, COUNT(*) AS n, MAX(v) AS x {WINDOW} GROUP BY g"
WHOLE_SAMPLE = [Member({"g": "x", "v": 3}), Member({"g": "x", "v": 4})]
HALF = [Member({"g": "x", "v": 4}, (7,))]


def test_an_estimate_is_followed_by_its_bounds_and_kept_is_last() -> None:
    own = sampled_plan(ESTIMATE, "g STRING, v INT")
    assert own.plan.query.schema.names == ("instant", "g", "n", "n_low", "n_high", "x", "x_low", "x_high", "kept")
    found = merged(own, {10: WHOLE_SAMPLE, 20: HALF}, {10: WHOLE, 20: WHOLE // 2})
    assert found == [(10, "x", 2, 2, 2, 4, 4, 4, 1.0), (20, "x", 2, 1, None, 4, 4, None, 0.5)]


def test_bounds_and_kept_alone_are_no_change_and_a_deleted_row_has_its_own() -> None:
    """Two rows, then one that counts for two, then none."""
    own = sampled_plan(f"{ESTIMATE} CHANGES", "g STRING, v INT")
    rates = {0: WHOLE, 10: WHOLE, 20: WHOLE // 2, 30: WHOLE // 4}
    found = merged(own, {10: WHOLE_SAMPLE, 20: HALF}, rates)
    assert found == [(10, "insert", "x", 2, 2, 2, 4, 4, 4, 1.0), (30, "delete", "x", 2, 1, None, 4, 4, None, 0.5)]


def test_having_uses_the_estimate() -> None:
    own = sampled_plan(f"{ESTIMATE} HAVING COUNT(*) > 1", "g STRING, v INT")
    assert len(merged(own, {10: HALF}, {10: WHOLE // 2})) == 1 and merged(own, {10: HALF}, {10: WHOLE - 1}) == []


def test_groups_that_are_complete_are_exact() -> None:
    own = sampled_plan(ESTIMATE, "g STRING, v INT", complete=True)
    assert merged(own, {10: HALF}, {10: WHOLE // 2}) == [(10, "x", 1, 1, 1, 4, 4, 4, 0.5)]
