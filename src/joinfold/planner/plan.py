"""The physical plan of a query: what Spark projects for each input, what the stages keep, how answers are finished."""

from dataclasses import dataclass

from joinfold.logical.expressions import Column, Expression
from joinfold.logical.query import Input, LogicalQuery
from joinfold.operators.choice import FoldChoice
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
    """A GROUP BY expression: the place that has it and its number among the group columns of that place."""

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
    choice: FoldChoice
    shown: tuple[tuple[Column, str], ...] = ()
    """For a plain join: under which name combinations have a column that SELECT reads."""

    def group_name(self, group: GroupColumn) -> str:
        """The column of MERGE's answer that has a group: places come in their order."""
        before = sum(len(side.groups) for side in self.layout.places[: group.place])
        return f"g{before + group.index}"
