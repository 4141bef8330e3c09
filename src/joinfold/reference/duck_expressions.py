"""Expressions and aggregates as DuckDB SQL.

A column of an input is named ``"alias.column"``. The groups and aggregates of a query are named ``group_0`` and
``aggregate_0`` and so on.
"""

import datetime
import decimal
from collections.abc import Callable

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
)
from joinfold.reference.duck_functions import (
    call_text,
    cast_text,
    converted,
    quotient,
    rescaled,
    scale_of,
    stored_type,
    unscaled,
)
from joinfold.types import INTERVAL, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def column(alias: str, name: str) -> str:
    """The name of an input's column in the tables of rows, windows and combinations."""
    return identifier(f"{alias}.{name}")


def output(expression: Expression) -> str:
    """An expression of SELECT, cast to its type; an error if it does not fit."""
    text = scalar(expression)
    return text if expression.type == VOID else f"CAST({text} AS {stored_type(expression.type)})"


def scalar(expression: Expression) -> str:
    """An expression over the columns of a combination, or over the values of a group."""
    match expression:
        case Column(input=alias, name=name):
            return column(alias, name)
        case GroupValue(index=index):
            return f"group_{index}"
        case AggregateValue(index=index):
            return f"aggregate_{index}"
        case Literal():
            return _literal(expression)
        case Cast(argument=argument, type=type_):
            return cast_text(scalar(argument), argument.type, type_)
        case Case(branches=branches, otherwise=otherwise, type=type_):
            whens = " ".join(f"WHEN {scalar(when)} THEN {_as(then, type_)}" for when, then in branches)
            return f"CASE {whens} ELSE {_as(otherwise, type_)} END"
        case Call(function="nullif", arguments=(first, _)):
            equal = Call("=", expression.arguments)
            return scalar(Case(((equal, Literal(None, VOID)),), first, first.type))
        case Call(function=function, arguments=arguments):
            pairs = zip(arguments, expression.signature.operands, strict=True)
            return call_text(function, expression.signature, [_as(argument, type_) for argument, type_ in pairs])
        case Aggregate():
            raise AssertionError("aggregates are computed before the expressions over them")


def _as(expression: Expression, type_: DataType) -> str:
    return converted(scalar(expression), expression.type, type_)


def _literal(literal: Literal) -> str:
    value, type_ = literal.value, literal.type
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if type_ in (TIMESTAMP, TIMESTAMP_NTZ, INTERVAL):
            return f"({value})::BIGINT"
        case int():
            return f"({value})" if value < 0 else str(value)
        case float() | decimal.Decimal():
            text = repr(value) if isinstance(value, float) else f"{value:f}"
            return f"'{text}'::{stored_type(type_)}"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"from_hex('{value.hex()}')"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"


# --- aggregates ---------------------------------------------------------------------------------------------

_Over = Callable[..., str]
"""Makes an aggregate call with its FILTER, to which more conditions may be added."""


def aggregate(node: Aggregate, present: str | None = None) -> str:
    """An aggregate over the combinations of a group for which ``present`` and its FILTER are true."""
    conditions = [text for text in (present, node.condition and scalar(node.condition)) if text]

    def over(call: str, *more: str) -> str:
        rule = " AND ".join(f"({condition})" for condition in (*conditions, *more))
        return f"{call} FILTER (WHERE {rule})" if rule else call

    if not node.arguments:
        return over("COUNT(*)")
    texts, type_ = [scalar(argument) for argument in node.arguments], node.arguments[0].type
    count, total = over(f"COUNT({texts[0]})"), over(f"SUM({texts[0]})")
    divisor = f"NULLIF({count}, 0)"
    match node.function:
        case "count":
            return count
        case "min" | "max":
            return over(f"{node.function.upper()}({texts[0]})")
        case "min_by" | "max_by":
            return _extreme_by(node.function, texts, over)
        case "bool_and" | "bool_or":
            return over(f"{node.function.upper()}({texts[0]})")
        case "bit_and" | "bit_or" | "bit_xor":
            return over(f"{node.function.upper()}(CAST({texts[0]} AS {stored_type(type_)}))")
        case "regr_count":
            return over("COUNT(*)", *(f"{text} IS NOT NULL" for text in texts))
        case "sum":
            return _floating_sum(texts[0], over) if type_.is_floating else total
        case "avg" if type_.is_decimal:
            more = scale_of(node.type) - scale_of(type_)
            return rescaled(quotient(unscaled(total), divisor, more), scale_of(node.type))
        case "avg":
            whole = f"{total}::DOUBLE" if type_.is_integer else _floating_sum(texts[0], over)
            return f"{whole} / {divisor}"
        case _:
            return _statistic(node.function, [f"CAST({text} AS DOUBLE)" for text in texts], over)


def _floating_sum(argument: str, over: _Over) -> str:
    """The compensated sum if it is finite, otherwise the plain sum, which is right for infinities and overflow."""
    number = f"CAST({argument} AS DOUBLE)"
    compensated, plain = over(f"FSUM({number})"), over(f"SUM({number})")
    return f"CASE WHEN isfinite({compensated}) THEN {compensated} ELSE {plain} END"


def _extreme_by(function: str, texts: list[str], over: _Over) -> str:
    """x of the extreme struct (y, behind, x): DuckDB compares structs field by field, with NULL as the largest value.

    ``behind`` puts an x that is NULL after all others with the same y.
    """
    value, by = texts
    extreme, behind = ("MAX", "IS NOT NULL") if function == "max_by" else ("MIN", "IS NULL")
    pair = f"struct_pack(y := {by}, behind := {value} {behind}, x := {value})"
    return f"({over(f'{extreme}({pair})', f'{by} IS NOT NULL')}).x"


def _standardized(number: str, finite: str, power: int, over: _Over) -> str:
    """The mean of ((x − mean)/deviation)^power, from a list of all values: DuckDB's own functions are for samples."""

    def moment(order: int) -> str:
        values, mean = over(f"LIST({number})", finite), over(f"AVG({number})", finite)
        return f"list_avg(list_transform({values}, lambda v: power(v - {mean}, {order})))"

    return f"{moment(power)} / power({moment(2)}, {power / 2})"


def _settled(value: str, function: str, sizes: list[str], variance: str) -> str:
    """0 for a statistic that is not larger than the rounding errors of doubles of these sizes."""
    product = f"1e-14 * {sizes[0]} * {sizes[-1]}"
    match function:
        case "var_pop" | "var_samp" | "covar_pop" | "covar_samp":
            bound = product
        case "stddev_pop" | "stddev_samp":
            bound = f"1e-7 * {sizes[0]}"
        case "regr_slope":
            bound = f"{product} / {variance}"
        case "regr_intercept":
            bound = f"1e-14 * {sizes[0]} + {product} * {sizes[-1]} / {variance}"
        case _:
            bound = "1e-9"
    return f"CASE WHEN ABS({value}) <= {bound} THEN 0 ELSE {value} END"


def _statistic(function: str, numbers: list[str], over: _Over) -> str:
    """A statistic: NULL for too few values, NaN if a value is not finite, NULL (or 1) for a denominator of 0."""
    fewest = 2 if function.endswith("_samp") else 1
    both = " AND ".join(f"{number} IS NOT NULL" for number in numbers)
    finite = " AND ".join(f"isfinite({number})" for number in numbers)
    of_constants: dict[str, list[tuple[str, str]]] = {
        "corr": [(number, "NULL") for number in numbers],
        "regr_slope": [(numbers[-1], "NULL")],
        "regr_intercept": [(numbers[-1], "NULL")],
        "regr_r2": [(numbers[-1], "NULL"), (numbers[0], "1")],
        "skewness": [(numbers[0], "NULL")],
        "kurtosis": [(numbers[0], "NULL")],
    }
    constant = "".join(
        f" WHEN {over(f'MIN({x})', both)} = {over(f'MAX({x})', both)} THEN {value}"
        for x, value in of_constants.get(function, [])
    )
    match function:
        case "skewness":
            value = _standardized(numbers[0], finite, 3, over)
        case "kurtosis":
            value = f"{_standardized(numbers[0], finite, 4, over)} - 3"
        case _:
            value = over(f"{function.upper()}({', '.join(numbers)})", finite)
    sizes = [over(f"MAX(ABS({number}))", finite) for number in numbers]
    value = _settled(value, function, sizes, over(f"VAR_POP({numbers[-1]})", finite))
    return (
        f"CASE WHEN {over('COUNT(*)', both)} < {fewest} THEN NULL"
        f" WHEN NOT {over(f'bool_and({finite})', both)} THEN 'NaN'::DOUBLE{constant} ELSE {value} END"
    )
