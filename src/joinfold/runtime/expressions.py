"""Expressions as Spark SQL: canonical text, in which a division by zero gives NULL instead of an error of Spark."""

from joinfold.logical.expressions import Call, Column, Expression, Literal, rewrite
from joinfold.logical.query import Source
from joinfold.logical.sql import expression_text
from joinfold.names import identifier_text
from joinfold.types import INT

SOURCE = "source"
_NUMBER = "ROW_NUMBER() OVER (ORDER BY MONOTONICALLY_INCREASING_ID())"  # brings all rows into one partition


def spark_text(expression: Expression) -> str:
    """The expression as text for `selectExpr`, over DataFrames under the aliases of the query."""
    return expression_text(_guard_division(expression))


def of_source(expression: Expression) -> Expression:
    """The expression over the columns of a DataFrame with the alias SOURCE, instead of the alias in the query."""
    return rewrite(expression, lambda node: Column(SOURCE, node.name, node.type) if isinstance(node, Column) else None)


def time_text(source: Source, is_streaming: bool) -> str:
    """SQL for the event time of a row.

    Without a time column it is the time of the micro-batch, or in bounded data the number of the row.
    """
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
