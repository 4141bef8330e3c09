"""Expressions as Spark SQL: canonical text, in which a division by zero gives NULL instead of an error of Spark."""

from joinfold.logical.expressions import Call, Column, Expression, Literal, rewrite
from joinfold.logical.query import Source
from joinfold.logical.sql import expression_text
from joinfold.names import identifier_text
from joinfold.timetext import LARGEST_US
from joinfold.types import INT, TIMESTAMP_NTZ

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

    Without a time column it is the time of the micro-batch, or in bounded data the number of the row. A stream marks
    the times that lie too far ahead of the micro-batch: it adds `LARGEST_US`, more than any other time.
    """
    if source.time is None:
        return "CURRENT_TIMESTAMP()" if is_streaming else f"TIMESTAMP_MICROS({_NUMBER})"
    time = f"{SOURCE}.{identifier_text(source.time)}"
    if not is_streaming or source.ahead_us is None:
        return time
    last = f"UNIX_MICROS(CURRENT_TIMESTAMP()) + {source.ahead_us}"
    if source.schema.type_of(source.time) == TIMESTAMP_NTZ:  # it has no zone, and is read as UTC
        marked = _unzoned(LARGEST_US, f"LEAST({time}, {_unzoned(LARGEST_US // 2)})")
        return f"IF({time} > {_unzoned(last)}, {marked}, {time})"
    micros = f"UNIX_MICROS({time})"
    return f"IF({micros} > {last}, LEAST({micros}, {LARGEST_US // 2}) + {LARGEST_US}, {micros})"


def _unzoned(micros: int | str, after: str = "TIMESTAMP_NTZ '1970-01-01 00:00:00'") -> str:
    """SQL for the TIMESTAMP_NTZ some microseconds after another one, by default after the epoch."""
    return f"TIMESTAMPADD(MICROSECOND, {micros}, {after})"


def _guard_division(expression: Expression) -> Expression:
    def guarded(node: Expression) -> Expression | None:
        match node:
            case Call(function="/" | "%" as operator, arguments=(left, right)):
                zero = Literal(0, INT)
                return Call(operator, (_guard_division(left), Call("nullif", (_guard_division(right), zero))))
            case _:
                return None

    return rewrite(expression, guarded)
