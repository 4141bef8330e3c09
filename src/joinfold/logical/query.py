"""The bound query: all names are resolved and all types known. It says nothing about how the query will run.

The fields of `LogicalQuery` are what was written: inputs, conjuncts of WHERE, groups, aggregates, outputs, EMIT and
SYNC rules. What follows from them is a property or method: the columns read, the filters of each input, the join graph.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from joinfold.algebra import AGGREGATES
from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Column,
    Expression,
    GroupValue,
    Value,
    inputs_read,
    reads_zone,
    rewrite,
    walk,
)
from joinfold.logical.graph import JoinGraph
from joinfold.logical.shedding import Estimating, Shed
from joinfold.types import BIGINT, DOUBLE, STRING, TIMESTAMP, DataType, Field, Schema
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window


@dataclass(frozen=True, slots=True)
class Source:
    """What was registered under a name: a stream with an event time and a delay, or a relation.

    ``time`` is the event-time column; None for a stream whose rows have the time at which they arrive. ``ahead_us`` is
    how far event times may lie beyond the time of their micro-batch, None if that does not matter. ``idle_us`` is the
    silence after which the stream no longer holds the watermark back, None if it always does.
    """

    name: str
    schema: Schema
    is_stream: bool
    time: str | None = None
    delay_us: int = 0
    ahead_us: int | None = None
    idle_us: int | None = None

    @property
    def clock(self) -> DataType:
        """The type of the stream's time: TIMESTAMP, or BIGINT if the time column is an integer."""
        integer = self.time is not None and self.schema.type_of(self.time).is_integer
        return BIGINT if integer else TIMESTAMP


@dataclass(frozen=True, slots=True)
class Input:
    """A source with an alias and, for a stream, a window."""

    alias: str
    source: Source
    window: Window | None

    def __post_init__(self) -> None:
        assert self.source.is_stream == (self.window is not None)


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the SELECT list: an expression over group and aggregate values, or in a plain join over columns."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OnSlide:
    """An instant at every move of a window."""


@dataclass(frozen=True, slots=True)
class Every:
    """An instant at every multiple of the period since the epoch."""

    period_us: int


@dataclass(frozen=True, slots=True)
class OnTrigger:
    """An instant at every advance of the watermark."""


@dataclass(frozen=True, slots=True)
class OnArrival:
    """An answer for every row of every stream."""


Emit = OnSlide | Every | OnTrigger | OnArrival


@dataclass(frozen=True, slots=True)
class OnTime:
    """All windows are read at the same instants."""


@dataclass(frozen=True, slots=True)
class OnFull:
    """All windows are read at the instants at which all windows with a slide in time move."""


@dataclass(frozen=True, slots=True)
class OnWindowId:
    """Windows with the same number are joined; with a modulus k, the first k windows of the first input repeat."""

    modulus: int | None = None


Sync = OnTime | OnFull | OnWindowId


@dataclass(frozen=True)
class LogicalQuery:
    """What a query means. Equal logical queries have equal answers on all data."""

    inputs: tuple[Input, ...]
    where: tuple[Expression, ...]
    groups: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expression | None
    emit: Emit | None
    changes: bool
    sync: Sync
    shed: Shed | None = None
    options: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        assert self.inputs and self.outputs
        assert (self.emit is None) == (self.is_plain_join or isinstance(self.sync, OnWindowId))

    @property
    def is_plain_join(self) -> bool:
        """Whether there is no aggregate, GROUP BY or HAVING: the answer is the combinations themselves."""
        return not self.groups and not self.aggregates and self.having is None

    @property
    def streams(self) -> tuple[Input, ...]:
        """The inputs that have a window, in the order of FROM."""
        return tuple(input_ for input_ in self.inputs if input_.window is not None)

    def input(self, alias: str) -> Input:
        """The input with this alias."""
        return next(input_ for input_ in self.inputs if input_.alias == alias)

    @cached_property
    def graph(self) -> JoinGraph:
        """How WHERE connects the inputs."""
        return JoinGraph.of(tuple(input_.alias for input_ in self.inputs), self.where)

    def filters(self, alias: str) -> tuple[Expression, ...]:
        """The conjuncts that read no other input: those that read only this one, and those that read none."""
        return tuple(part for part in self.where if inputs_read(part) <= {alias})

    def columns_read(self, alias: str) -> tuple[str, ...]:
        """The columns of an input that the query reads, in schema order; the query tells rows apart only by these."""
        input_ = self.input(alias)
        read = {node.name for node in self._nodes() if isinstance(node, Column) and node.input == alias}
        if isinstance(input_.window, PartitionedRows):
            read.update(input_.window.by)
        return tuple(name for name in input_.source.schema.names if name in read)

    def expanded(self, expression: Expression) -> Expression:
        """The expression with group and aggregate values replaced by their definitions."""

        def definition(node: Expression) -> Expression | None:
            match node:
                case GroupValue(index=index):
                    return self.groups[index]
                case AggregateValue(index=index):
                    return self.aggregates[index]
                case _:
                    return None

        return rewrite(expression, definition)

    @property
    def reads_zone(self) -> bool:
        """Whether the answers depend on the session's time zone."""
        roots = [*self._roots(), *([] if self.having is None else [self.having])]
        return any(reads_zone(root) for root in roots)

    @property
    def without_options(self) -> "LogicalQuery":
        """The query without OPTION. A checkpoint belongs to a query if these are equal."""
        return replace(self, options=())

    @property
    def schema(self) -> Schema:
        """The columns of the answer: the SELECT list, where bounds follow each estimate, and what is around it."""
        selected: list[Field] = []
        for number, output in enumerate(self.outputs):
            names = [output.name, *(bound_names(output.name) if number in self.estimated else ())]
            selected += [Field(name, output.expression.type) for name in names]
        return Schema((*self.preceding, *selected, *self.following))

    @property
    def preceding(self) -> tuple[Field, ...]:
        """The columns before the SELECT list: the leading ones, and ``change`` under CHANGES."""
        return (*self.leading, *((Field("change", STRING),) if self.changes else ()))

    @property
    def following(self) -> tuple[Field, ...]:
        """The columns after the SELECT list: ``kept`` where answers are estimates."""
        return (Field("kept", DOUBLE),) if self.is_estimate else ()

    @property
    def is_estimate(self) -> bool:
        """Whether the answers are estimates, by SHED."""
        return self.shed is not None and isinstance(self.shed.how, Estimating)

    @cached_property
    def estimated(self) -> frozenset[int]:
        """The numbers of the outputs that have bounds: numbers made of aggregates, and extremes of any type."""
        if not self.is_estimate:
            return frozenset()
        return frozenset(number for number, output in enumerate(self.outputs) if self._has_bounds(output.expression))

    @property
    def selected(self) -> tuple[int, ...]:
        """The places of the SELECT list among the columns after the leading ones and ``change``.

        CHANGES compares these, and not bounds or ``kept``.
        """
        places, place = [], 0
        for number in range(len(self.outputs)):
            places.append(place)
            place += 3 if number in self.estimated else 1
        return tuple(places)

    def aggregates_in(self, expression: Expression) -> frozenset[int]:
        """The numbers of the aggregates that an expression over group and aggregate values reads."""
        return frozenset(node.index for node in walk(expression) if isinstance(node, AggregateValue))

    def is_rounded(self, expression: Expression) -> bool:
        """Whether an expression over group and aggregate values reads an aggregate that may have a rounding error."""
        return any(self.aggregates[number].is_rounded for number in self.aggregates_in(expression))

    def _has_bounds(self, expression: Expression) -> bool:
        if isinstance(expression, AggregateValue) and AGGREGATES[self.aggregates[expression.index].function].extremum:
            return True
        return expression.type.is_numeric and any(isinstance(node, AggregateValue) for node in walk(expression))

    @property
    def leading(self) -> tuple[Field, ...]:
        """The first columns of the answer: the instant or the result window, and under EMIT ON ARRIVAL the arrival."""
        leading: list[Field] = []
        if isinstance(self.sync, OnWindowId):
            leading.append(Field("wid", BIGINT))
            for input_ in self.streams:
                counted = isinstance(input_.window, Rows)
                edge = BIGINT if counted else input_.source.clock
                leading += [Field(f"{input_.alias}_start", edge), Field(f"{input_.alias}_end", edge)]
        else:
            leading.append(Field("instant", self.streams[0].source.clock))
        if isinstance(self.emit, OnArrival):
            leading.append(Field("arrival", BIGINT))
        return tuple(leading)

    def _roots(self) -> list[Expression]:
        return [*self.where, *self.groups, *self.aggregates, *(output.expression for output in self.outputs)]

    def _nodes(self) -> list[Expression]:
        return [node for root in self._roots() for node in walk(root)]


def bound_names(name: str) -> tuple[str, str]:
    """The names of the columns with the lower and the upper bound of an estimate."""
    return f"{name}_low", f"{name}_high"


def moves(window: Window | None) -> bool:
    """Whether the window has moves, which EMIT ON SLIDE needs."""
    match window:
        case Sliding() | Rows() | PartitionedRows() | RangeByRows():
            return True
        case Continuous() | Landmark() | None:
            return False
