"""Types and values of expressions: joinfold's rules and reference against what Spark itself answers."""

import datetime
import itertools
import zoneinfo
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import EvaluationError, QueryError
from joinfold.logical.expressions import Call, walk
from joinfold.logical.functions import FUNCTIONS, TRUNCATION_UNITS
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.evaluate import Context, evaluate
from joinfold.reference.rows import from_arrow, to_arrow
from joinfold.runtime.expressions import spark_text
from joinfold.runtime.schema import spark_schema
from tests.strategies import same_value

pytestmark = pytest.mark.spark

SCHEMA = read_schema(
    "ts TIMESTAMP, y TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(8, 2), n DECIMAL(38, 10), "
    "s STRING, r STRING, b BOOLEAN, e DATE, z TIMESTAMP_NTZ, x BINARY"
)
NUMBERS = ("y", "h", "i", "l", "f", "d", "m", "n")
DAY_US = 86_400_000_000

ROWS: list[dict[str, Any]] = [
    dict.fromkeys(SCHEMA.names),
    {
        "ts": 0,
        "y": 1,
        "h": -2,
        "i": 3,
        "l": -4,
        "f": 0.5,
        "d": -0.0,
        "m": Decimal("1.25"),
        "n": Decimal(3),
        "s": "",
        "r": "%",
        "b": True,
        "e": datetime.date(1970, 1, 1),
        "z": -1,
        "x": b"",
    },
    {
        "ts": 1_719_835_199_999_999,
        "y": -7,
        "h": 12,
        "i": 0,
        "l": 2**30,
        "f": -2.25,
        "d": float("nan"),
        "m": Decimal("-99.99"),
        "n": Decimal("0.0000000001"),
        "s": "Straße x'y\\z",
        "r": "x",
        "b": False,
        "e": datetime.date(2024, 2, 29),
        "z": 1_709_164_800_123_456,
        "x": b"\x00\xff",
    },
    {
        "ts": -DAY_US - 1,
        "y": 3,
        "h": 0,
        "i": -5,
        "l": 7,
        "f": 1e10,
        "d": float("inf"),
        "m": Decimal("0.00"),
        "n": Decimal("-12345678.5"),
        "s": " 日本 aXb ",
        "r": "a_b",
        "b": None,
        "e": datetime.date(1969, 12, 31),
        "z": 0,
        "x": b"a",
    },
]

ARITHMETIC = [f"{p} {o} {q}" for p, q in itertools.product(NUMBERS, NUMBERS) for o in ("+", "-", "*", "/", "%")]
COMPARISONS = [f"{p} {o} {q}" for p, q in itertools.combinations(NUMBERS, 2) for o in ("=", "<", ">=")]
OTHERS = [
    *(f"{p} + {c}" for p in NUMBERS for c in ("1", "2.50", "3e0", "9999999999")),
    *(f"{c} * {p}" for p in NUMBERS for c in ("2", "0.5")),
    *(f"{function}({p})" for function in ("ABS", "SQRT", "EXP", "LN") for p in ("i", "d", "m", "f")),
    *(f"{function}({p})" for function in ("CEIL", "FLOOR") for p in ("i", "m", "n", "f")),
    *(f"-{p}" for p in NUMBERS),
    *(f"POWER({p}, {q})" for p in ("i", "d", "m") for q in ("2", "0.5", "y")),
    *(f"GREATEST({p}, {q})" for p, q in itertools.combinations(NUMBERS, 2)),
    *("LEAST(s, r)", "LEAST(d, NULL)", "COALESCE(i, l, 0)", "COALESCE(m, 1)", "NULLIF(i, 3)", "NULLIF(d, 0)"),
    *(f"{function}(s)" for function in ("UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM", "LENGTH", "REVERSE")),
    *("REPLACE(s, 'x', 'yy')", "REPLACE(s, '', 'z')", "s || r", "CONCAT(s, '-', r)", "LEFT(s, 2)", "RIGHT(s, 2)"),
    *("LEFT(s, -1)", "RIGHT(s, 0)", "RIGHT(s, 99)", "INSTR(s, 'x')", "CONTAINS(s, r)", "STARTSWITH(s, 'S')"),
    *("ENDSWITH(s, r)", "s LIKE '%x%'", "s LIKE '_tra%'", "s LIKE r", r"s LIKE '%\\\\z'", "s NOT LIKE ' %'"),
    *(f"SUBSTRING(s, {start}, {length})" for start in (-3, -1, 0, 1, 2, 99) for length in (-1, 0, 1, 3)),
    *("SUBSTRING(s, 3)", "SUBSTRING(s, -4)", "SUBSTRING(s, -99, 98)"),
    *(f"{part}({time})" for part in ("YEAR", "MONTH", "DAY") for time in ("ts", "z", "e")),
    *(f"{part}({time})" for part in ("HOUR", "MINUTE", "SECOND") for time in ("ts", "z")),
    *(f"DATE_TRUNC('{unit}', ts)" for unit in TRUNCATION_UNITS),
    *("ts + INTERVAL 5 SECONDS", "ts - INTERVAL '3' DAY", "z + INTERVAL 1 WEEK", "ts - ts", "INTERVAL 2 HOURS + ts"),
    *("ts > TIMESTAMP '1970-01-01'", "z = TIMESTAMP_NTZ '1970-01-01'", "e >= DATE '2000-01-01'", "x = X'00ff'"),
    *("i IN (3, 0)", "i IN (1, NULL)", "s IN ('', 'q')", "d IN (0, 1)", "NOT b", "b AND i = 3", "b OR i = 3"),
    *("b IS NULL", "b IS NOT NULL", "b IS TRUE", "b IS FALSE", "i BETWEEN -5 AND 0", "NULL AND b", "NULL OR b"),
    *("CASE WHEN i > 0 THEN i ELSE m END", "CASE i WHEN 3 THEN 'three' END", "IF(b, 1, 2.5)", "d = d", "d < d"),
    *("CAST(i AS STRING)", "CAST(d AS STRING)", "CAST(m AS STRING)", "CAST(b AS STRING)", "CAST(e AS STRING)"),
    *("CAST(ts AS STRING)", "CAST(ts AS DATE)", "CAST(z AS DATE)", "CAST(e AS TIMESTAMP)", "CAST(z AS STRING)"),
    *(
        "CAST(m AS INT)",
        "CAST(i AS DECIMAL(12, 3))",
        "CAST(m AS DECIMAL(4, 1))",
        "CAST(b AS INT)",
        "CAST(i AS BOOLEAN)",
    ),
    *("CAST('12' AS INT)", "CAST(' 1.50 ' AS DECIMAL(5, 2))", "CAST('yes' AS BOOLEAN)", "CAST(f AS DOUBLE)"),
    *("CAST(i AS DOUBLE)", "CAST(y AS BIGINT)", "CAST(l AS DOUBLE)", "i % -2", "-i % 2", "m % 0.7", "i DIV 2"),
    *("CAST(ts AS TIMESTAMP_NTZ)", "CAST(z AS TIMESTAMP)", "l / 3", "i / 0", "i % 0", "m / 0", "d / 0", "m / 3"),
]
REFUSED_VALUES = [
    *(
        "CEIL(d)",
        "FLOOR(d)",
        "CAST(d AS INT)",
        "CAST(s AS INT)",
        "CAST(s AS BOOLEAN)",
        "CAST(s AS DATE)",
        "i + 2147483647",
    ),
    *("l * 9223372036854775807", "CAST(l * 8 AS INT)", "CAST(m AS DECIMAL(2, 1))", "-CAST('-128' AS TINYINT)"),
]
AGGREGATES = [
    f"{function}({column})"
    for function in ("COUNT", "SUM", "AVG", "MIN", "MAX", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
    for column in NUMBERS
] + [f"{function}(i, m)" for function in ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT")]


def binding(expressions: list[str]) -> LogicalQuery | None:
    select = ", ".join(f"{expression} AS o{place}" for place, expression in enumerate(expressions))
    catalog = {"a": Source("a", SCHEMA, True, "ts")}
    try:
        return bind(parse(f"SELECT {select} FROM a [UNBOUNDED]"), catalog)
    except QueryError:
        return None


def defined(expressions: list[str]) -> list[str]:
    """Those that bind; what joinfold refuses is not compared."""
    return [expression for expression in expressions if binding([expression]) is not None]


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(to_arrow(ROWS, SCHEMA), schema=str(SCHEMA)).alias("a")


def test_schema_survives_the_way_into_spark(frame: Any) -> None:
    assert spark_schema(frame) == SCHEMA


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("family", ["ARITHMETIC", "COMPARISONS", "OTHERS"])
def test_expressions_have_spark_types_and_values(spark: Any, frame: Any, family: str, zone: str) -> None:
    expressions = defined(globals()[family])
    assert len(expressions) >= 0.95 * len(globals()[family]), "too many are refused for this to be a test"
    query = binding(expressions)
    assert query is not None
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        answered = frame.selectExpr(*(f"{spark_text(o.expression)} AS {o.name}" for o in query.outputs))
        types = {field.name: field.type for field in spark_schema(answered)}
        rows = from_arrow(answered.toArrow())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    wrong = []
    for text, output in zip(expressions, query.outputs, strict=True):
        if types[output.name] != output.expression.type:
            wrong.append(f"{text}: Spark types it {types[output.name]}, joinfold {output.expression.type}")
        for row, answer in zip(ROWS, rows, strict=True):
            value = evaluate(output.expression, Context({"a": row}, zone=zoneinfo.ZoneInfo(zone)))
            if not same_value(value, answer[output.name], 1e-12):
                wrong.append(f"{text}: Spark answers {answer[output.name]!r}, the reference {value!r} on {row}")
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("text", REFUSED_VALUES)
def test_what_spark_cannot_represent_is_an_error_here_too(frame: Any, text: str) -> None:
    query = binding([text])
    assert query is not None
    expression = query.outputs[0].expression
    with pytest.raises(EvaluationError):
        [evaluate(expression, Context({"a": row})) for row in ROWS]
    with pytest.raises(PySparkException):
        frame.selectExpr(spark_text(expression)).collect()


def test_aggregates_have_spark_types(frame: Any) -> None:
    query = binding(AGGREGATES)
    assert query is not None
    answered = frame.selectExpr(*(f"{text} AS o{place}" for place, text in enumerate(AGGREGATES)))
    found = {field.name: field.type for field in spark_schema(answered)}
    expected = {output.name: output.expression.type for output in query.outputs}
    assert found == expected


def test_every_function_is_compared() -> None:
    query = binding(defined([*ARITHMETIC, *COMPARISONS, *OTHERS]))
    assert query is not None
    called = {node.function for o in query.outputs for node in walk(o.expression) if isinstance(node, Call)}
    assert set(FUNCTIONS) - called - {"<>", "<="} == set()
