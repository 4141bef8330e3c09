"""Arguments and conditions of aggregates as Spark computes them, by the definition."""

from typing import Any

import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.reference import naive
from joinfold.reference.rows import Row, from_arrow, to_arrow
from tests.operators.test_arguments import SMALL, WIDE, WORDS
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

WINDOW = "[TUMBLE 10 MICROSECOND]"


def check(spark: Any, select: str, schema: str, data: dict[str, list[Row]], where: str = "a.k = b.k") -> None:
    session = jf.Session(spark)
    columns = read_schema(f"ts TIMESTAMP, {schema}")
    for name, rows in data.items():
        session.stream(name, to_arrow(rows, columns), time="ts")
    query = session.sql(f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE {where}")
    found = [tuple(row.values()) for row in from_arrow(query.collect())]
    assert_same_answers(naive.answers(query.logical, data), found)
    assert found


@pytest.mark.parametrize(("type_", "cases"), [("BIGINT", WIDE), ("INT", SMALL)])
def test_integers_do_not_overflow_on_the_way(spark: Any, type_: str, cases: list[tuple[str, list[Any]]]) -> None:
    """Each aggregate is over its own rows, told apart by a column."""
    rows: list[Row] = []
    select = []
    for place, (aggregate, values) in enumerate(cases):
        if "a.v * a.v * a.v * a.v" in aggregate:  # its sum does not fit
            continue
        mine = f"a.c = {place}"
        both = aggregate.replace("FILTER (WHERE", f"FILTER (WHERE {mine} AND")
        select.append(f"{both if both != aggregate else f'{aggregate} FILTER (WHERE {mine})'} AS o{place}")
        rows += [{"ts": 0, "k": 1, "c": place, "v": value} for value in values]
    partner: Row = {"ts": 0, "k": 1, "c": 0, "v": 1}
    check(spark, ", ".join(select), f"k INT, c INT, v {type_}", {"a": rows, "b": [partner]})


def test_what_a_filter_removes_is_not_computed(spark: Any) -> None:
    number = "CAST(a.s AS INT)"
    select = (
        f"SUM(100 / {number}) FILTER (WHERE a.s NOT LIKE 'x%') AS s, MIN({number}) FILTER (WHERE a.s <> 'x') AS m, "
        f"COUNT({number}) FILTER (WHERE NOT a.s = 'x' AND b.s = 'y') AS n"
    )
    check(spark, select, "k INT, s STRING", WORDS)


@pytest.mark.parametrize("condition", ["1 = 1", "FALSE", "NULL"])
def test_conditions_that_read_no_input(spark: Any, condition: str) -> None:
    select = f"COUNT(*) AS n, COUNT(*) FILTER (WHERE {condition}) AS f"
    check(spark, select, "k INT, s STRING", WORDS)
    check(spark, select, "k INT, s STRING", WORDS, f"a.k = b.k AND {condition}")
