"""What a draft gathers, computed in plain Python: the columns of each frame, and combinations of their rows."""

from collections.abc import Mapping
from typing import Any

from joinfold.logical.expressions import Expression
from joinfold.physical.column_names import pair_column
from joinfold.planner.drafting.gathered_columns import GatheredColumns
from joinfold.planner.drafting.input_columns import InputColumns
from joinfold.reference.evaluate import Context, evaluate

Row = Mapping[str, Any]


def as_written(expression: Expression) -> Expression:
    """The query has no relations: everything is called as it is written."""
    return expression


def gathered_for(aliases: str) -> GatheredColumns:
    """An input for each letter."""
    return GatheredColumns(tuple(aliases), as_written)


def frame_row(own: InputColumns, rows: Mapping[str, Row]) -> dict[str, Any]:
    """The columns of an input's frame, of one row."""
    return {name: evaluate(column.expression, Context(rows)) for name, column in own.frame.items()}


def carried_rows(gathered: GatheredColumns, rows: Mapping[str, Row]) -> dict[str, dict[str, Any]]:
    """What the pair reads of a combination: the frames of all inputs, by the names that the pair has for them."""
    return {pair_column(ordinal): frame_row(own, rows) for ordinal, own in enumerate(gathered.inputs)}
