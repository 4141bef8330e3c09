"""Spark's rules for types, by examples worked out by hand; another test compares all pairs with Spark."""

import pytest

from joinfold.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    Field,
    Schema,
    arithmetic_type,
    as_decimal,
    average_type,
    castable,
    common_type,
    decimal,
    sum_type,
)

TINYINT, SMALLINT = DataType("TINYINT"), DataType("SMALLINT")
ALL = (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), STRING, BINARY, DATE, TIMESTAMP,
    TIMESTAMP_NTZ, INTERVAL, VOID, DataType("ARRAY<INT>"),
)  # fmt: skip


def named(text: str) -> DataType:
    """A type by its text: INT, D(10,2) for a decimal."""
    if text.startswith("D("):
        precision, scale = map(int, text[2:-1].split(","))
        return decimal(precision, scale)
    return DataType(text)


def table(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    table("""
        INT        +  INT        INT
        TINYINT    *  SMALLINT   SMALLINT
        INT        -  BIGINT     BIGINT
        INT        %  TINYINT    INT
        INT        /  INT        DOUBLE
        BIGINT     /  TINYINT    DOUBLE
        FLOAT      +  FLOAT      FLOAT
        FLOAT      /  FLOAT      DOUBLE
        FLOAT      +  INT        DOUBLE
        DOUBLE     *  FLOAT      DOUBLE
        D(10,2)    +  DOUBLE     DOUBLE
        D(10,2)    /  FLOAT      DOUBLE
        D(10,2)    +  D(10,2)    D(11,2)
        D(10,2)    -  D(5,4)     D(13,4)
        D(10,2)    *  D(10,2)    D(21,4)
        D(10,2)    *  D(5,0)     D(16,2)
        D(10,2)    /  D(10,2)    D(23,13)
        D(10,2)    /  D(1,0)     D(14,6)
        D(5,0)     /  D(3,2)     D(13,6)
        D(10,2)    %  D(5,4)     D(5,4)
        D(5,0)     %  D(10,2)    D(7,2)
        D(10,2)    +  INT        D(13,2)
        D(10,2)    *  INT        D(21,2)
        INT        /  D(10,2)    D(23,11)
        D(10,2)    +  BIGINT     D(23,2)
        D(10,2)    *  TINYINT    D(14,2)
        D(38,0)    +  D(38,0)    D(38,0)
        D(38,2)    +  D(38,2)    D(38,2)
        D(38,10)   +  D(38,10)   D(38,9)
        D(38,10)   *  D(38,10)   D(38,6)
        D(38,18)   *  D(10,2)    D(38,9)
        D(38,18)   /  D(38,18)   D(38,6)
        D(20,0)    *  D(20,0)    D(38,0)
        D(38,38)   *  D(38,38)   D(38,37)
        D(38,2)    *  D(2,2)     D(38,4)
        VOID       +  INT        INT
        D(10,2)    +  VOID       D(11,2)
        VOID       /  INT        DOUBLE
        TIMESTAMP  -  TIMESTAMP  INTERVAL
        TIMESTAMP  -  INTERVAL   TIMESTAMP
        INTERVAL   +  TIMESTAMP  TIMESTAMP
        TIMESTAMP_NTZ  +  INTERVAL  TIMESTAMP_NTZ
        INTERVAL   -  INTERVAL   INTERVAL
        INTERVAL   +  INTERVAL   INTERVAL
    """),
)
def test_arithmetic(left: str, operator: str, right: str, result: str) -> None:
    assert arithmetic_type(operator, named(left), named(right)) == named(result)


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    table("""
        STRING     +  INT
        STRING     +  STRING
        BOOLEAN    *  INT
        DATE       -  DATE
        DATE       +  INTERVAL
        INTERVAL   -  TIMESTAMP
        TIMESTAMP  +  TIMESTAMP
        TIMESTAMP  -  TIMESTAMP_NTZ
        INTERVAL   *  INT
        BINARY     +  BINARY
    """),
)
def test_arithmetic_that_is_not_defined(left: str, operator: str, right: str) -> None:
    assert arithmetic_type(operator, named(left), named(right)) is None


@pytest.mark.parametrize(
    ("left", "right", "common"),
    table("""
        INT        INT        INT
        TINYINT    BIGINT     BIGINT
        INT        FLOAT      DOUBLE
        FLOAT      FLOAT      FLOAT
        FLOAT      DOUBLE     DOUBLE
        D(10,2)    D(5,4)     D(12,4)
        D(10,2)    INT        D(12,2)
        D(3,0)     TINYINT    D(3,0)
        D(10,2)    BIGINT     D(22,2)
        D(38,10)   D(38,0)    D(38,10)
        D(10,2)    DOUBLE     DOUBLE
        VOID       STRING     STRING
        VOID       VOID       VOID
    """),
)
def test_common_types(left: str, right: str, common: str) -> None:
    assert common_type(named(left), named(right)) == named(common)
    assert common_type(named(right), named(left)) == named(common)


def test_nothing_else_has_a_common_type() -> None:
    """Strings, dates and timestamps are not converted to each other implicitly."""
    for left in ALL:
        for right in ALL:
            related = left == right or VOID in (left, right) or (left.is_numeric and right.is_numeric)
            assert (common_type(left, right) is not None) == related


@pytest.mark.parametrize(
    ("argument", "total", "average"),
    table("""
        TINYINT    BIGINT     DOUBLE
        BIGINT     BIGINT     DOUBLE
        FLOAT      DOUBLE     DOUBLE
        DOUBLE     DOUBLE     DOUBLE
        D(10,2)    D(20,2)    D(14,6)
        D(5,0)     D(15,0)    D(9,4)
        D(30,10)   D(38,10)   D(34,14)
        D(38,18)   D(38,18)   D(38,22)
        D(38,38)   D(38,38)   D(38,38)
    """),
)
def test_sums_and_averages(argument: str, total: str, average: str) -> None:
    assert sum_type(named(argument)) == named(total)
    assert average_type(named(argument)) == named(average)


def test_integers_as_decimals() -> None:
    assert [str(as_decimal(type_)) for type_ in (TINYINT, SMALLINT, INT, BIGINT, decimal(7, 3))] == [
        "DECIMAL(3, 0)", "DECIMAL(5, 0)", "DECIMAL(10, 0)", "DECIMAL(20, 0)", "DECIMAL(7, 3)",
    ]  # fmt: skip


def test_casts() -> None:
    """Rows are source types, columns are target types; x marks where CAST is defined."""
    types = (BOOLEAN, INT, DOUBLE, decimal(10, 2), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL)
    drawn = """
        x x x x x . . . . .
        x x x x x . . . . .
        x x x x x . . . . .
        x x x x x . . . . .
        x x x x x . x x x .
        . . . . . x . . . .
        . . . . x . x x x .
        . . . . x . x x x .
        . . . . x . x x x .
        . . . . . . . . . x
    """
    for source, row in zip(types, table(drawn), strict=True):
        assert "".join("x" if castable(source, target) else "." for target in types) == "".join(row), source
    assert all(castable(VOID, target) for target in types)


@pytest.mark.parametrize(
    ("type_", "facts"),
    [
        (INT, "integer numeric ordered"),
        (decimal(10, 2), "decimal numeric ordered"),
        (FLOAT, "floating numeric ordered"),
        (STRING, "ordered"),
        (BOOLEAN, "ordered"),
        (INTERVAL, "ordered"),
        (VOID, ""),
        (DataType("MAP<STRING, INT>"), "nested"),
    ],
)
def test_kinds(type_: DataType, facts: str) -> None:
    kinds = ("integer", "decimal", "floating", "numeric", "nested", "ordered")
    assert {kind for kind in kinds if getattr(type_, f"is_{kind}")} == set(facts.split())


def test_types_and_schemas_as_text() -> None:
    schema = Schema((Field("a", INT), Field("b", decimal(10, 2)), Field("c", DataType("ARRAY<INT>"))))
    assert str(schema) == "a INT, b DECIMAL(10, 2), c ARRAY<INT>"
    assert (schema.names, schema.type_of("b"), [field.name for field in schema]) == (
        ("a", "b", "c"), decimal(10, 2), ["a", "b", "c"],
    )  # fmt: skip


@pytest.mark.parametrize(("precision", "scale"), [(39, 0), (5, 6), (5, -1), (0, 1)])
def test_a_decimal_outside_the_bounds_is_our_mistake(precision: int, scale: int) -> None:
    with pytest.raises(AssertionError):
        decimal(precision, scale)
