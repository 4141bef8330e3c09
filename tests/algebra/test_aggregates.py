"""Every entry of AGGREGATES equals its definition, over rows and over joins that are never built."""

import doctest
import math
import pickle
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import joinfold.algebra
from joinfold.algebra import AGGREGATES, ALIASES, Argument
from joinfold.types import BIGINT, DOUBLE, FLOAT, INT, INTERVAL, STRING, VOID, DataType, decimal

from .answers import EXTREMA, MOMENTS, answer, extremum_of, finished, monomials
from .basis import Basis
from .definitions import DIRECT, same
from .moments import fold

Input = Sequence[Mapping[str, Any]]
NAMES = sorted(AGGREGATES)
MOMENT_NAMES = sorted(aggregate.name for aggregate in MOMENTS)
FOLDED_NAMES = sorted(aggregate.name for aggregate in (*MOMENTS, *EXTREMA))

FACTORS = {"a": ("a.x", "a.y"), "b": ("b.x", "b.y"), "c": ("c.x",)}
LAYOUTS: dict[int, tuple[tuple[Argument, ...], ...]] = {
    0: ((),),
    1: ((("a.x",),), (("b.x",),), (("a.x", "b.x"),), (("a.x", "b.y", "c.x"),), (("a.x", "a.x", "b.x"),)),
    2: (
        (("a.x",), ("a.y",)),
        (("a.x",), ("b.y",)),
        (("b.x",), ("a.y",)),
        (("a.x", "b.x"), ("c.x",)),
        (("a.x",), ("a.x", "b.y")),
        (("c.x",), ("c.x",)),
    ),
}
"""Arguments on one, two and three inputs, products over inputs, and a factor that occurs more than once."""

values = st.none() | st.integers(-9, 9)


def inputs(most: int) -> st.SearchStrategy[list[Input]]:
    return st.tuples(
        *(st.lists(st.fixed_dictionaries(dict.fromkeys(names, values)), max_size=most) for names in FACTORS.values())
    ).map(list)


def layouts(name: str) -> list[tuple[Argument, ...]]:
    several = AGGREGATES[name] in MOMENTS
    return [
        arguments
        for arity in AGGREGATES[name].arities
        for arguments in LAYOUTS[arity]
        if several or len(arguments[0]) == 1
    ]


def argument_value(row: Mapping[str, Any], argument: Argument) -> Any:
    factors = [row[factor] for factor in argument]
    return None if None in factors else math.prod(factors)


def joined(rows_of_inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """The join itself, which the engine does not build."""
    return [{k: v for row in rows for k, v in row.items()} for rows in product(*rows_of_inputs)]


def direct(name: str, arguments: tuple[Argument, ...], rows: Input) -> Any:
    return DIRECT[name]([tuple(argument_value(row, argument) for argument in arguments) for row in rows])


@cache
def basis_of(name: str, arguments: tuple[Argument, ...], filters: Argument = ()) -> Basis:
    return Basis.spanning(monomials(AGGREGATES[name], arguments, filters))


def through_payloads(name: str, arguments: tuple[Argument, ...], rows_of_inputs: Sequence[Input]) -> Any:
    aggregate = AGGREGATES[name]
    if aggregate in EXTREMA:
        ((factor,),) = arguments
        home = list(FACTORS).index(factor[0])
        others = math.prod(len(rows) for place, rows in enumerate(rows_of_inputs) if place != home)
        return extremum_of(aggregate, (row[factor] for row in rows_of_inputs[home])).times(others).value
    basis = basis_of(name, arguments)
    a, b, c = (fold(basis, rows) for rows in rows_of_inputs)
    return answer(aggregate, a * b * c, arguments)


def test_the_example_of_the_room_runs() -> None:
    results = doctest.testmod(joinfold.algebra)
    assert results.attempted > 0
    assert results.failed == 0


def test_every_aggregate_has_a_definition() -> None:
    assert AGGREGATES.keys() == DIRECT.keys()
    assert all(name == aggregate.name for name, aggregate in AGGREGATES.items())


@pytest.mark.parametrize("name", FOLDED_NAMES)
@given(rows=st.lists(st.fixed_dictionaries({"a.x": values, "a.y": values}), max_size=12))
@example(rows=[])
@example(rows=[{"a.x": 3, "a.y": 4}])
@example(rows=[{"a.x": None, "a.y": None}])
@example(rows=[{"a.x": 1, "a.y": None}, {"a.x": -1, "a.y": 2}])
def test_an_aggregate_of_rows_is_its_definition(name: str, rows: Input) -> None:
    for arguments in [(("a.x",), ("a.y",))[:arity] for arity in AGGREGATES[name].arities]:
        found = through_payloads(name, arguments, [rows, [{}], [{}]])
        assert same(found, direct(name, arguments, rows)), (arguments, found)


@pytest.mark.parametrize("name", FOLDED_NAMES)
@given(rows_of_inputs=inputs(most=3))
def test_an_aggregate_over_a_join_is_the_product_of_the_inputs(name: str, rows_of_inputs: list[Input]) -> None:
    for arguments in layouts(name):
        found = through_payloads(name, arguments, rows_of_inputs)
        assert same(found, direct(name, arguments, joined(rows_of_inputs))), (arguments, found)


@given(rows_of_inputs=inputs(most=3))
def test_a_filter_is_a_factor_that_is_null_where_the_predicate_is_not_true(
    rows_of_inputs: list[Input],
) -> None:
    a, b, c = rows_of_inputs
    marked = [{**row, "c.kept": 1 if (row["c.x"] or 0) > 0 else None} for row in c]
    kept = joined([a, b, [row for row in c if (row["c.x"] or 0) > 0]])
    for name in MOMENT_NAMES:
        for arguments in LAYOUTS[AGGREGATES[name].arities[-1]][:2]:
            basis = basis_of(name, arguments, filters=("c.kept",))
            payload = fold(basis, a) * fold(basis, b) * fold(basis, marked)
            found = answer(AGGREGATES[name], payload, arguments, filters=("c.kept",))
            assert same(found, direct(name, arguments, kept)), (name, arguments, found)


@pytest.mark.parametrize(
    ("name", "of_nothing", "of_one", "of_one_twice"),
    [
        ("count", 0, 1, 2),
        ("sum", None, 7, 14),
        ("avg", None, 7.0, 7.0),
        ("min", None, 7, 7),
        ("max", None, 7, 7),
        ("var_pop", None, 0.0, 0.0),
        ("var_samp", None, None, 0.0),
        ("stddev_pop", None, 0.0, 0.0),
        ("stddev_samp", None, None, 0.0),
        ("covar_pop", None, 0.0, 0.0),
        ("covar_samp", None, None, 0.0),
        ("skewness", None, None, None),
        ("kurtosis", None, None, None),
        ("regr_count", 0, 1, 2),
        ("regr_r2", None, None, None),
        ("corr", None, None, None),
        ("regr_slope", None, None, None),
        ("regr_intercept", None, None, None),
    ],
)
def test_of_nothing_of_one_row_and_of_a_constant(name: str, of_nothing: Any, of_one: Any, of_one_twice: Any) -> None:
    row = {"a.x": 7, "a.y": 8}
    arguments = (("a.x",), ("a.y",))[: AGGREGATES[name].arities[-1]]
    answers = [through_payloads(name, arguments, [rows, [{}], [{}]]) for rows in ([], [row], [row, row])]
    assert answers == [of_nothing, of_one, of_one_twice]


@given(rows=st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=9))
def test_truth_and_bits_from_their_counts(rows: list[int | None]) -> None:
    present = [value for value in rows if value is not None]
    bits = [sum(value >> bit & 1 for value in present) for bit in range(32)]
    for name in ("bit_and", "bit_or", "bit_xor"):
        assert finished(AGGREGATES[name], [len(present), *bits]) == DIRECT[name]([(value,) for value in rows])
    for name in ("bool_and", "bool_or"):
        truths = [(None if value is None else value > 0,) for value in rows]
        positive = sum(value > 0 for value in present)
        assert finished(AGGREGATES[name], [len(present), positive]) == DIRECT[name](truths)


def test_rows_plus_one_and_minus_one_sum_to_0_and_are_not_nothing() -> None:
    rows = [{"a.x": 1}, {"a.x": -1}]
    assert through_payloads("sum", (("a.x",),), [rows, [{}], [{}]]) == 0
    assert through_payloads("sum", (("a.x",),), [rows, [], [{}]]) is None
    assert through_payloads("sum", (("a.x",),), [[{"a.x": None}], [{}], [{}]]) is None


def test_count_of_a_column_asks_only_for_presence_and_count_of_rows_not_even_for_that() -> None:
    rows: Input = [{"a.x": "red"}, {"a.x": None}, {"a.x": math.nan}]
    assert through_payloads("count", (("a.x",),), [rows, [{}], [{}]]) == 2
    assert through_payloads("count", (), [rows, [{}], [{}]]) == 3


def test_regression_has_the_dependent_variable_first() -> None:
    rows = [{"a.x": 2 * x + 5, "a.y": x} for x in (1, 2, 4)]
    arguments = (("a.x",), ("a.y",))
    assert through_payloads("regr_slope", arguments, [rows, [{}], [{}]]) == 2.0
    assert through_payloads("regr_intercept", arguments, [rows, [{}], [{}]]) == 5.0
    constant = [{"a.x": 3, "a.y": x} for x in (1, 2)]
    assert through_payloads("regr_slope", arguments, [constant, [{}], [{}]]) == 0.0
    assert through_payloads("corr", arguments, [constant, [{}], [{}]]) is None


def test_decimals_stay_exact_beyond_the_context_of_their_thread() -> None:
    wide = Decimal("12345678901234567890123456789012345.678")
    rows = [{"a.x": wide}, {"a.x": Decimal("0.001")}]
    total = through_payloads("sum", (("a.x",),), [rows, [{}], [{}]])
    assert total == Fraction("12345678901234567890123456789012345.679")
    assert through_payloads("avg", (("a.x",),), [rows, [{}], [{}]]) == total / 2


@pytest.mark.parametrize("name", NAMES)
def test_an_aggregate_crosses_processes(name: str) -> None:
    assert pickle.loads(pickle.dumps(AGGREGATES[name])) == AGGREGATES[name]


@pytest.mark.parametrize("name", MOMENT_NAMES)
def test_the_moments_of_an_aggregate_hold_their_lower_powers(name: str) -> None:
    """An engine needs them to move sums to another origin."""
    basis = basis_of(name, (("a.x",), ("a.y",))[: AGGREGATES[name].arities[-1]])
    assert basis == basis.with_lower_powers()


ARRAY = DataType("ARRAY<INT>")
TYPES = {
    "count": "BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT",
    "sum": "BIGINT BIGINT DOUBLE DOUBLE DECIMAL(20,2) DECIMAL(38,2) - - - -",
    "avg": "DOUBLE DOUBLE DOUBLE DOUBLE DECIMAL(14,6) DECIMAL(38,6) - - - -",
    "min": "INT BIGINT FLOAT DOUBLE DECIMAL(10,2) DECIMAL(38,2) STRING INTERVAL - -",
    "max": "INT BIGINT FLOAT DOUBLE DECIMAL(10,2) DECIMAL(38,2) STRING INTERVAL - -",
    "min_by": "INT BIGINT FLOAT DOUBLE DECIMAL(10,2) DECIMAL(38,2) STRING INTERVAL - -",
    "max_by": "INT BIGINT FLOAT DOUBLE DECIMAL(10,2) DECIMAL(38,2) STRING INTERVAL - -",
    "bool_and": "- - - - - - - - - -",
    "bool_or": "- - - - - - - - - -",
    "bit_and": "INT BIGINT - - - - - - - -",
    "bit_or": "INT BIGINT - - - - - - - -",
    "bit_xor": "INT BIGINT - - - - - - - -",
    "regr_count": "BIGINT BIGINT BIGINT BIGINT BIGINT BIGINT - - - -",
}
STATISTIC = "DOUBLE DOUBLE DOUBLE DOUBLE DOUBLE DOUBLE - - - -"
COLUMNS = (INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(38, 2), STRING, INTERVAL, ARRAY, VOID)


@pytest.mark.parametrize("name", NAMES)
def test_types(name: str) -> None:
    aggregate = AGGREGATES[name]
    answers = []
    for column in COLUMNS:
        types = (column,) * aggregate.arities[-1]
        answers.append(str(aggregate.result_type(types)).replace(", ", ",") if aggregate.accepts(types) else "-")
    assert " ".join(answers) == TYPES.get(name, STATISTIC)


@pytest.mark.parametrize("name", NAMES)
def test_arities(name: str) -> None:
    accepted = [arity for arity in range(4) if AGGREGATES[name].accepts((INT,) * arity)]
    two = name.startswith(("covar", "corr", "regr")) or name.endswith("_by")
    none = name.startswith("bool")
    assert accepted == ([0, 1] if name == "count" else [] if none else [2] if two else [1])


def test_one_wrong_argument_is_enough_to_refuse() -> None:
    assert AGGREGATES["corr"].accepts((INT, DOUBLE))
    assert not AGGREGATES["corr"].accepts((INT, STRING))
    assert not AGGREGATES["corr"].accepts((STRING, INT))
    assert AGGREGATES["count"].result_type(()) == BIGINT


def test_aliases_lead_to_aggregates_and_hide_none() -> None:
    statistics = {"mean": "avg", "variance": "var_samp", "stddev": "stddev_samp"}
    assert {**statistics, "every": "bool_and", "any": "bool_or", "some": "bool_or"} == ALIASES
    assert set(ALIASES.values()) <= set(AGGREGATES)
    assert not set(ALIASES) & set(AGGREGATES)
