"""Every aggregate of the table on Spark, by the definition, and beside Spark's own functions."""

import math
import random
from typing import Any

import pytest

import joinfold as jf
from joinfold.algebra import AGGREGATES
from joinfold.dialect import read_schema
from joinfold.reference import naive
from joinfold.reference.rows import Row, from_arrow, to_arrow
from tests.operators.test_aggregates import FRAMES, SCHEMA, WINDOW, columns_for, drawn_row
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark


def drawn(seed: int, rows: int = 12) -> dict[str, list[Row]]:
    chance = random.Random(seed)
    return {name: [drawn_row(chance) for _ in range(rows)] for name in ("a", "b")}


def every_call(sides: str) -> str:
    """Each aggregate with arguments of one input and of two, by turns under a FILTER."""
    calls = []
    for place, (name, entry) in enumerate(AGGREGATES.items()):
        column = columns_for(name)[place % len(columns_for(name))]
        arguments = [f"{sides[(place + number) % 2]}.{column}" for number in range(len(entry.arguments))]
        where = " FILTER (WHERE a.v >= 0)" if place % 3 == 0 else ""
        calls.append(f"{name.upper()}({', '.join(arguments)}){where} AS o{place}")
    return ", ".join(calls)


@pytest.mark.parametrize("frame", ["groups", "a range", "arrivals", "a chain"])
def test_every_aggregate_on_spark_is_its_definition(spark: Any, frame: str) -> None:
    data, session, schema = drawn(7), jf.Session(spark), read_schema(SCHEMA)
    for name, rows in data.items():
        session.stream(name, to_arrow(rows, schema), time="ts")
    query = session.sql(f"SELECT {every_call('ab')} {FRAMES[frame].format(WINDOW)}")
    found = [tuple(row.values()) for row in from_arrow(query.collect())]
    assert_same_answers(naive.answers(query.logical, data), found)
    assert found


def test_the_same_functions_of_spark_give_the_same(spark: Any) -> None:
    """But for ties of MIN_BY and MAX_BY, which Spark leaves open: here the order has none."""
    chance = random.Random(3)
    rows: list[Row] = [
        {"ts": 1, "y": place, "x": chance.choice([None, -5, 3, 2**40]), "d": chance.choice([None, 0.5, -2.0, 7.25])}
        for place in range(40)
    ]
    schema = read_schema("ts TIMESTAMP, y INT, x BIGINT, d DOUBLE")
    session, table = jf.Session(spark), to_arrow(rows, schema)
    session.stream("t", table, time="ts")
    texts = [
        *(
            "MAX_BY(x, y)",
            "MIN_BY(d, -y)",
            "MAX_BY(x, y) FILTER (WHERE d > 0)",
            "EVERY(x > -6)",
            "ANY(x > 3)",
            "SOME(d > 7)",
        ),
        *("BOOL_AND(d > 0)", "BOOL_OR(x IS NULL)", "BIT_AND(x)", "BIT_OR(x)", "BIT_XOR(x)", "BIT_XOR(y)"),
        *("SKEWNESS(d)", "KURTOSIS(d)", "SKEWNESS(x)", "REGR_COUNT(d, x)", "REGR_R2(d, y)"),
    ]
    shown = ", ".join(f"{text} AS o{place}" for place, text in enumerate(texts))
    (ours,) = from_arrow(session.sql(f"SELECT {shown} FROM t [UNBOUNDED]").collect())
    spark.createDataFrame(table).createOrReplaceTempView("t")
    theirs = spark.sql(f"SELECT {shown} FROM t").collect()[0].asDict()
    for place, text in enumerate(texts):
        own, other = ours[f"o{place}"], theirs[f"o{place}"]
        assert own == other or math.isclose(own, other, rel_tol=1e-9), text
