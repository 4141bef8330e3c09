"""The physical plan of a query: what Spark projects for each input, what the stages keep, how answers are finished."""

from dataclasses import dataclass

from joinfold.logical.expressions import Column, Expression
from joinfold.logical.query import Input, LogicalQuery
from joinfold.operators.choice import FoldChoice
from joinfold.operators.layout import FoldLayout
from joinfold.planner.adapting import Following
from joinfold.planner.cost.sizes import column_bytes
from joinfold.planner.estimates import Decision
from joinfold.types import DataType


@dataclass(frozen=True, slots=True)
class Equality:
    """A value of some inputs that must be equal to one of others, both in one type; ``condition`` is as written."""

    left: Expression
    right: Expression
    condition: Expression


@dataclass(frozen=True, slots=True)
class Attachment:
    """Relations that are joined to a stream together: what is said of them alone, and what must equal the stream's."""

    relations: tuple[Input, ...]
    conditions: tuple[Expression, ...]
    keys: tuple[Equality, ...]

    @property
    def said(self) -> tuple[Expression, ...]:
        """All conditions that the attachment sees to."""
        return (*self.conditions, *(key.condition for key in self.keys))


@dataclass(frozen=True, slots=True)
class Frame:
    """The columns that Spark computes of an input before its rows go to PACK.

    A stream that relations are attached to has a row for every *match*: a row of the stream with one of each relation,
    for which all of ``matching`` is true besides. A row of the stream without a match is there once. Two more columns
    say which is which: ``first`` is true once for every row of the stream, ``matches`` for every match.
    """

    input: Input
    keep: Expression | None
    columns: tuple[tuple[str, Expression], ...]
    attached: tuple[Attachment, ...] = ()
    matching: tuple[Expression, ...] = ()

    @property
    def column_bytes(self) -> dict[str, float]:
        """What a value of each column takes in a blob, on the average."""
        return {name: column_bytes(expression.type) for name, expression in self.columns}


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A GROUP BY expression: the place that has it and its number among the group columns of that place."""

    place: int
    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """Everything a runtime needs to run a query: one fold, or a chain of them, each with what is chosen for it."""

    query: LogicalQuery
    frames: tuple[Frame, ...]
    folds: tuple[FoldLayout, ...]
    groups: tuple[GroupColumn, ...]
    merges: bool
    choices: tuple[FoldChoice, ...]
    keys: tuple[tuple[Expression, ...], ...]
    """The values that are equal in every combination, by the number of their class."""
    shown: tuple[tuple[Column, str], ...] = ()
    """For a plain join: under which name combinations have a column that SELECT reads."""
    root: str | None = None
    """Of a chain the input that is joined last."""
    decision: Decision | None = None
    """What the plan was chosen among, and why; None where nothing was estimated."""
    following: Following | None = None
    """How a running query changes to a cheaper plan; None where it stays with this one."""

    @property
    def layout(self) -> FoldLayout:
        """The last fold, which answers."""
        return self.folds[-1]

    @property
    def choice(self) -> FoldChoice:
        """What is chosen for the last fold."""
        return self.choices[-1]

    def group_name(self, group: GroupColumn) -> str:
        """The column of MERGE's answer that has a group: places come in their order."""
        before = sum(len(side.groups) for side in self.layout.places[: group.place])
        return f"g{before + group.index}"
