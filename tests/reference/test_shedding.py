"""Estimates by the definition: weights count as often as rows, and a sample of everything is exact."""

import itertools
from datetime import UTC
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import same_value

from joinfold.algebra import AGGREGATES
from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.physical.shedding import DRAWS, REPLICATES, WHOLE
from joinfold.reference import naive
from joinfold.reference.aggregates import aggregate_value, half_up
from joinfold.reference.contents import Timed
from joinfold.reference.shedding import Combination, Drawn, Sample, estimated_answer, key_sample, t_quantile
from joinfold.types import BIGINT, DOUBLE

SUMMED = [name for name, own in AGGREGATES.items() if own.has_moments_only]
numbers = st.one_of(st.none(), st.integers(-9, 9))
SCHEMA = read_schema("ts TIMESTAMP, k INT, g INT, v INT")
TEXT = """SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s, MAX(b.v) AS x, AVG(b.v) AS m FROM a [TUMBLE 1 SECOND],
          b [TUMBLE 1 SECOND] WHERE a.k = b.k GROUP BY a.g SHED TO HOLD 10 ROWS"""


def query_of(text: str = TEXT) -> LogicalQuery:
    return bind(parse(text), {name: Source(name, SCHEMA, True, "ts") for name in "ab"})


@pytest.mark.parametrize("name", SUMMED)
@given(rows=st.lists(st.tuples(numbers, numbers, st.integers(1, 3)), max_size=5))
def test_a_row_of_weight_three_counts_as_three_rows(name: str, rows: list[tuple[Any, Any, int]]) -> None:
    arguments = [row[: len(AGGREGATES[name].arguments)] for row in rows]
    weights = [row[2] for row in rows]
    type_ = AGGREGATES[name].result_type((BIGINT,) * len(AGGREGATES[name].arguments))
    repeated = [own for own, weight in zip(arguments, weights, strict=True) for _ in range(weight)]
    found = aggregate_value(name, arguments, type_, weights)
    if name.endswith("_samp") and sum(None not in own for own in arguments) < 2:
        assert found is None  # it needs two rows that are there
    else:
        assert same_value(found, aggregate_value(name, repeated, type_), 1e-12)
    assert same_value(found, aggregate_value(name, arguments, type_, list(map(Fraction, weights))), 1e-12)


@pytest.mark.parametrize(
    ("value", "expected"), [(Fraction(5, 2), 3), (Fraction(-5, 2), -3), (Fraction(7, 3), 2), (-4, -4), (0, 0)]
)
def test_halves_are_rounded_away_from_zero(value: Fraction | int, expected: int) -> None:
    assert half_up(value) == expected


def test_a_weighted_sum_of_doubles() -> None:
    assert aggregate_value("sum", [(0.5,), (1.5,)], DOUBLE, [Fraction(4), Fraction(1, 3)]) == 2.5
    assert aggregate_value("avg", [(0.5,), (1.5,)], DOUBLE, [Fraction(4), Fraction(1, 3)]) == float(Fraction(15, 26))
    assert aggregate_value("avg", [(float("inf"),), (1.5,)], DOUBLE, [Fraction(4), Fraction(1, 3)]) == float("inf")


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"), [(0.95, 31, 2.0395), (0.95, 7, 2.3646), (0.99, 14, 2.9768), (0.5, 4, 0.7407)]
)
def test_quantiles_are_those_of_the_tables(confidence: float, freedom: float, expected: float) -> None:
    assert t_quantile(confidence, freedom) == pytest.approx(expected, abs=1e-4)


# --- samples ------------------------------------------------------------------------------------------------------


def combinations(query: LogicalQuery) -> list[dict[str, Timed]]:
    def rows(values: list[int]) -> list[Timed]:
        return [Timed(1, place, {"ts": 1, "k": k, "g": k % 2, "v": k - 3}) for place, k in enumerate(values, start=1)]

    return list(naive.combinations(query, {"a": rows([1, 1, 2, 3]), "b": rows([1, 2, 3, 3])}, UTC))


def draw_of(combination: Combination) -> int:
    return int(combination["a"].row["k"]) * DRAWS // 4 + 5  # type: ignore[arg-type]


def test_a_key_is_in_the_sample_if_its_draw_is_below_the_rate_or_it_is_certain() -> None:
    one, *_, three = combinations(query_of())
    sample = key_sample(WHOLE // 2, lambda draw: draw > DRAWS * 5 // 8, draw_of)
    assert sample.drawn(one) == Drawn(2, ((DRAWS // 4 + 5) % REPLICATES["key"],))
    assert sample.drawn(three) == Drawn(1, (-1,))
    assert key_sample(WHOLE // 4, lambda draw: False, draw_of).drawn(one) is None
    assert key_sample(WHOLE, lambda draw: False, draw_of).drawn(one) == Drawn(1, (-1,))
    complete = key_sample(WHOLE // 2, lambda draw: False, draw_of, complete=True).drawn(one)
    assert complete is not None and complete.weight == 1


def test_a_sample_of_everything_is_exact() -> None:
    query = query_of()
    found = estimated_answer(query, combinations(query), UTC, key_sample(WHOLE, lambda draw: False, draw_of))
    rows = sorted(found.values(), key=str)
    assert rows == [
        (0, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1.0),
        (1, 4, 4, 4, -4, -4, -4, 0, 0, 0, -1, -1, -1, 1.0),
    ]


def test_what_is_kept_counts_for_what_was_shed() -> None:
    query = query_of()
    sample = key_sample(WHOLE // 2, lambda draw: draw > DRAWS * 5 // 8, draw_of)
    ((_, *row),) = estimated_answer(query, combinations(query), UTC, sample).values()
    assert row == [6, 4, None, -8, None, None, 0, 0, None, pytest.approx(-8 / 6), None, None, 0.5]


def test_estimates_are_right_on_average() -> None:
    """Over all samples of two keys of three, each with its probability; a group that is not shown counts as 0."""
    query = query_of(TEXT.replace("SELECT a.g,", "SELECT").replace("GROUP BY a.g", ""))
    rate = Fraction(1, 4)
    expected = Fraction(0)
    for kept in itertools.product([False, True], repeat=3):
        probability = Fraction(1)
        for own in kept:
            probability *= rate if own else 1 - rate
        sample = Sample(
            WHOLE // 4,
            lambda own, kept=kept: Drawn(4, (0,)) if kept[int(own["a"].row["k"]) - 1] else None,  # type: ignore[arg-type, misc]
        )
        ((count, *_),) = estimated_answer(query, combinations(query), UTC, sample).values()
        expected += probability * int(count)  # type: ignore[arg-type]
    assert expected == len(combinations(query))
