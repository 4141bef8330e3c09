"""Canonical SQL: the one text of a logical query. It binds to an equal query."""

import datetime
import decimal
import re

from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    GroupValue,
    Literal,
    Value,
)
from joinfold.logical.functions import AND, ATOM, COMPARE, FUNCTIONS, MULTIPLY, NEGATE
from joinfold.logical.query import (
    Every,
    Input,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnSlide,
    OnTime,
    OnTrigger,
    OnWindowId,
    Output,
    moves,
)
from joinfold.names import identifier_text
from joinfold.timetext import duration_text, timestamp_text
from joinfold.types import DATE, INTERVAL, TIMESTAMP, TIMESTAMP_NTZ


def query_text(query: LogicalQuery) -> str:
    """The query as canonical SQL, one clause per line."""
    lines = [
        "SELECT " + ", ".join(_output_text(query, output, i) for i, output in enumerate(query.outputs)),
        "FROM " + ", ".join(input_text(input_) for input_ in query.inputs),
    ]
    if query.where:
        lines.append("WHERE " + " AND ".join(_within(part, AND) for part in query.where))
    if query.groups:
        lines.append("GROUP BY " + ", ".join(_group_text(query, i) for i in range(len(query.groups))))
    if query.having is not None:
        lines.append("HAVING " + expression_text(query.expanded(query.having)))
    lines += [rule for rule in (emit_text(query), sync_text(query)) if rule]
    if query.shed is not None:
        lines.append(query.shed.to_sql())
    if query.options:
        options = (f"{identifier_text(name)} = {_option_text(value)}" for name, value in query.options)
        lines.append(f"OPTION ({', '.join(options)})")
    return "\n".join(lines)


def input_text(input_: Input) -> str:
    """An input as it is written in FROM."""
    name = ".".join(identifier_text(part) for part in input_.source.name.split("."))
    alias = "" if default_alias(input_.source.name) == input_.alias else f" AS {identifier_text(input_.alias)}"
    return f"{name}{alias}" + (f" {input_.window.to_sql()}" if input_.window is not None else "")


def default_alias(source_name: str) -> str:
    """The alias of an input without a written alias: the last part of its name."""
    return source_name.rsplit(".", 1)[-1]


def default_name(expression: Expression, position: int) -> str:
    """The name of an output without a written name: its column, its aggregate and columns, or its position."""
    match expression:
        case Column(name=name):
            return name
        case Aggregate(function=function, arguments=arguments, condition=None) if all(
            isinstance(argument, Column) for argument in arguments
        ):
            names = [argument.name for argument in arguments if isinstance(argument, Column)]
            return "_".join([function, *names])
        case _:
            return f"column_{position + 1}"


def emit_text(query: LogicalQuery) -> str:
    """The EMIT clause and CHANGES, if they differ from the default."""
    match query.emit:
        case OnSlide() | None:
            rule = ""
        case OnTrigger():
            rule = "EMIT ON TRIGGER" if any(moves(input_.window) for input_ in query.inputs) else ""
        case OnArrival():
            rule = "EMIT ON ARRIVAL"
        case Every(period_us=period_us):
            rule = f"EMIT EVERY {duration_text(period_us)}"
    return " ".join(part for part in (rule, "CHANGES" if query.changes else "") if part)


def sync_text(query: LogicalQuery) -> str:
    """The SYNC clause, if it differs from the default."""
    match query.sync:
        case OnTime():
            return ""
        case OnFull():
            return "SYNC ON FULL"
        case OnWindowId(modulus=modulus):
            return "SYNC ON WINDOW ID" + ("" if modulus is None else f" MOD {modulus}")


def expression_text(expression: Expression) -> str:
    """An expression as canonical SQL."""
    match expression:
        case Column(input=alias, name=name):
            return f"{identifier_text(alias)}.{identifier_text(name)}"
        case Literal():
            return literal_text(expression)
        case Cast(argument=argument, type=type_):
            return f"CAST({expression_text(argument)} AS {type_})"
        case Case(branches=branches, otherwise=otherwise):
            whens = " ".join(f"WHEN {expression_text(when)} THEN {expression_text(then)}" for when, then in branches)
            return f"CASE {whens} ELSE {expression_text(otherwise)} END"
        case Aggregate(function=function, arguments=arguments, condition=condition):
            inner = ", ".join(expression_text(argument) for argument in arguments) or "*"
            filtered = "" if condition is None else f" FILTER (WHERE {expression_text(condition)})"
            return f"{function.upper()}({inner}){filtered}"
        case GroupValue(index=index):
            return f"group[{index}]"
        case AggregateValue(index=index):
            return f"aggregate[{index}]"
        case Call():
            return _call_text(expression)


def literal_text(literal: Literal) -> str:
    """A constant as text that is parsed to the same value and type."""
    value = literal.value
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if literal.type == TIMESTAMP:
            return f"TIMESTAMP '{timestamp_text(value)}Z'"
        case int() if literal.type == TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{timestamp_text(value)}'"
        case int() if literal.type == INTERVAL:
            sign = "-" if value < 0 else ""
            amount, unit = duration_text(abs(value)).split()
            return f"INTERVAL '{sign}{amount}' {unit}"
        case int():
            return str(value)
        case decimal.Decimal():
            text = f"{value:f}"
            return text if "." in text else f"{text}."
        case float():
            text = repr(value)
            return text if "e" in text else f"{text}e0"
        case datetime.date() if literal.type == DATE:
            return f"DATE '{value.isoformat()}'"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return string_text(value)
        case _:
            raise AssertionError(literal)


def string_text(value: str) -> str:
    """A string constant with Spark's escapes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _call_text(call: Call) -> str:
    function, arguments = FUNCTIONS[call.function], call.arguments
    precedence = function.precedence
    if precedence is None:
        return f"{call.function.upper()}({', '.join(expression_text(argument) for argument in arguments)})"
    match call.function:
        case "not":
            return f"NOT {_within(arguments[0], COMPARE)}"
        case "is null":
            return f"{_within(arguments[0], COMPARE + 1)} IS NULL"
        case "in":
            members = ", ".join(expression_text(argument) for argument in arguments[1:])
            return f"{_within(arguments[0], COMPARE + 1)} IN ({members})"
        case "negate":
            return f"-{_within(arguments[0], ATOM)}"
        case "||":
            return " || ".join(_within(argument, NEGATE) for argument in arguments)
        case _:
            assert function.spark is not None
            first, *rest = arguments
            parts = [_within(first, precedence if precedence > COMPARE else precedence + 1)]
            parts += [_within(argument, precedence + 1) for argument in rest]
            return function.spark.join(parts)


def _within(expression: Expression, precedence: int) -> str:
    """The expression, in parentheses if it binds less tightly than ``precedence``."""
    match expression:
        case Call(function=name):
            binds = FUNCTIONS[name].precedence or ATOM
        case Literal(value=int() | float() | decimal.Decimal() as value) if not isinstance(value, bool) and value < 0:
            binds = MULTIPLY + 1
        case _:
            binds = ATOM
    text = expression_text(expression)
    return text if binds >= precedence else f"({text})"


def _group_text(query: LogicalQuery, index: int) -> str:
    """A group as text; an integer constant is written as its position in SELECT, as GROUP BY reads integers."""
    group = query.groups[index]
    if isinstance(group, Literal) and group.type.is_integer:
        return str([output.expression for output in query.outputs].index(GroupValue(index, group.type)) + 1)
    return expression_text(group)


def _output_text(query: LogicalQuery, output: Output, position: int) -> str:
    expression = query.expanded(output.expression)
    named = "" if default_name(expression, position) == output.name else f" AS {identifier_text(output.name)}"
    return expression_text(expression) + named


def _option_text(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and value.upper() not in ("ON", "OFF", "TRUE", "FALSE")
        return value if plain else string_text(value)
    return str(value)
