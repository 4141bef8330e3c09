"""What columns are called. A column is called what it means, so state can be read by plans that were made otherwise.

A frame's column is named after its expression, in a notation of its own that no change of the SQL printer touches:

    a.price                          a column
    (+ a.price 1:INT)                a function or operator of its arguments
    (as BIGINT a.price)              a conversion
    (case c v … otherwise)           CASE

Sums and extremes are named after what they sum (`physical.payload`). Long names keep their beginning and end in a hash.
Everything else has a fixed name, which is made and read here alone.
"""

import json
import re
from hashlib import sha256
from typing import Literal, assert_never

from joinfold.logical import expressions as nodes
from joinfold.logical.expressions import Expression

Role = Literal["value", "argument", "order"]
"""What a frame's column is for: to tell rows apart, as the argument of an aggregate, or to order rows of one time."""

TIME, KEEP, FIRST, MATCHES = "ts", "keep", "first", "matches"  # of a frame
CELL = "cell"  # of entries: the time, or the block of rows, that they came in
INSTANT = "instant"  # of totals and answers: the instant, or the number of what takes its place
ORIGIN = "made by"  # of a view's row: the bucket that made it, since each has its own part of a group
BATCH, ROW = "batch", "row"  # of rows that are found again: the batch that brought them, and which one they are
TURN = "turn"  # of rows of a key: their place in its order
NUMBER, COPIES, EQUAL, MOVED = "number", "copies", "equal", "moved"  # of row boundaries
ANSWER = "answer"  # the alias under which SELECT and HAVING read what MERGE gives
WAS, NOW = "was", "now"  # of changes: whether a group was there, and whether it is

COUNT = "count"  # of entries and totals: how many rows, or combinations
LONGEST = 80
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def column_name(expression: Expression, role: Role = "value") -> str:
    """The name of a frame's column."""
    meaning = meaning_of(expression)
    return short(meaning if role == "value" else f"{role} {meaning}")


def meaning_of(expression: Expression) -> str:
    """An expression in a notation that depends on nothing but what it computes."""
    match expression:
        case nodes.Column(input=alias, name=name):
            return f"{quoted(alias)}.{quoted(name)}"
        case nodes.Literal(value=value, type=type_):
            written = json.dumps(value) if isinstance(value, str) else str(value)
            return f"{written}:{type_}"
        case nodes.Call(function=function, arguments=arguments):
            return f"({' '.join([function, *map(meaning_of, arguments)])})"
        case nodes.Cast(argument=argument, type=type_):
            return f"(as {type_} {meaning_of(argument)})"
        case nodes.Case(branches=branches, otherwise=otherwise):
            parts = [meaning_of(part) for branch in branches for part in branch]
            return f"(case {' '.join([*parts, meaning_of(otherwise)])})"
        case nodes.Aggregate() | nodes.GroupValue() | nodes.AggregateValue():
            raise AssertionError("aggregates are computed from columns, not in them")
        case _:
            assert_never(expression)


def quoted(name: str) -> str:
    """A plain word as it is, anything else in backticks: by its letters alone, whatever words SQL reserves."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def short(name: str) -> str:
    """The name itself, or its beginning and a hash of all of it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 18]}… {sha256(name.encode()).hexdigest()[:16]}"


# --- totals, which are numbered: they are of one plan and never stored ----------------------------------------------


def integer_column(number: int) -> str:
    """An integer product of totals."""
    return f"integer {number}"


def real_columns(number: int) -> tuple[str, str]:
    """A double-double product of totals: high and low."""
    return f"high {number}", f"low {number}"


def extreme_column(number: int) -> str:
    """An extreme of totals."""
    return f"extreme {number}"


def group_column(number: int) -> str:
    """A GROUP BY expression, in finished answers."""
    return f"group_{number}"


def aggregate_column(number: int, before: bool = False) -> str:
    """An aggregate, in finished answers; ``before``: as it was at the instant before."""
    return f"old_aggregate_{number}" if before else f"aggregate_{number}"


def pair_column(ordinal: int) -> str:
    """How expressions over combinations name an input."""
    return str(ordinal)
