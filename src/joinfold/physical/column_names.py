"""The names of columns. A column is named after what it means, so plans of a later version can read older state.

A column of a frame is named after its expression, in a notation that does not depend on the SQL printer:

    a.price                          a column
    (+ a.price 1:INT)                a function or operator of its arguments
    (as BIGINT a.price)              a conversion
    (case c v … otherwise)           CASE

Sums and extremes are named after what they sum (`physical.payload`). A long name is cut and ends in a hash. All other
names are fixed and defined here only.
"""

import json
import re
from hashlib import sha256
from typing import Literal, assert_never

from joinfold.logical import expressions as nodes
from joinfold.logical.expressions import Expression

Role = Literal["value", "argument", "order"]
"""What a column of a frame is for: a value that rows differ in, the argument of an aggregate, or to order rows."""

TIME, KEEP, FIRST, MATCHES = "ts", "keep", "first", "matches"  # in a frame
CELL = "cell"  # in entries: the cell of time, or the block of rows
INSTANT = "instant"  # in totals and answers: the instant, or the number of the arrival or result window
ORIGIN = "made by"  # in views: the bucket, as each has its part of a group; of last rows, a number for each row
BATCH, ROW = "batch", "row"  # in rows that are looked up again: the number of their batch, and of the row in it
TURN = "turn"  # in last rows: the number of a row in the order of its bucket; all matches of a row have the same
NUMBER, COPIES, EQUAL, MOVED = "number", "copies", "equal", "moved"  # in row boundaries
ANSWER = "answer"  # the alias under which SELECT and HAVING read the output of MERGE
DRAW = "draw"  # in entries, under SHED: the hash that decides whether a row is kept
CLOCK = "clock"  # in a frame, under SHED and where a stream can be idle: the time of the micro-batch
KEPT = "kept"  # in answers, under SHED: the probability with which a combination was kept
WAS, NOW = "was", "now"  # under CHANGES: whether a group existed before, and whether it exists now

COUNT = "count"  # in entries and totals: how many rows, or combinations
LONGEST = 80
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def column_name(expression: Expression, role: Role = "value") -> str:
    """The name of a column of a frame."""
    meaning = meaning_of(expression)
    return short(meaning if role == "value" else f"{role} {meaning}")


def meaning_of(expression: Expression) -> str:
    """An expression in a notation that depends only on what it computes."""
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
    """A plain word as it is, anything else in backticks. Reserved words of SQL are not quoted."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def short(name: str) -> str:
    """The name itself, or for a long name its beginning and a hash of the whole."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 18]}… {sha256(name.encode()).hexdigest()[:16]}"


# --- columns of totals and answers: numbered, since they belong to one plan and are never stored --------------------


def integer_column(number: int) -> str:
    """The name of an integer product in totals."""
    return f"integer {number}"


def real_columns(number: int) -> tuple[str, str]:
    """The names of a double-double product in totals: its high and its low part."""
    return f"high {number}", f"low {number}"


def error_column(number: int) -> str:
    """The name of the bound of the error of a double-double product in totals, or of an aggregate in MERGE."""
    return f"error {number}"


def extreme_column(number: int) -> str:
    """The name of an extreme in totals."""
    return f"extreme {number}"


def group_column(number: int) -> str:
    """The name of a GROUP BY expression in answers."""
    return f"group_{number}"


def aggregate_column(number: int, before: bool = False) -> str:
    """The name of an aggregate in answers; ``before``: of its value at the instant before."""
    return f"old_aggregate_{number}" if before else f"aggregate_{number}"


def same_column(number: int) -> str:
    """The name of the column with whether a rounded aggregate is the same as before, apart from rounding."""
    return f"same_{number}"


def bound_columns(number: int, before: bool = False) -> tuple[str, str]:
    """The names of the bounds of an output in answers; ``before``: of their values at the instant before."""
    which = "old_" if before else ""
    return f"{which}low_{number}", f"{which}high_{number}"


def kept_column(before: bool = False) -> str:
    """The name of the column with the probability of being kept; ``before``: of its value at the instant before."""
    return f"old_{KEPT}" if before else KEPT


def replicate_column(ordinal: int) -> str:
    """The name of the column in totals with the replicate of an input's rows."""
    return f"replicate {ordinal}"


def pair_column(ordinal: int) -> str:
    """The name of an input in expressions over combinations."""
    return str(ordinal)
