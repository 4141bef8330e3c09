"""Canonical SQL is parsed to the query that it was printed from, for every query."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from joinfold import Session
from joinfold.dialect import bind, parse
from joinfold.logical.expressions import Call, Column, Expression, Literal
from joinfold.logical.functions import FUNCTIONS
from joinfold.logical.query import Input, LogicalQuery, OnTime, Output, Source
from joinfold.logical.sql import expression_text, query_text
from joinfold.types import BIGINT, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, VOID, DataType, Field, Schema
from joinfold.types import decimal as decimal_type
from joinfold.window import Continuous
from tests.dialect.generated import CALLS, CHAINS, TYPES, literals, logical_queries

EVERYTHING = Source(
    "s", Schema((Field("ts", TIMESTAMP), *(Field(f"c{i}", type_) for i, type_ in enumerate(TYPES)))), True, "ts"
)


def read_back(query: LogicalQuery) -> LogicalQuery:
    catalog = {input_.source.name: input_.source for input_ in query.inputs}
    return bind(parse(query_text(query)), catalog)


def selecting(*expressions: Expression) -> LogicalQuery:
    """A plain query over a stream that has a column of every type."""
    outputs = tuple(Output(f"column_{i + 1}", expression) for i, expression in enumerate(expressions))
    return LogicalQuery((Input("s", EVERYTHING, Continuous(1)),), (), (), (), outputs, None, None, False, OnTime())


def leaf(type_: DataType) -> Expression:
    return Literal(None, VOID) if type_ == VOID else Column("s", f"c{TYPES.index(type_)}", type_)


@given(logical_queries())
def test_every_query_is_read_back_from_its_canonical_sql(query: LogicalQuery) -> None:
    assert read_back(query) == query, query_text(query)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_read_back_with_all_kinds_of_arguments(name: str) -> None:
    assert CALLS[name], f"no argument types for {name}: the generator does not cover it"
    sample = CALLS[name][:: len(CALLS[name]) // 40 + 1]
    arguments = [[leaf(type_) for type_ in types] for types in sample]
    if name == "date_trunc":
        arguments = [[Literal("HOUR", STRING), *rest] for _, *rest in arguments]
    query = selecting(*(Call(name, tuple(part)) for part in arguments))
    assert read_back(query) == query


def test_every_operator_inside_every_other_has_the_brackets_it_needs() -> None:
    operators = [name for name, function in FUNCTIONS.items() if function.is_operator]
    nested = []
    for outer, inner in itertools.product(operators, repeat=2):
        inners = {Call(inner, tuple(map(leaf, types))).type: types for types in CALLS[inner]}
        for position in range(2):
            fitting = [types for types in CALLS[outer] if len(types) > position and types[position] in inners]
            if not fitting or (inner == outer and outer in CHAINS):
                continue
            arguments = [leaf(type_) for type_ in fitting[0]]
            arguments[position] = Call(inner, tuple(map(leaf, inners[fitting[0][position]])))
            nested.append(Call(outer, tuple(arguments)))
    assert len(nested) > 200
    query = selecting(*nested)
    for was, now in zip(query.outputs, read_back(query).outputs, strict=True):
        assert was == now, expression_text(was.expression)


@given(st.data())
def test_every_constant_is_read_back_with_its_type(data: st.DataObject) -> None:
    query = selecting(*(data.draw(literals(type_)) for type_ in TYPES))
    assert read_back(query) == query


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("5", 5, INT),
        ("-2147483648", -(2**31), INT),
        ("2147483648", 2**31, BIGINT),
        ("-9223372036854775807", -(2**63) + 1, BIGINT),
        ("9223372036854775808.", Decimal(2**63), decimal_type(19, 0)),
        ("5.", Decimal(5), decimal_type(1, 0)),
        ("-5.", Decimal(-5), decimal_type(1, 0)),
        ("0.50", Decimal("0.50"), decimal_type(2, 2)),
        ("-" + "9" * 38 + ".", Decimal("-" + "9" * 38), decimal_type(38, 0)),
        ("5.0e0", 5.0, DOUBLE),
        ("1e+22", 1e22, DOUBLE),
        ("-1.5e-300", -1.5e-300, DOUBLE),
        ("INTERVAL '-90' SECOND", -90_000_000, INTERVAL),
        ("TIMESTAMP '0001-01-01 00:00:00Z'", -62_135_596_800_000_000, TIMESTAMP),
        (r"'it\'s \\ \n'", "it's \\ \n", STRING),
        ('\'say ""no""\'', 'say ""no""', STRING),
        ("'東京 🔥'", "東京 🔥", STRING),
    ],
)
def test_a_constant_has_one_text(text: str, value: object, type_: DataType) -> None:
    (output,) = bind(parse(f"SELECT {text} FROM s [1 SECOND]"), {"s": EVERYTHING}).outputs
    assert output.expression == Literal(value, type_)  # type: ignore[arg-type]
    assert expression_text(output.expression) == text


KEYWORDS = sorted(
    word
    for word in {*Spark.Tokenizer.KEYWORDS, *SparkParser.NO_PAREN_FUNCTION_PARSERS, *SparkParser.FUNCTION_PARSERS}
    if word.isidentifier()
)


@pytest.mark.slow
def test_every_word_of_the_tokenizer_can_name_anything() -> None:
    """Canonical SQL quotes the names of streams, aliases, columns, outputs and options where needed."""
    assert len(KEYWORDS) > 300
    for word in map(str.lower, KEYWORDS):
        for name in (word, word.upper()):
            session = Session()
            session.stream(name, f"ts TIMESTAMP, `{name}` INT", time="ts")
            query = session.sql(
                f"SELECT `{name}`.`{name}` AS `{name}_`, MAX(b.`{name}`) AS `{name}`"
                f" FROM `{name}` [PARTITION BY `{name}` ROWS 2], `{name}` AS b [1 SECOND]"
                f" WHERE `{name}`.`{name}` = b.`{name}` GROUP BY `{name}`.`{name}` HAVING `{name}` > 5"
                f" OPTION (`{name}` = '{name}')"
            )
            assert session.sql(query.to_sql()).logical == query.logical, query.to_sql()


def test_words_that_are_not_reserved_need_no_quotes() -> None:
    session = Session()
    session.stream("comment", "ts TIMESTAMP, show INT, set INT, cache INT, location STRING, time INT", time="ts")
    query = session.sql("SELECT show, set, cache, location, time, comment.show AS use FROM comment [1 SECOND]")
    assert "`" not in query.to_sql()


def test_canonical_sql_is_its_own_canonical_sql() -> None:
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    query = session.sql("select LOCATION, count(1) from a [600 second slide 60 seconds] group by 1 having COUNT(*)>5;")
    assert session.sql(query.to_sql()).to_sql() == query.to_sql()
    assert query.to_sql() == (
        "SELECT a.location, COUNT(*)\nFROM A AS a [10 MINUTE SLIDE 1 MINUTE]\nGROUP BY a.location\nHAVING COUNT(*) > 5"
    )
