"""Names, types and zones that only Spark makes difficult."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

import joinfold as jf

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def in_utc(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_names_that_have_to_be_quoted(spark: Any) -> None:
    schema = "`select` TIMESTAMP, `a key` INT, `日 本` STRING, `x``y` DOUBLE, `a.b` INT, `Group` STRING"
    values = [(f"1970-01-01 00:00:0{second}", second % 2, f"g{second % 3}", second / 2, 1, None) for second in range(6)]
    frame = spark.createDataFrame(values, schema.replace("TIMESTAMP", "STRING")).selectExpr(
        "CAST(`select` AS TIMESTAMP) AS `select`", "`a key`", "`日 本`", "`x``y`", "`a.b`", "`Group`"
    )
    session = jf.Session(spark)
    session.stream("shop.the orders.2024", frame, time="select")
    session.stream("from", frame, time="select")
    answered = session.sql(
        "SELECT `a.b`.`日 本` AS `the group`, SUM(`where`.`x``y`) AS `sum of x``y`, MAX(`a.b`.`a.b`) AS `max`, "
        "COUNT(`a.b`.`Group`) AS `select` FROM `shop`.`the orders`.`2024` `a.b` [TUMBLE 10 SECOND], "
        "`from` `where` [TUMBLE 10 SECOND] WHERE `a.b`.`a key` = `where`.`a key` AND `where`.`x``y` >= 0 "
        "GROUP BY `a.b`.`日 本` HAVING COUNT(*) > 0"
    ).collect()
    assert answered.column_names == ["instant", "the group", "sum of x`y", "max", "select"]
    pairs = [(a, b) for a in range(6) for b in range(6) if a % 2 == b % 2]
    expected = {f"g{g}": sum(b / 2 for a, b in pairs if a % 3 == g) for g in range(3)}
    assert dict(zip(answered["the group"].to_pylist(), answered["sum of x`y"].to_pylist(), strict=True)) == expected
    assert set(answered["select"].to_pylist()) == {0}


KEYS: list[tuple[str, str, list[Any]]] = [
    ("INT", "BIGINT", [1, -(2**31), 7]),
    ("BIGINT", "DECIMAL(30, 2)", [1, 2**62, -5]),
    ("DECIMAL(10, 1)", "DECIMAL(12, 3)", [Decimal("1.5"), Decimal("-2.0"), Decimal(0)]),
    ("FLOAT", "DOUBLE", [-0.0, 1.5, float("nan")]),
    ("STRING", "STRING", ["é", "", "x" * 10_000]),
    ("BINARY", "BINARY", [b"\x00", b"", b"\xff"]),
    ("DATE", "DATE", [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND", [timedelta(0), timedelta(days=-1), timedelta(seconds=1.5)]),
    ("ARRAY<INT>", "ARRAY<INT>", [[1, 2], [], [None]]),
    ("STRUCT<x: INT, y: STRING>", "STRUCT<x: INT, y: STRING>", [(1, "a"), (1, None), (None, None)]),
]


def test_a_key_of_columns_of_all_types(spark: Any) -> None:
    """Some are converted to be compared. Row i of one input has the key of row i of the other, and one has a NULL."""
    session = jf.Session(spark)
    for name, side in (("a", 0), ("b", 1)):
        schema = ", ".join(f"k{place} {key[side]}" for place, key in enumerate(KEYS))
        rows = [
            tuple(Decimal(key[2][row]) if key[side].startswith("DECIMAL") else key[2][row] for key in KEYS)
            for row in range(3)
        ]
        rows.append((None, *rows[0][1:]))
        if name == "b":
            rows = [tuple(0.0 if value == 0.0 and isinstance(value, float) else value for value in row) for row in rows]
        frame = spark.createDataFrame(rows, schema).selectExpr("*", "timestamp_micros(-5) AS ts", "1 AS v")
        session.stream(name, frame, time="ts")
    equal = " AND ".join(f"a.k{place} = b.k{place}" for place in range(len(KEYS)))
    found = session.sql(
        "SELECT COUNT(*) AS n, SUM(b.v) AS s, MIN(a.k4) AS m, MAX(b.k7) AS i "
        f"FROM a [TUMBLE 1 HOUR], b [TUMBLE 1 HOUR] WHERE {equal}"
    ).collect()
    assert found.drop(["instant"]).to_pylist()[0] == {"n": 3, "s": 3, "m": "", "i": timedelta(seconds=1.5)}
    with pytest.raises(jf.QueryError, match="GROUP BY on a column of type ARRAY<INT>"):
        session.sql("SELECT k8, COUNT(*) AS n FROM a [TUMBLE 1 HOUR] GROUP BY k8").to_df()


def test_a_group_can_be_null_in_every_type_that_is_merged(spark: Any) -> None:
    """Groups that cross buckets are hashed once more, NULL among them."""
    frame = spark.sql(
        "SELECT timestamp_micros(id) AS ts, CAST(id AS INT) AS k, IF(id % 3 = 0, NULL, CAST(id % 2 AS STRING)) AS g, "
        "IF(id % 4 = 0, NULL, CAST(id % 2 AS DECIMAL(9, 2))) AS d, IF(id % 5 = 0, NULL, id % 2 = 0) AS b FROM range(60)"
    )
    session = jf.Session(spark)
    session.stream("a", frame, time="ts")
    session.stream("b", frame, time="ts")
    found = session.sql(
        "SELECT a.g, b.d, a.b, COUNT(*) AS n, MIN(b.g) AS m FROM a [TUMBLE 1 HOUR], b [TUMBLE 1 HOUR] "
        "WHERE a.k = b.k GROUP BY a.g, b.d, a.b"
    ).collect()
    expected = frame.groupBy("g", "d", "b").count().toArrow()

    def rows(table: Any, *names: str) -> list[str]:
        return sorted(str(tuple(row[name] for name in names)) for row in table.to_pylist())

    assert rows(found, "g", "d", "b", "n") == rows(expected, "g", "d", "b", "count")


def test_two_queries_at_once_over_one_stream_joined_with_itself(spark: Any, tmp_path: Any) -> None:
    frame = spark.sql("SELECT timestamp_seconds(id) AS ts, CAST(id % 3 AS INT) AS k, id AS v FROM range(30)")
    frame.coalesce(1).write.parquet(f"{tmp_path}/in")
    session = jf.Session(spark)
    reader = spark.readStream.schema("ts TIMESTAMP, k INT, v BIGINT").parquet(f"{tmp_path}/in")
    session.stream("one.stream", reader, time="ts")
    session.stream("still", frame, time="ts")
    texts = [
        "SELECT x.k, SUM(y.v) AS s FROM {0} x [9 SECOND SLIDE 5 SECOND], {0} y [5 SECOND] WHERE x.k = y.k GROUP BY x.k",
        "SELECT COUNT(*) AS n, MAX(x.v) AS m FROM {0} x [TUMBLE 4 SECOND], {0} y [UNBOUNDED] WHERE x.k = y.k",
    ]
    running = [
        session.sql(text.format("`one`.`stream`")).start(
            "memory", checkpoint=f"{tmp_path}/checkpoint{place}", trigger="available", name=f"answers{place}"
        )
        for place, text in enumerate(texts)
    ]
    assert all(handle.wait(120) for handle in running)
    for place, text in enumerate(texts):
        found = spark.sql(f"SELECT * FROM answers{place}").toArrow().to_pylist()
        expected = session.sql(text.format("still")).collect().to_pylist()
        last = frame.selectExpr("MAX(ts) AS t").toArrow()["t"].to_pylist()[0]
        expected = [row for row in expected if row["instant"].timestamp() <= last.timestamp()]
        assert sorted(map(str, map(dict.values, found))) == sorted(map(str, map(dict.values, expected)))
        assert len(found) > 5
