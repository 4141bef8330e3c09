"""The physical plan of a query: what Spark projects from each input, the stages after PACK, and their choices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from joinfold.logical.expressions import AggregateValue, Column, Expression, GroupValue, rewrite
from joinfold.logical.query import Input, LogicalQuery
from joinfold.logical.shedding import Sampler
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import ANSWER, Role, aggregate_column, group_column
from joinfold.physical.payload import InputSpec
from joinfold.physical.shedding import KeySampling, RowSampling, Shedding, reads_clock
from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import (
    Body,
    JoiningStage,
    LastStage,
    Merge,
    NumberRows,
    StatefulStage,
    input_from,
    inputs_of,
    is_distributed,
)
from joinfold.physical.timing import Timing


@dataclass(frozen=True, slots=True)
class Equality:
    """A value of some inputs that must equal a value of others. Both have one type; ``condition`` is as written."""

    left: Expression
    right: Expression
    condition: Expression


@dataclass(frozen=True, slots=True)
class Attachment:
    """Relations that are joined to a stream together: the conditions on them alone, and the equalities with it.

    ``matches`` is the number of matches that a row of the stream is expected to have; None if it is not known.
    """

    relations: tuple[Input, ...]
    conditions: tuple[Expression, ...]
    keys: tuple[Equality, ...]
    matches: float | None = None

    @property
    def said(self) -> tuple[Expression, ...]:
        """All conditions that the attachment checks, as written."""
        return (*self.conditions, *(key.condition for key in self.keys))


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column that Spark computes from an input."""

    name: str
    expression: Expression
    role: Role = "value"


@dataclass(frozen=True, slots=True)
class Frame:
    """The columns that Spark computes from an input before its rows go to PACK.

    If relations are attached to a stream, the frame has a row for every *match*: a row of the stream with one row of
    each relation, for which all attachments and all of ``matching`` are true. A row of the stream without a match is
    there once. Two more columns tell them apart: ``first`` is true once for every row of the stream, ``matches`` is
    true for every match.
    """

    input: Input
    keep: Expression | None
    columns: tuple[FrameColumn, ...]
    attached: tuple[Attachment, ...] = ()
    matching: tuple[Expression, ...] = ()

    @property
    def expressions(self) -> dict[str, Expression]:
        """The expression of each column, by its name."""
        return {column.name: column.expression for column in self.columns}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The stages after PACK, and when they answer: everything that a worker needs.

    ``where`` has the meanings of all conditions of WHERE, sorted. State that was made with other conditions is refused.
    ``shedding`` is None without SHED.
    """

    stages: tuple[StatefulStage, ...]
    last: LastStage
    timing: Timing
    where: tuple[str, ...] = ()
    shedding: Shedding | None = None

    def in_zone(self, zone: str) -> "Pipeline":
        """The pipeline with timestamps read in this time zone."""
        return replace(self, timing=replace(self.timing, zone=zone))

    @property
    def bounded(self) -> "Pipeline":
        """The pipeline of a bounded run, which has no micro-batches: no row lies ahead of them, no stream is idle."""
        return replace(self, timing=replace(self.timing, has_ahead=(), idles_us=()))

    @property
    def reads_clock(self) -> bool:
        """Whether PACK has to know the time of the micro-batch."""
        return reads_clock(self.shedding) or self.timing.reads_clock

    def stage_of(self, stream: int) -> int:
        """The number of the stage that gets the entries of a stream."""
        return next(n for n, stage in enumerate(self.stages) if input_from(stage, StreamRows(stream)) is not None)

    def input_of(self, stream: int) -> InputSpec:
        """The input that reads a stream."""
        stage = self.stages[self.stage_of(stream)]
        return next(spec for spec in inputs_of(stage) if spec.source == StreamRows(stream))

    def reader_of(self, view: int) -> int:
        """The number of the stage that reads the view of stage ``view``."""
        return next(n for n, stage in enumerate(self.stages) if input_from(stage, ViewOf(view)) is not None)

    @property
    def answering(self) -> JoiningStage:
        """The last stage with state. It makes the answers."""
        stage = self.stages[-1]
        assert isinstance(stage, JoiningStage)
        return stage

    @property
    def is_distributed(self) -> bool:
        """Whether the answering stage can use more than one bucket."""
        return is_distributed(self.answering)

    @property
    def numbers_rows(self) -> bool:
        """Whether rows are numbered before the folds."""
        return isinstance(self.stages[0], NumberRows)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """Everything a runtime needs to run a query.

    ``keys`` has the expressions of each key class, by its number. ``shown`` has, for a plain join, the columns that
    SELECT reads, with their names in combinations. ``root`` is the alias of the input that a chain of folds joins last,
    None without a chain.
    """

    query: LogicalQuery
    frames: tuple[Frame, ...]
    pipeline: Pipeline
    choices: tuple[FoldChoice, ...]
    keys: tuple[tuple[Expression, ...], ...] = ()
    shown: tuple[tuple[Column, str], ...] = ()
    root: str | None = None

    def __post_init__(self) -> None:
        assert len(self.choices) == len(self.pipeline.stages)

    @property
    def stages(self) -> tuple[StatefulStage, ...]:
        """The stages with state."""
        return self.pipeline.stages

    @property
    def timing(self) -> Timing:
        """The windows, the delays and the emission rule."""
        return self.pipeline.timing

    @property
    def answering(self) -> JoiningStage:
        """The stage that answers."""
        return self.pipeline.answering

    @property
    def body(self) -> Body:
        """What the answering stage joins and sums."""
        return self.pipeline.answering.body

    @property
    def choice(self) -> FoldChoice:
        """The choice for the answering stage."""
        return self.choices[-1]

    @property
    def homes(self) -> dict[str, str]:
        """The stream that each relation is joined to, by their aliases."""
        return {
            relation.alias: frame.input.alias
            for frame in self.frames
            for attachment in frame.attached
            for relation in attachment.relations
        }

    @property
    def matches(self) -> dict[tuple[str, str], float]:
        """How many matches a row of a stream is expected to have in a relation, where that is known."""
        return {
            (relation.alias, frame.input.alias): attachment.matches
            for frame in self.frames
            for attachment in frame.attached
            if attachment.matches is not None
            for relation in attachment.relations
        }

    @property
    def sampler(self) -> Sampler | None:
        """What SHED samples; None if it samples nothing."""
        match self.pipeline.shedding:
            case KeySampling():
                return "key"
            case RowSampling():
                return "row"
            case _:
                return None

    @property
    def has_complete_groups(self) -> bool:
        """Whether a group of an estimate that is shown is complete, so that its values are exact."""
        last = self.pipeline.last
        return isinstance(last, Merge) and last.estimates is not None and last.estimates.complete

    def over_answer(self, expression: Expression, before: bool = False) -> Expression:
        """An expression of SELECT or HAVING over the columns of MERGE's output; ``before``: of the instant before."""
        return over_answer(expression, before, dict(self.shown))


def over_answer(
    expression: Expression, before: bool = False, shown: Mapping[Column, str] = MappingProxyType({})
) -> Expression:
    """An expression of SELECT or HAVING over the columns of MERGE's output, under the alias `ANSWER`.

    ``before``: with the aggregates of the instant before. ``shown`` has the columns of a plain join.
    """

    def column(node: Expression) -> Expression | None:
        match node:
            case GroupValue(index=index, type=type_):
                return Column(ANSWER, group_column(index), type_)
            case AggregateValue(index=index, type=type_):
                return Column(ANSWER, aggregate_column(index, before), type_)
            case Column():
                return Column(ANSWER, shown[node], node.type)
            case _:
                return None

    return rewrite(expression, column)
