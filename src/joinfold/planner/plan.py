"""The physical plan of a query: what Spark projects for each input, what the stages keep, how answers are finished."""

from dataclasses import dataclass

from joinfold.logical.expressions import Expression
from joinfold.logical.query import Input, LogicalQuery
from joinfold.operators.layout import FoldLayout
from joinfold.types import DataType


@dataclass(frozen=True, slots=True)
class Frame:
    """The columns that Spark computes of an input before its rows go to PACK."""

    input: Input
    keep: Expression | None
    columns: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A GROUP BY expression: the input that has it and its place among that input's group columns."""

    place: int
    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """Everything a runtime needs to run a query."""

    query: LogicalQuery
    frames: tuple[Frame, ...]
    layout: FoldLayout
    groups: tuple[GroupColumn, ...]
    merges: bool
