"""Expressions as Spark SQL: canonical text, with division by zero made NULL before Spark can object."""

from joinfold.logical.expressions import Call, Column, Expression, Literal, rewrite
from joinfold.logical.query import Source
from joinfold.logical.sql import expression_text
from joinfold.names import identifier_text
from joinfold.types import INT

SOURCE = "source"
_NUMBER = "ROW_NUMBER() OVER (ORDER BY MONOTONICALLY_INCREASING_ID())"  # brings all rows into one partition


def spark_text(expression: Expression) -> str:
    """The expression for `selectExpr` on frames whose aliases are the query's."""
    return expression_text(_guard_division(expression))


def of_source(expression: Expression) -> Expression:
    """The expression over the columns of a DataFrame with the alias SOURCE, whichever alias it has in the query."""
    return rewrite(expression, lambda node: Column(SOURCE, node.name, node.type) if isinstance(node, Column) else None)


def time_text(source: Source, is_streaming: bool) -> str:
    """The event time of a row; without a time column that of its micro-batch, or, of bounded rows, their number."""
    if source.time is not None:
        return f"{SOURCE}.{identifier_text(source.time)}"
    return "CURRENT_TIMESTAMP()" if is_streaming else f"TIMESTAMP_MICROS({_NUMBER})"


def _guard_division(expression: Expression) -> Expression:
    def guarded(node: Expression) -> Expression | None:
        match node:
            case Call(function="/" | "%" as operator, arguments=(left, right)):
                zero = Literal(0, INT)
                return Call(operator, (_guard_division(left), Call("nullif", (_guard_division(right), zero))))
            case _:
                return None

    return rewrite(expression, guarded)
