"""Random logical queries in the form that the binder gives them.

Expressions are typed: `CALLS` lists the argument types of every function, a call picks one of them, and arguments are
drawn by type. Expressions that the binder never makes are not drawn: a negated number is a negative constant, AND in
AND is one AND, an integer constant beside a decimal is a decimal, COUNT of a constant is COUNT(*).
"""

import decimal
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from joinfold.algebra import AGGREGATES
from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    GroupValue,
    Literal,
    rewrite,
    walk,
)
from joinfold.logical.functions import FUNCTIONS, TRUNCATION_UNITS
from joinfold.logical.query import (
    Emit,
    Every,
    Input,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnSlide,
    OnTime,
    OnTrigger,
    OnWindowId,
    Output,
    Source,
    Sync,
    moves,
)
from joinfold.logical.shedding import (
    FAVOURS,
    UNSTATED,
    AllTo,
    Budget,
    Estimating,
    Favouring,
    HoldBytes,
    HoldRows,
    KeepUp,
    Process,
    Sampler,
    Shed,
)
from joinfold.logical.sql import default_alias, default_name
from joinfold.logical.steps import MOST_STEPS, most_steps
from joinfold.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    Field,
    Schema,
    castable,
    common_type,
)
from joinfold.types import decimal as decimal_type
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

TYPES = (
    BOOLEAN,
    *map(DataType, ("TINYINT", "SMALLINT")),
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    decimal_type(5, 0),
    decimal_type(10, 2),
    decimal_type(38, 18),
    STRING,
    BINARY,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    INTERVAL,
)
CASTABLE_TO = tuple(type_ for type_ in TYPES if type_ != INTERVAL)
CHAINS = ("and", "or", "||")
TWO_OPERANDS = ("=", "<>", "<", "<=", ">", ">=")


def _calls() -> dict[str, list[tuple[DataType, ...]]]:
    """For every function, the argument types of TYPES and VOID that it is defined for."""
    few = (INT, STRING, BOOLEAN, decimal_type(10, 2), TIMESTAMP)
    candidates = [*itertools.product((*TYPES, VOID), repeat=1), *itertools.product((*TYPES, VOID), repeat=2)]
    candidates += itertools.product(few, repeat=3)
    found: dict[str, list[tuple[DataType, ...]]] = {}
    for name, function in FUNCTIONS.items():
        minimum, maximum = (1, 1) if name == "not" else (2, 2) if name in TWO_OPERANDS else (1, 3)
        minimum = 2 if name in (*CHAINS, "in") else minimum
        found[name] = [
            types for types in candidates if minimum <= len(types) <= maximum and function.signature(types) is not None
        ]
    return found


CALLS = _calls()
CALLS_BY_RESULT: dict[DataType, dict[str, list[tuple[DataType, ...]]]] = {}
for _name, _signatures in CALLS.items():
    for _types in _signatures:
        _signature = FUNCTIONS[_name].signature(_types)
        assert _signature is not None
        CALLS_BY_RESULT.setdefault(_signature.result, {}).setdefault(_name, []).append(_types)

# --- names ----------------------------------------------------------------------------------------------------

PLAIN = st.text("abcxyzABC_019", min_size=1, max_size=6)
WORDS = st.sampled_from(
    "select from where group by having emit slide rows window option order left date timestamp interval case end "
    "shed cast not null true count max as in like between table values start mod instant cube if".split()
)
ODD = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="."), min_size=1, max_size=5).filter(
    lambda name: name.strip()
)
NAMES = PLAIN | WORDS | ODD


def distinct(names: SearchStrategy[str], count: int, but: Iterable[str] = ()) -> SearchStrategy[list[str]]:
    """Names that differ not only in case."""
    taken = {name.lower() for name in but}
    return st.lists(
        names.filter(lambda name: name.lower() not in taken), min_size=count, max_size=count, unique_by=str.lower
    )


# --- constants ------------------------------------------------------------------------------------------------

MICROSECONDS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)


def literals(type_: DataType) -> SearchStrategy[Expression]:
    """Constants whose text is parsed with this type; NULL if there are no others."""
    values: dict[DataType, SearchStrategy[object]] = {
        BOOLEAN: st.booleans(),
        INT: st.integers(-(2**31), 2**31 - 1),
        BIGINT: st.integers(2**31, 2**63 - 1) | st.integers(-(2**63) + 1, -(2**31) - 1),
        DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
        STRING: st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
        | st.text("'\"\\`%_\n\r\t0\x00nt", max_size=6),
        BINARY: st.binary(max_size=4),
        DATE: st.dates(),
        TIMESTAMP: MICROSECONDS,
        TIMESTAMP_NTZ: MICROSECONDS,
        INTERVAL: st.integers(-(10**15), 10**15),
    }
    if type_.is_decimal:
        return decimals(type_).map(lambda value: Literal(value, type_))
    if type_ in values:
        return values[type_].map(lambda value: Literal(value, type_))  # type: ignore[arg-type]
    return st.just(Literal(None, VOID))


def decimals(type_: DataType) -> SearchStrategy[decimal.Decimal]:
    """Decimals with exactly as many digits as the type has."""
    precision, scale = type_.precision or 0, type_.scale or 0
    digits = st.integers(10 ** (precision - 1), 10**precision - 1)
    if precision == scale:
        digits = st.integers(0, 10**precision - 1)
    context = decimal.Context(prec=60)
    return st.tuples(digits, st.booleans()).map(
        lambda drawn: decimal.Decimal(-drawn[0] if drawn[1] else drawn[0]).scaleb(-scale, context)
    )


# --- expressions ----------------------------------------------------------------------------------------------


class Leaves:
    """The leaves of expressions that are not constants: columns, or groups and aggregates."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        self.by_type: dict[DataType, list[Expression]] = {}
        for expression in expressions:
            self.by_type.setdefault(expression.type, []).append(expression)

    def of(self, draw: DrawFn, type_: DataType) -> Expression:
        """A leaf of exactly this type: an existing one, a constant, or the cast of another one."""
        there = self.by_type.get(type_, [])
        choice = draw(st.integers(0, 2))
        if there and choice > 0:
            return draw(st.sampled_from(there))
        constant = draw(literals(type_))
        if constant.type == type_ and (choice == 0 or type_ in (VOID, INTERVAL)):
            return constant
        sources = [leaf for leaves in self.by_type.values() for leaf in leaves if castable(leaf.type, type_)]
        sources = [leaf for leaf in sources if not isinstance(leaf, Literal)]
        return Cast(draw(st.sampled_from(sources)) if sources else Literal(None, VOID), type_)


def expression_of(draw: DrawFn, leaves: Leaves, type_: DataType, depth: int) -> Expression:
    """An expression of exactly this type."""
    calls = CALLS_BY_RESULT.get(type_, {})
    kind = draw(st.integers(0, 9)) if depth > 0 else 0
    if kind <= 1 or (kind <= 7 and not calls):
        return leaves.of(draw, type_)
    if kind <= 7:
        name = draw(st.sampled_from(sorted(calls)))
        return call(draw, leaves, name, draw(st.sampled_from(calls[name])), depth - 1)
    if kind == 8 and type_ in CASTABLE_TO:
        source = draw(st.sampled_from([source for source in TYPES if castable(source, type_)]))
        return _cast(expression_of(draw, leaves, source, depth - 1), type_)
    return _case(draw, leaves, type_, depth - 1)


def any_expression(draw: DrawFn, leaves: Leaves, depth: int) -> Expression:
    """An expression of any type; every function is as likely as any other."""
    if draw(st.integers(0, 7)) == 0:
        return expression_of(draw, leaves, draw(st.sampled_from((*TYPES, VOID))), depth)
    name = draw(st.sampled_from(sorted(CALLS)))
    return call(draw, leaves, name, draw(st.sampled_from(CALLS[name])), depth)


def call(draw: DrawFn, leaves: Leaves, name: str, types: tuple[DataType, ...], depth: int) -> Expression:
    """A call of the function with arguments of these types."""
    arguments = [expression_of(draw, leaves, type_, depth) for type_ in types]
    if name in CHAINS:
        arguments = [_unchained(argument, name) for argument in arguments]
    elif name == "negate" or name in "+-*/%":
        beside_decimal = any(type_.is_decimal for type_ in types)
        arguments = [
            Cast(argument, argument.type)
            if isinstance(argument, Literal) and (name == "negate" or (beside_decimal and argument.type.is_integer))
            else argument
            for argument in arguments
        ]
    elif name == "date_trunc":
        arguments[0] = Literal(draw(st.sampled_from([*TRUNCATION_UNITS, "day"])), STRING)
    return Call(name, tuple(arguments))


def _unchained(argument: Expression, chain: str) -> Expression:
    """A replacement for a chain inside the same chain, which the binder would merge."""
    same = isinstance(argument, Call) and argument.function == chain
    return Call("coalesce", (argument,)) if same else argument


def _cast(argument: Expression, type_: DataType) -> Expression:
    text = isinstance(argument, Literal) and isinstance(argument.value, str)
    return Cast(Call("lower", (argument,)) if text else argument, type_)


def _case(draw: DrawFn, leaves: Leaves, type_: DataType, depth: int) -> Expression:
    count = draw(st.integers(1, 2))
    branches = tuple(
        (expression_of(draw, leaves, BOOLEAN, depth), expression_of(draw, leaves, type_, depth)) for _ in range(count)
    )
    otherwise = expression_of(draw, leaves, draw(st.sampled_from((type_, VOID))), depth)
    common: DataType | None = VOID
    for value in (*(then for _, then in branches), otherwise):
        common = None if common is None else common_type(common, value.type)
    assert common is not None
    return Case(branches, otherwise, common)


# --- inputs ---------------------------------------------------------------------------------------------------

DURATIONS = st.sampled_from([1, 1_000, 1_500_000, 60_000_000, 5_400_000_000, 604_800_000_000]) | st.integers(1, 10**12)
SLIDES = st.sampled_from([1_000_000, 2_000_000, 60_000_000])
COUNTS = st.integers(1, 5000)


def windows(columns: tuple[str, ...]) -> SearchStrategy[Window]:
    return (
        st.builds(Sliding, DURATIONS, DURATIONS, st.none() | MICROSECONDS)
        | st.builds(Continuous, DURATIONS)
        | st.builds(Rows, COUNTS, COUNTS)
        | st.builds(PartitionedRows, st.lists(st.sampled_from(columns), min_size=1, max_size=3).map(tuple), COUNTS)
        | st.builds(RangeByRows, DURATIONS, COUNTS)
        | st.builds(Landmark, st.none() | MICROSECONDS)
    )


NUMBERED = st.builds(Sliding, DURATIONS, DURATIONS, st.none()) | st.builds(Rows, COUNTS, COUNTS)
MEETING = st.builds(Sliding, DURATIONS, SLIDES) | st.builds(Continuous, DURATIONS) | st.builds(Landmark)
WITHOUT_SLIDE = st.builds(Continuous, DURATIONS) | st.builds(Rows, COUNTS) | st.builds(Landmark)


def _inputs(draw: DrawFn, rule: object) -> tuple[Input, ...]:
    count = draw(st.integers(1, 3))
    names = draw(distinct(NAMES, count))
    aliases = draw(distinct(NAMES, count))
    inputs: list[Input] = []
    for name, alias in zip(names, aliases, strict=True):
        extra = draw(st.lists(st.sampled_from(TYPES), max_size=4))
        columns = draw(distinct(NAMES, 2 + len(extra)))
        fields = tuple(map(Field, columns, (TIMESTAMP, INT, *extra)))
        name = draw(st.sampled_from((name, f"db.{name}")))
        window: Window | None
        match rule:
            case OnWindowId():
                window = draw(NUMBERED)
            case OnFull():
                window = draw(MEETING) if inputs else Sliding(60_000_000, draw(SLIDES))
            case OnArrival():
                window = draw(WITHOUT_SLIDE)
            case OnSlide():
                window = draw(windows(tuple(columns))) if inputs else draw(NUMBERED)
            case _:
                window = draw(windows(tuple(columns)))
        if inputs and draw(st.booleans()):
            window = None
        if draw(st.booleans()) and default_alias(name).lower() not in {other.lower() for other in aliases}:
            alias = default_alias(name)
        source = Source(name, Schema(fields), window is not None, None if window is None else columns[0])
        inputs.append(Input(alias, source, window))
    return tuple(inputs)


# --- queries --------------------------------------------------------------------------------------------------

OPTIONS = st.lists(
    st.tuples(
        st.text("abc_", min_size=1, max_size=4) | WORDS,
        st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | NAMES
        | st.sampled_from(["on", "OFF", "true", "tc", "", "a b", "5"]),
    ),
    max_size=3,
    unique_by=lambda option: option[0],
).map(tuple)

RULES: SearchStrategy[object] = st.sampled_from(
    [None, OnTime(), OnSlide(), OnTrigger(), OnArrival(), "every", OnFull(), OnWindowId()]
)


@st.composite
def logical_queries(draw: DrawFn) -> LogicalQuery:
    """A query of any kind. The rule None is a plain join."""
    rule = draw(RULES)
    inputs = _inputs(draw, rule)
    columns = Leaves(
        Column(input_.alias, field.name, field.type) for input_ in inputs for field in input_.source.schema
    )
    where = _where(draw, inputs, columns)
    streams = sum(input_.window is not None for input_ in inputs)
    if rule is None:
        outputs = [any_expression(draw, columns, 3) for _ in range(draw(st.integers(1, 3)))]
        sync: Sync = OnTime()
        if all(isinstance(input_.window, Sliding | Rows | None) for input_ in inputs) and draw(st.booleans()):
            sync = OnWindowId()
        named = _named(draw, inputs, outputs, sync)
        query = LogicalQuery(inputs, where, (), (), named, None, None, False, sync, None, draw(OPTIONS))
        return _with_few_steps(replace(query, shed=_favoured(draw, query)))
    groups = _groups(draw, columns)
    measures = [_aggregate(draw, columns) for _ in range(draw(st.integers(0, 3)))]
    leaves = Leaves([*groups, *measures])
    outputs = [*groups[: draw(st.integers(0, 2))], *measures]
    outputs += [any_expression(draw, leaves, 2) for _ in range(draw(st.integers(0 if outputs else 1, 2)))]
    having = expression_of(draw, leaves, BOOLEAN, 3) if draw(st.booleans()) else None
    written = [*outputs, *([having] if having is not None else [])]
    aggregates = tuple(dict.fromkeys(node for root in written for node in walk(root) if isinstance(node, Aggregate)))
    if not groups and not aggregates and having is None:
        having = Literal(True, BOOLEAN)
    over = _over(groups, aggregates)
    sync, emit = _sync_and_emit(draw, rule, inputs, streams)
    query = LogicalQuery(
        inputs,
        where,
        groups,
        aggregates,
        tuple(Output(output.name, over(output.expression)) for output in _named(draw, inputs, outputs, sync)),
        None if having is None else over(having),
        emit,
        draw(st.booleans()),
        sync,
        None,
        draw(OPTIONS),
    )
    return _with_few_steps(replace(query, shed=_estimated(draw, query)))


def _with_few_steps(query: LogicalQuery) -> LogicalQuery:
    """The query, unless its windows have too many steps."""
    steps = most_steps(query)
    assume(steps is None or steps.number <= MOST_STEPS)
    return query


AMOUNTS = st.integers(1, 9) | st.integers(1, 9).map(lambda size: size * 10**6) | st.integers(1, 2**63 - 1)
BUDGETS: SearchStrategy[tuple[Budget, ...]] = st.just(UNSTATED) | st.tuples(
    st.none() | st.builds(KeepUp, st.none() | DURATIONS),
    st.none() | st.builds(Process, AMOUNTS),
    st.none() | st.builds(HoldRows, AMOUNTS) | st.builds(HoldBytes, AMOUNTS),
).map(lambda drawn: tuple(budget for budget in drawn if budget is not None)).filter(bool)
SEEDS = st.just(0) | st.integers(0, 2**63 - 1)


def _favoured(draw: DrawFn, query: LogicalQuery) -> Shed | None:
    """SHED of a plain join, with floors that fit into the budgets. Partitions are needed as a whole."""
    streams = [input_.alias for input_ in query.streams]
    if len(streams) < 2 or draw(st.booleans()):
        return None
    budgets = draw(BUDGETS)
    if any(isinstance(input_.window, PartitionedRows) for input_ in query.streams):
        budgets = tuple(budget for budget in budgets if isinstance(budget, KeepUp | Process))
    if not budgets:
        return None
    rows = min([budget.rows for budget in budgets if isinstance(budget, HoldRows)], default=2**60)
    rate = min([budget.rows_per_second for budget in budgets if isinstance(budget, Process)], default=2**60)
    favour = draw(st.sampled_from(FAVOURS) | st.builds(AllTo, st.sampled_from(streams)))
    floors = (draw(st.just(0) | st.integers(0, most // len(streams))) for most in (rows, rate))
    return Shed(budgets, Favouring(favour, *floors), draw(SEEDS))


def _estimated(draw: DrawFn, query: LogicalQuery) -> Shed | None:
    """SHED of a query that can be estimated. `_where` joins all inputs by one key, the second column of each."""
    estimable = all(AGGREGATES[aggregate.function].is_estimable for aggregate in query.aggregates)
    partitioned = [input_ for input_ in query.streams if isinstance(input_.window, PartitionedRows)]
    fits = all(input_.source.schema.names[1] in input_.window.by for input_ in partitioned)
    if len(query.streams) < 2 or not estimable or not fits or isinstance(query.emit, OnArrival) or draw(st.booleans()):
        return None
    alone = not partitioned and len(query.where) == len(query.inputs) - 1
    sampler: Sampler | None = draw(st.sampled_from([None, "key", "row"] if alone else [None, "key"]))
    confidence = draw(st.sampled_from([50.0, 95.0, 99.99]) | st.floats(50, 99.99))
    shed = Shed(draw(BUDGETS), Estimating(sampler, confidence), draw(SEEDS))
    names = [name.lower() for name in replace(query, shed=shed).schema.names]
    return shed if len(names) == len(set(names)) else None


def _where(draw: DrawFn, inputs: tuple[Input, ...], columns: Leaves) -> tuple[Expression, ...]:
    """A chain of equalities that connects the inputs, and other conditions."""
    keys = [Column(input_.alias, input_.source.schema.names[1], INT) for input_ in inputs]
    parts: list[Expression] = [Call("=", pair) for pair in itertools.pairwise(keys)]
    for _ in range(draw(st.integers(0, 3))):
        part = expression_of(draw, columns, BOOLEAN, 3)
        parts += part.arguments if isinstance(part, Call) and part.function == "and" else (part,)
    return tuple(parts)


def _groups(draw: DrawFn, columns: Leaves) -> tuple[Expression, ...]:
    """Expressions over columns; a constant would also be found in the middle of other expressions."""
    drawn = [any_expression(draw, columns, 2) for _ in range(draw(st.integers(0, 3)))]
    return tuple(dict.fromkeys(group for group in drawn if not isinstance(group, Literal)))


def _aggregate(draw: DrawFn, columns: Leaves) -> Expression:
    function = AGGREGATES[draw(st.sampled_from(sorted(AGGREGATES)))]
    arity = draw(st.sampled_from(function.arities))
    types = [type_ for type_ in TYPES if function.accepts((type_,) * arity)] or [VOID]
    arguments = tuple(expression_of(draw, columns, draw(st.sampled_from(types)), 2) for _ in range(arity))
    if function.name == "count":
        arguments = tuple(argument for argument in arguments if not isinstance(argument, Literal))
    condition = expression_of(draw, columns, BOOLEAN, 2) if draw(st.booleans()) else None
    return Aggregate(function.name, arguments, condition)


def _over(groups: tuple[Expression, ...], aggregates: tuple[Aggregate, ...]) -> Callable[[Expression], Expression]:
    def value(node: Expression) -> Expression | None:
        if isinstance(node, Aggregate):
            return AggregateValue(aggregates.index(node), node.type)
        return GroupValue(groups.index(node), node.type) if node in groups else None

    return lambda expression: rewrite(expression, value)


def _named(draw: DrawFn, inputs: tuple[Input, ...], outputs: list[Expression], sync: Sync) -> tuple[Output, ...]:
    taken = {"instant", "wid", "change", "arrival"}
    taken |= {f"{input_.alias.lower()}_{edge}" for input_ in inputs for edge in ("start", "end")}
    names: list[str] = []
    for position, expression in enumerate(outputs):
        name = default_name(expression, position)
        if draw(st.booleans()) or name.lower() in taken:
            (name,) = draw(distinct(NAMES, 1, but=taken))
        taken.add(name.lower())
        names.append(name)
    return tuple(map(Output, names, outputs))


def _sync_and_emit(draw: DrawFn, rule: object, inputs: tuple[Input, ...], streams: int) -> tuple[Sync, Emit | None]:
    some_move = any(moves(input_.window) for input_ in inputs)
    match rule:
        case OnFull():
            return OnFull(), OnSlide()
        case OnWindowId():
            return OnWindowId(draw(st.none() | COUNTS) if streams == 2 else None), None
        case "every":
            return OnTime(), Every(draw(DURATIONS))
        case OnArrival() | OnTrigger():
            return OnTime(), rule
        case _:
            return OnTime(), OnSlide() if some_move else OnTrigger()
