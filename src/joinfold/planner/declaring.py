"""What users declare about their streams, and what follows from it for a query.

The rate of a stream and its number of different keys are declared once, where the stream is registered. Keys are either
one number, whatever columns the stream is joined by, or a number of different values for each column. The latter serves
every query that joins or groups by these columns. A query can override both for its own inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, prod

from joinfold.errors import UsageError, suggestion
from joinfold.logical.expressions import Cast, Column, Expression, walk
from joinfold.names import find_name
from joinfold.physical.plan import Frame, PhysicalPlan
from joinfold.planner.chaining import usual_input
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from joinfold.types import Schema

Keys = float | Mapping[str, float]  # different keys in all, or different values of each column


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared about a stream; None, or no column, where nothing is declared."""

    rate: float | None = None
    keys: float | None = None
    groups: float | None = None
    columns: Mapping[str, float] = field(default_factory=dict)

    def over(self, other: "Declared") -> "Declared":
        """This declaration, completed from another."""
        rate, keys, groups = (
            fallback if value is None else value
            for value, fallback in ((self.rate, other.rate), (self.keys, other.keys), (self.groups, other.groups))
        )
        return Declared(rate, keys, groups, {**other.columns, **self.columns})


NOTHING = Declared()


def declared_stream(name: str, schema: Schema, rate: float | None, keys: Keys | None) -> Declared:
    """What is declared where a stream is registered; raises `UsageError` for impossible numbers and unknown columns."""
    rate = None if rate is None else checked_rate(rate, f"the rate of stream '{name}'")
    if not isinstance(keys, Mapping):
        return Declared(rate, None if keys is None else checked_count(keys, f"the keys of stream '{name}'"))
    columns = {}
    for column, number in keys.items():
        found = find_name(column, schema.names)
        if len(found) != 1:
            near = suggestion(column, schema.names)
            hint = f"did you mean '{near}'? It has" if near else "it has"
            raise UsageError(f"stream '{name}' has no column '{column}'", f"{hint}: {', '.join(schema.names)}.")
        columns[found[0]] = checked_count(number, f"the different values of '{found[0]}' in stream '{name}'")
    return Declared(rate, columns=columns)


def checked_rate(value: object, what: str) -> float:
    """A number of rows per second; raises `UsageError` unless it is finite and above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise UsageError(f"{what} cannot be {value!r}", "give the rows per second of event time, a number above 0.")
    return float(value)


def checked_count(value: object, what: str) -> float:
    """A number of different values; raises `UsageError` unless it is finite and at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 1:
        raise UsageError(f"{what} cannot be {value!r}", "give how many there are, at least 1.")
    return float(value)


def assumed_statistics(draft: PhysicalPlan) -> Statistics:
    """What the query alone tells about its streams: whether they have keys and groups, and whether both are equal."""
    streams = tuple(_Roles.of(draft, stream).assumed() for stream in range(len(draft.frames)))
    combining = draft.body.combining
    return Statistics(streams) if combining.ranges or combining.conditions else Statistics(streams, selectivity=1.0)


def with_declared(known: Statistics, draft: PhysicalPlan, declared: Mapping[int, Declared]) -> Statistics:
    """What is known, replaced by what is declared where a stream has a declaration."""
    for stream, declaration in declared.items():
        known = known.with_stream(stream, _Roles.of(draft, stream).declared(known.streams[stream], declaration))
    return known


@dataclass(frozen=True, slots=True)
class _Roles:
    """The expressions that make the keys, the groups and the identity of the entries of one input."""

    alias: str
    keys: frozenset[Expression]
    groups: frozenset[Expression]
    identity: frozenset[Expression]

    @classmethod
    def of(cls, draft: PhysicalPlan, stream: int) -> "_Roles":
        frame, spec = draft.frames[stream], usual_input(draft, stream)
        made_of = (_expressions(frame, names) for names in (spec.keys, spec.stored_groups, spec.identity))
        return cls(frame.input.alias, *made_of)

    def assumed(self) -> StreamStatistics:
        usual = StreamStatistics()
        keys = usual.keys if self.keys else 1.0
        groups = keys if self.groups == self.keys else usual.groups if self.groups else 1.0
        return replace(usual, keys=keys, groups=groups, entries=self._entries(keys, groups))

    def declared(self, known: StreamStatistics, declaration: Declared) -> StreamStatistics:
        keys = self._count(self.keys, declaration.keys, declaration, known.keys)
        groups = self._count(self.groups, declaration.groups, declaration, known.groups)
        entries = self._count(self.identity, None, declaration, known.entries)
        if self.keys == self.groups:
            keys, groups = keys or groups, groups or keys
        if declaration.rate is not None:
            known = replace(known, rate=declaration.rate, origin="declared")
        if keys is None and groups is None and entries is None:
            return known
        keys, groups = keys or known.keys, groups or known.groups
        entries, skew = self._entries(keys, groups, entries or known.entries), min(known.skew, keys)
        return replace(known, keys=keys, groups=groups, entries=entries, skew=skew, origin="declared")

    def _entries(self, keys: float, groups: float, counted: float | None = None) -> float | None:
        """How many different entries there are, None if unknown.

        Follows from keys or groups where entries differ only in these. Otherwise it is ``counted``, limited to what
        keys and groups allow.
        """
        if self.identity == self.keys or self.identity == self.groups:
            return keys if self.identity == self.keys else groups
        if counted is None:
            return None
        most = keys * groups if self.identity == self.keys | self.groups else counted
        return max(min(counted, most), keys, groups)

    def _count(
        self, of: frozenset[Expression], number: float | None, declaration: Declared, known: float | None
    ) -> float | None:
        """How many different values these expressions have together, as declared; None if it is not declared.

        ``number`` is the declared count itself, if there is one. Otherwise the count follows from the declared columns.
        An expression has at most as many values as its columns together, and may have far fewer. So for other
        expressions than columns this bound is used only where it is below what is known.
        """
        if not of or number is not None:
            return number if of else None
        columns = {part for expression in of for part in walk(expression) if isinstance(part, Column)}
        if not columns or not all(part.input == self.alias and part.name in declaration.columns for part in columns):
            return None
        most = prod(declaration.columns[part.name] for part in columns)
        return most if columns == of or known is None or most < known else None


def _expressions(frame: Frame, names: tuple[str, ...]) -> frozenset[Expression]:
    """The expressions of columns of a frame, without a conversion to another type."""
    return frozenset(_unconverted(frame.expressions[name]) for name in names)


def _unconverted(expression: Expression) -> Expression:
    return expression.argument if isinstance(expression, Cast) else expression
