"""Arguments and conditions of aggregates: computed only where they count, and wide enough not to overflow."""

from decimal import Decimal
from typing import Any

import pytest

from joinfold.errors import EvaluationError
from joinfold.logical.sql import expression_text
from tests.operators.runs import Data, answered, check, check_stream, plan_of, rows

WINDOW = "[TUMBLE 10 MICROSECOND]"
LARGEST = 2**63 - 1
SMALLEST = -(2**63)
TEXTS = "k INT, s STRING"


def joined(select: str, where: str = "a.k = b.k") -> str:
    return f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE {where}"


def columns_of(text: str, schema: str, ordinal: int = 0) -> list[str]:
    """What Spark computes of an input for its aggregates."""
    frame = plan_of(text, schema).frames[ordinal]
    return [expression_text(column.expression) for column in frame.columns if column.role == "argument"]


# --- conditions that read no input --------------------------------------------------------------------------------

PAIRS: Data = {"a": rows([1, 2, 3], k=1), "b": rows([5, None], k=1)}


@pytest.mark.parametrize(
    "condition", ["1 = 1", "TRUE", "FALSE", "1 > 2", "CAST(NULL AS BOOLEAN)", "NULL", "1 = 1 AND a.v > 1", "NOT FALSE"]
)
def test_a_condition_that_reads_no_input(condition: str) -> None:
    filtered = f"COUNT(*) FILTER (WHERE {condition}) AS f, MAX(b.v) FILTER (WHERE {condition}) AS m"
    found = check(joined(f"COUNT(*) AS n, {filtered}", f"a.k = b.k AND {condition}"), "k INT, v BIGINT", PAIRS)
    assert found[0][1] in (0, 4, 6)
    check(joined(f"COUNT(*) AS n, SUM(a.v) AS s, {filtered}"), "k INT, v BIGINT", PAIRS)
    alone = filtered.replace("b.", "")
    check(f"SELECT COUNT(*) AS n, {alone} FROM a {WINDOW} WHERE {condition}", "k INT, v INT", PAIRS)


def test_a_row_that_a_constant_condition_removes_is_not_late() -> None:
    batches: list[Data] = [{"a": rows([1], k=1, start=ts), "b": rows([1], k=1, start=ts)} for ts in (30, 2, 60)]
    check_stream(joined("COUNT(*) AS n", "a.k = b.k AND 1 = 2"), "k INT, v INT", batches)
    check_stream(joined("COUNT(*) AS n", "a.k = b.k AND 1 = 1"), "k INT, v INT", batches)


# --- what FILTER removes is not computed --------------------------------------------------------------------------

WORDS: Data = {"a": rows(["7", "x", None, "40"], "s", k=1), "b": rows(["1", "y"], "s", k=1)}


@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX", "COUNT", "VAR_POP"])
@pytest.mark.parametrize("where", ["a.s <> 'x'", "a.s <> 'x' AND LENGTH(a.s) > 0", "a.s <> 'x' AND b.s = 'y'"])
def test_an_argument_is_computed_only_where_its_filter_is_true(function: str, where: str) -> None:
    check(joined(f"{function}(CAST(a.s AS INT)) FILTER (WHERE {where}) AS s, COUNT(*) AS n"), TEXTS, WORDS)


def test_arguments_of_both_inputs_are_guarded_by_the_conditions_on_each() -> None:
    select = "SUM(CAST(a.s AS INT) * CAST(b.s AS INT)) FILTER (WHERE a.s <> 'x' AND b.s <> 'y') AS s"
    assert check(joined(select), TEXTS, WORDS)[0][1] == 47


@pytest.mark.parametrize("function", ["SUM", "COUNT", "MIN", "STDDEV_POP"])
@pytest.mark.parametrize("more", ["", " AND LENGTH(a.s) > LENGTH(b.s)"])
def test_arguments_over_combinations_are_guarded_by_all_conditions(function: str, more: str) -> None:
    select = f"{function}(CAST(a.s AS INT) + CAST(b.s AS INT)) FILTER (WHERE a.s <> 'x' AND b.s <> 'y'{more}) AS s"
    assert check(joined(select), TEXTS, WORDS)[0][1] is not None


def test_without_the_filter_the_argument_fails() -> None:
    with pytest.raises(EvaluationError, match="'x' is not a number"):
        answered(joined("SUM(CAST(a.s AS INT)) AS s"), TEXTS, WORDS)


def test_equal_arguments_under_equal_filters_share_a_column() -> None:
    number, large = "CAST(a.s AS INT)", "FILTER (WHERE a.s <> 'x')"
    once = columns_of(joined(f"SUM({number}) {large} AS s"), TEXTS)
    assert columns_of(joined(f"SUM({number}) {large} AS s, AVG({number}) {large} AS m"), TEXTS) == once
    assert len(once) == 2


def test_a_column_of_the_input_is_shared_whatever_the_filters() -> None:
    select = "SUM(a.v) AS s, SUM(a.v) FILTER (WHERE a.v > 1) AS f, AVG(a.v) FILTER (WHERE a.v > 2) AS g"
    assert columns_of(joined(select), "k INT, v INT").count("a.v") == 1


# --- integers inside an argument do not overflow ------------------------------------------------------------------

WIDE = [
    ("SUM(a.v * 4)", [2**62, -(2**62), 3]),
    ("SUM(a.v * a.v - a.v * a.v)", [LARGEST, SMALLEST]),
    ("SUM(a.v + a.v)", [LARGEST, SMALLEST, 3]),
    ("AVG(a.v + 9223372036854775807)", [LARGEST, 1]),
    ("AVG(a.v * a.v)", [LARGEST, SMALLEST, 0]),
    ("SUM((a.v * a.v) % 1000)", [LARGEST, 12345678901]),
    ("SUM(a.v * 2 % 10 + 1)", [LARGEST, SMALLEST]),
    ("AVG(CASE WHEN a.v > 0 THEN a.v * a.v ELSE -1 END)", [LARGEST, -5]),
    ("AVG(COALESCE(a.v + a.v, 0))", [LARGEST, None, 3]),
    ("AVG(GREATEST(a.v * 3, 5))", [LARGEST, SMALLEST]),
    ("AVG(NULLIF(a.v + 1, 6))", [LARGEST, 5]),
    ("SUM(a.v * a.v / 2)", [LARGEST, 3]),
    ("SUM(CASE WHEN a.v * a.v > 9223372036854775807 THEN 1 ELSE 0 END)", [LARGEST, 3]),
    ("COUNT(a.v * a.v)", [LARGEST, None, 3]),
    ("COUNT(a.v) FILTER (WHERE a.v > 3)", [LARGEST, None, 3]),
    ("VAR_POP(a.v * 2)", [LARGEST, SMALLEST]),
    ("SUM(a.v * b.v)", [LARGEST, -LARGEST]),
    ("AVG(a.v * a.v * b.v)", [2**40, -(2**41)]),
    ("SUM(a.v - b.v)", [LARGEST, SMALLEST]),
    ("AVG(a.v * a.v + b.v)", [LARGEST, 3]),
    ("MAX(a.v - b.v)", [SMALLEST, 3]),
    ("SUM(a.v * a.v * 0)", [LARGEST]),
    ("AVG(-a.v)", [SMALLEST, 1]),
    ("AVG(ABS(a.v))", [SMALLEST, -1]),
    ("AVG(ABS(a.v - 5))", [-LARGEST, 7]),
    ("MIN(a.v * a.v)", [2**40, 3]),
    ("MAX(a.v - 1)", [SMALLEST, 3]),
    ("SUM(LENGTH(CAST(a.v * a.v AS STRING)))", [LARGEST, 3]),
]


@pytest.mark.parametrize(("aggregate", "values"), WIDE)
def test_large_integers_are_computed_wide(aggregate: str, values: list[Any]) -> None:
    data = {"a": rows(values, k=1), "b": rows([1, 2], k=1)}
    check(joined(f"{aggregate} AS s"), "k INT, v BIGINT", data)


SMALL = [
    ("SUM(a.v * a.v)", [2**31 - 1, -(2**31)]),
    ("SUM(a.v * a.v * a.v * a.v)", [2**31 - 1, 1 - 2**31, 3]),
    ("AVG(a.v * a.v * a.v)", [2**31 - 1, 2**31 - 1, 3]),
    ("AVG(CASE WHEN a.v > 0 THEN a.v + a.v ELSE 0 END)", [2**31 - 1, 5]),
    ("MAX(a.v + a.v)", [-(2**31), 5]),
    ("SUM(LENGTH(SUBSTRING('abcdef', a.v + 1)))", [1, 2]),
]


@pytest.mark.parametrize(("aggregate", "values"), SMALL)
def test_ints_are_computed_wide(aggregate: str, values: list[int]) -> None:
    data = {"a": rows(values, k=1), "b": rows([1], k=1)}
    if aggregate == "SUM(a.v * a.v * a.v * a.v)":
        with pytest.raises(EvaluationError, match="does not fit BIGINT"):
            answered(joined(f"{aggregate} AS s"), "k INT, v INT", data)
        return
    check(joined(f"{aggregate} AS s"), "k INT, v INT", data)


@pytest.mark.parametrize(
    ("aggregate", "type_", "column"),
    [
        ("SUM(a.v)", "BIGINT", "a.v"),
        ("SUM(a.v * a.v)", "INT", "CAST(a.v AS BIGINT) * a.v"),
        ("SUM(a.v + 1)", "SMALLINT", "CAST(a.v AS BIGINT) + 1"),
        ("SUM(a.v + 1)", "BIGINT", "CAST(a.v AS DECIMAL(19, 0)) + CAST(1 AS DECIMAL(1, 0))"),
        ("SUM(a.v % 10)", "BIGINT", "a.v % 10"),
        ("SUM(a.v * 0.5)", "BIGINT", "a.v * 0.5"),
    ],
)
def test_only_what_could_overflow_is_computed_wide(aggregate: str, type_: str, column: str) -> None:
    assert columns_of(joined(f"{aggregate} AS s"), f"k INT, v {type_}") == [column]


def test_an_extreme_that_does_not_fit_its_type_is_refused() -> None:
    data = {"a": rows([LARGEST, 3], k=1), "b": rows([1], k=1)}
    with pytest.raises(EvaluationError, match=f"^{LARGEST * LARGEST} does not fit BIGINT$"):
        answered(joined("MAX(a.v * a.v) AS s"), "k INT, v BIGINT", data)
    check(joined("MIN(a.v * a.v) AS s"), "k INT, v BIGINT", data)


def test_decimals_keep_their_types() -> None:
    data = {"a": rows([Decimal("1.50"), Decimal("-2.25")], k=1), "b": rows([Decimal(1)], k=1)}
    check(joined("SUM(a.v * a.v + a.k) AS s, AVG(a.v * a.k) AS m"), "k INT, v DECIMAL(10, 2)", data)


# --- what looks at combinations looks at those that exist ---------------------------------------------------------


@pytest.mark.parametrize("method", ["ic", "tc", "pc"])
@pytest.mark.parametrize(("select", "value"), [("SUM(CAST(CONCAT(a.s, b.s) AS INT)) AS s", 55), ("COUNT(*) AS n", 1)])
def test_rows_that_enter_do_not_meet_rows_that_leave(method: str, select: str, value: int) -> None:
    """'1' is followed by 'x' in the same move: together they are no number, but they are never together."""
    where = "a.k = b.k AND CAST(CONCAT(a.s, b.s) AS INT) > 0"
    first, second = [{"ts": 1, "k": 1, "s": "1"}], [{"ts": 12, "k": 1, "s": "x"}]
    last = [{"ts": 21, "k": 1, "s": "5"}]
    for data in ({"a": first + last, "b": second + last}, {"a": second + last, "b": first + last}):
        found = check(f"{joined(select, where)} OPTION (method = {method})", TEXTS, data)
        assert (30, value) in found


@pytest.mark.parametrize("emit", ["", "EMIT ON ARRIVAL"])
@pytest.mark.parametrize("method", ["", "OPTION (method = pc)"])
def test_extremes_of_combinations_that_fall_into_an_ever_smaller_gap(emit: str, method: str) -> None:
    """Each word lies between the two before it, so the labels between neighbours are used up on the way."""
    words = ["a" * (ordinal + 1) + ("z" if ordinal % 2 else "") for ordinal in range(60)]
    window = "[1 SECOND]" if emit else "[100 MICROSECOND SLIDE 1 MICROSECOND]"
    text = f"SELECT MAX(CONCAT(a.s, b.s)) AS m, MIN(CONCAT(a.s, b.s)) AS l FROM a {window}, b {window} WHERE a.k = b.k"
    batches: list[Data] = [
        {"a": rows([word], "s", ts, k=1), "b": rows(["!"], "s", ts, k=1)} for ts, word in enumerate(words)
    ]
    check_stream(f"{text} {emit} {method}", TEXTS, batches)
