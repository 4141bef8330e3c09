"""Random catalogs, rows and queries, on which all engines and references must agree.

A `Case` is a query text with its catalog and rows. Times and windows are small numbers of microseconds, so that
edges, ties and gaps are common. Key types, NULLs, skew, negative numbers, empty streams and self-joins all occur.
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import product
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from joinfold.algebra import AGGREGATES
from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import QueryError
from joinfold.logical.query import LogicalQuery, Source
from joinfold.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType
from joinfold.types import decimal as decimal_type
from tests.refusals import Asked, check_refusal, understood

Row = dict[str, Any]
ALIASES = ("a", "b", "c", "d", "e")
INTEGERS, NUMBERS = "vw", "vwdm"
HIGHER_MOMENTS = ("skewness", "kurtosis")
"""Accurate only near the mean, as their page says, and values of d lie far from it: they get integers."""

KEY_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "TINYINT": st.integers(-1, 1),
    "INT": st.sampled_from([0, 0, 0, 1, -7]),  # skewed
    "BIGINT": st.sampled_from([0, 2**40, 2**62]),
    "STRING": st.sampled_from(["", "x", "x", "x", "é", "日本"]),
    "DECIMAL(6, 2)": st.sampled_from([Decimal("0.00"), Decimal("-1.50"), Decimal("2.00")]),
    "DOUBLE": st.sampled_from([0.0, -0.0, 1.5, -2.0]),
    "DATE": st.sampled_from([datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "BOOLEAN": st.booleans(),
    "TIMESTAMP": st.sampled_from([-1, 0, 1_700_000_000_000_000]),
}


@dataclass(frozen=True)
class Case:
    """The text of a query, its catalog, and rows for its inputs."""

    text: str
    catalog: dict[str, Source]
    data: dict[str, list[Row]]

    def __repr__(self) -> str:
        rows = {
            name: [{k: v for k, v in row.items() if v is not None} for row in rows] for name, rows in self.data.items()
        }
        kinds = {name: f"k {source.schema.type_of('k')}" for name, source in self.catalog.items()}
        return f"Case({self.text!r}, {kinds}, {rows})"

    def bind(self) -> LogicalQuery:
        return bind(parse(self.text), self.catalog)


def nullable(values: st.SearchStrategy[Any], one_in: int = 12) -> st.SearchStrategy[Any]:
    return st.integers(1, one_in).flatmap(lambda draw: st.none() if draw == 1 else values)


@st.composite
def sources(draw: st.DrawFn, are_streams: list[bool]) -> dict[str, Source]:
    """Streams and relations, all with the same columns; the type of the key k is random."""
    key_type = draw(st.sampled_from(sorted(KEY_VALUES)))
    schema = read_schema(
        f"ts TIMESTAMP, k {key_type}, j STRING, v BIGINT, w INT, d DOUBLE, m DECIMAL(8, 2), b BOOLEAN, t TIMESTAMP"
    )
    found = {}
    for number, stream in enumerate(are_streams):
        name = f"s{number}"
        found[name] = Source(name, schema, stream, "ts" if stream else None, draw(st.integers(0, 5)) if stream else 0)
    return found


def row_values(schema_types: dict[str, str], times: st.SearchStrategy[int]) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "ts": times,
            "k": nullable(KEY_VALUES[schema_types["k"]]),
            "j": nullable(st.sampled_from(["p", "q", "pq"])),
            "v": nullable(st.integers(-9, 9)),
            "w": nullable(st.integers(-3, 3)),
            "d": nullable(st.sampled_from([-1.25, 0.0, 0.5, 3.0, 1e6 + 0.1])),
            "m": nullable(st.sampled_from([Decimal("-0.25"), Decimal("1.00"), Decimal("7.77")])),
            "b": nullable(st.booleans()),
            "t": nullable(st.integers(-5, 40)),
        }
    )


@st.composite
def rows_for(draw: st.DrawFn, catalog: dict[str, Source], most: int, least: int = 0) -> dict[str, list[Row]]:
    data = {}
    for name, source in catalog.items():
        types = {field.name: str(field.type) for field in source.schema}
        start = draw(st.sampled_from([0, 0, 0, 0, -30, 15]))
        times = st.integers(start, start + draw(st.sampled_from([3, 12, 30])))
        fewest = draw(st.sampled_from([0, 2, most - 2, most - 2]))
        data[name] = draw(st.lists(row_values(types, times), min_size=max(fewest, least), max_size=most))
    return data


# --- Windows and clauses --------------------------------------------------------------------------------------

micros = st.sampled_from([1, 2, 3, 4, 5, 7, 10]).map("{} MICROSECOND".format)
sizes = st.sampled_from([1, 3, 6, 10, 20, 20, 35]).map("{} MICROSECOND".format)


@st.composite
def sliding(draw: st.DrawFn) -> str:
    start = draw(
        st.sampled_from(["", "", "", f" START TIMESTAMP '1970-01-01 00:00:00.00000{draw(st.integers(0, 9))}'"])
    )
    if draw(st.booleans()):
        return f"[{draw(sizes)} SLIDE {draw(micros)}{start}]"
    return f"[TUMBLE {draw(micros)}{start}]"


continuous = sizes.map(lambda size: f"[{size}]")
landmark = st.sampled_from(["[UNBOUNDED]", "[FROM TIMESTAMP '1970-01-01 00:00:00.000007']"])
rows_window = st.builds("[ROWS {} SLIDE {}]".format, st.integers(1, 5), st.integers(1, 4))
rows_by_one = st.integers(1, 5).map("[ROWS {}]".format)
partitioned = st.builds("[PARTITION BY {} ROWS {}]".format, st.sampled_from(["k", "j", "j, b"]), st.integers(1, 3))
range_by_rows = st.builds("[RANGE {} SLIDE {} ROWS]".format, sizes, st.integers(1, 4))

time_windows = st.one_of(sliding(), sliding(), continuous, landmark)
any_window = st.one_of(sliding(), sliding(), continuous, landmark, rows_window, partitioned, range_by_rows)
arrival_windows = st.one_of(continuous, landmark, rows_by_one, partitioned)
numbered_windows = st.one_of(sliding(), sliding(), rows_window, range_by_rows)

# name of the mode -> (its windows, its clause)
MODES: dict[str, tuple[st.SearchStrategy[str], st.SearchStrategy[str]]] = {
    "default": (any_window, st.just("")),
    "slide": (time_windows, st.just("EMIT ON SLIDE")),
    "every": (any_window, st.integers(1, 9).map("EMIT EVERY {} MICROSECONDS".format)),
    "trigger": (any_window, st.just("EMIT ON TRIGGER")),
    "arrival": (arrival_windows, st.just("EMIT ON ARRIVAL")),
    "full": (time_windows, st.just("SYNC ON FULL")),
    "window id": (numbered_windows, st.just("SYNC ON WINDOW ID")),
    "mod": (numbered_windows, st.integers(1, 3).map("SYNC ON WINDOW ID MOD {}".format)),
}


def number_of(alias: str, columns: str = NUMBERS) -> st.SearchStrategy[str]:
    return st.sampled_from([f"{alias}.{column}" for column in columns])


@st.composite
def numeric(draw: st.DrawFn, aliases: list[str], columns: str = NUMBERS) -> str:
    """A number from one input, or from two."""
    form = draw(st.integers(0, 7))
    first = draw(number_of(draw(st.sampled_from(aliases)), columns))
    second = draw(number_of(draw(st.sampled_from(aliases)), columns))
    forms = [
        first,
        first,
        first,
        f"{first} * {second}",
        f"{first} + {second}",
        f"{first} - 2",
        f"CASE WHEN {first} > {second} THEN {first} ELSE 0 END",
        f"ABS({first})",
    ]
    return forms[form]


# kind of argument -> the types that it may have
KINDS: dict[str, tuple[DataType, ...]] = {
    "number": (BIGINT, INT, DOUBLE, decimal_type(8, 2)),
    "integer": (BIGINT, INT),
    "text": (STRING,),
    "boolean": (BOOLEAN,),
    "time": (TIMESTAMP,),
    "key": tuple(field.type for key in KEY_VALUES for field in read_schema(f"k {key}")),
}


@cache
def kinds_taken(function: str) -> list[tuple[str, ...]]:
    """The kinds of arguments that an entry of AGGREGATES accepts with all of their types; numbers first."""
    entry, found = AGGREGATES[function], []
    for arity in entry.arities:
        for kinds in product(KINDS, repeat=arity):
            general = tuple("number" if kind == "integer" else kind for kind in kinds)
            if general not in found and all(map(entry.accepts, product(*(KINDS[kind] for kind in kinds)))):
                found.append(kinds)
    assert found, f"no argument for {function.upper()}: add a kind to KINDS, with a strategy for it"
    return found


@st.composite
def argument(draw: st.DrawFn, kind: str, aliases: list[str]) -> str:
    alias = draw(st.sampled_from(aliases))
    match kind:
        case "number":
            return draw(numeric(aliases))
        case "integer":
            return draw(numeric(aliases, INTEGERS))
        case "boolean":
            return draw(st.one_of(st.just(f"{alias}.b"), conditions(aliases)))
        case "text" | "time" | "key":
            return f"{alias}.{ {'text': 'j', 'time': 't', 'key': 'k'}[kind] }"
    raise AssertionError(kind)


@st.composite
def aggregates(draw: st.DrawFn, aliases: list[str]) -> str:
    """Any entry of AGGREGATES with arguments that it accepts, numbers more often than others."""
    function = draw(st.sampled_from([*AGGREGATES, "count", "sum"]))
    taken = kinds_taken(function)
    numbers = [kinds for kinds in taken if {"number", "integer"} >= set(kinds)]
    kinds = draw(st.sampled_from(numbers if numbers and draw(st.booleans()) else taken))
    if function in HIGHER_MOMENTS:
        kinds = ("integer",) * len(kinds)
    text = f"{function.upper()}({', '.join(draw(argument(kind, aliases)) for kind in kinds) or '*'})"
    if draw(st.integers(0, 4)) == 0:
        text += f" FILTER (WHERE {draw(conditions(aliases))})"
    return text


@st.composite
def conditions(draw: st.DrawFn, aliases: list[str]) -> str:
    alias, other = draw(st.sampled_from(aliases)), draw(st.sampled_from(aliases))
    return draw(
        st.sampled_from(
            [
                f"{alias}.v > 0",
                f"{alias}.b",
                f"NOT {alias}.b",
                f"{alias}.j IN ('p', 'z')",
                f"{alias}.j LIKE 'p%'",
                f"{alias}.d >= {other}.d",
                f"{alias}.v IS NOT NULL",
                f"{alias}.m < 2.5 OR {other}.w = 1",
                f"{alias}.v % 3 = {other}.w",
                f"COALESCE({alias}.w, 0) <> {other}.w",
                f"LENGTH({alias}.j) = 1",
                "1 = 1",
                f"{alias}.v BETWEEN {other}.w - 2 AND {other}.w + 2",
            ]
        )
    )


@st.composite
def connections(draw: st.DrawFn, left: str, right: str) -> str:
    kinds = [
        f"{left}.k = {right}.k",
        f"{left}.k = {right}.k",
        f"{left}.k = {right}.k AND {left}.j = {right}.j",
        f"{left}.j = {right}.j",
        f"{left}.v = {right}.w",
        f"{left}.v BETWEEN {right}.w - 2 AND {right}.w + 2",
        f"{left}.w < {right}.w",
        f"{left}.w + {right}.w = 1",
        f"{left}.t <= {right}.t AND {left}.t > {right}.t - INTERVAL 5 MICROSECONDS",
        f"UPPER({left}.j) = UPPER({right}.j)",
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def group_keys(draw: st.DrawFn, aliases: list[str]) -> str:
    alias = draw(st.sampled_from(aliases))
    return draw(
        st.sampled_from([f"{alias}.k", f"{alias}.j", f"{alias}.w", f"{alias}.v % 2", f"{alias}.b", f"{alias}.d"])
    )


@st.composite
def cases(
    draw: st.DrawFn,
    modes: tuple[str, ...] = tuple(MODES),
    plain: bool | None = None,
    inputs: tuple[int, int] = (1, 3),
    most_rows: int = 8,
    least_rows: int = 0,
    connection: Callable[[str, str], st.SearchStrategy[str]] = connections,
    tree: bool = False,
    relations: bool = True,
    tables: tuple[int, int] | None = None,
) -> Case:
    """A query that binds, with rows for it.

    Each input is joined with the previous one, or with ``tree`` with any earlier one. Some inputs are relations;
    ``tables`` bounds their number.
    """
    mode = draw(st.sampled_from(modes))
    count = 2 if mode == "mod" else draw(st.integers(*inputs))
    if tables is None:
        streams = not relations or mode == "mod"
        are_streams = [number == 0 or streams or draw(st.integers(0, 5)) > 0 for number in range(count)]
    else:
        are_tables = draw(st.integers(tables[0], min(tables[1], count - 1)))
        are_streams = draw(st.permutations([True] * (count - are_tables) + [False] * are_tables))
    catalog = draw(sources(are_streams))
    names = list(catalog)
    self_join = are_streams[0] and count > 1 and draw(st.integers(0, 6)) == 0
    same_table = names[are_streams.index(False)] if tables and draw(st.integers(0, 3)) == 0 else None
    aliases = list(ALIASES[:count])
    windows, clause = MODES[mode]
    entries = []
    for number, alias in enumerate(aliases):
        name = names[0] if self_join and (are_streams[number] or tables is None) else names[number]
        name = name if are_streams[number] or same_table is None else same_table
        entries.append(f"{name} {alias} {draw(windows)}" if catalog[name].is_stream else f"{name} {alias}")
    joined = [draw(st.integers(0, number)) if tree else number for number in range(count - 1)]
    where = [draw(connection(aliases[other], aliases[number + 1])) for number, other in enumerate(joined)]
    where += draw(
        st.sampled_from([0, 0, 1, 2]).flatmap(lambda n: st.lists(conditions(aliases), min_size=n, max_size=n))
    )
    plain = draw(st.integers(0, 4)) == 0 if plain is None else plain
    if plain:
        assume(mode in ("default", "window id", "mod"))
        columns = [
            f"{draw(st.sampled_from(aliases))}.{draw(st.sampled_from(['k', 'j', 'v', 'd', 'm']))}" for _ in range(2)
        ]
        select, tail = [f"{column} AS o{i}" for i, column in enumerate([*columns, draw(numeric(aliases))])], ""
    else:
        groups = draw(st.lists(group_keys(aliases), max_size=2, unique=True))
        measures = draw(st.lists(aggregates(aliases), min_size=1, max_size=3))
        if draw(st.integers(0, 4)) == 0:
            measures.append(f"SUM({draw(number_of(aliases[0]))}) / COUNT(*)")
        select = [f"{part} AS o{i}" for i, part in enumerate([*groups, *measures])]
        tail = f" GROUP BY {', '.join(groups)}" if groups else ""
        tail += draw(st.sampled_from(["", "", "", " HAVING COUNT(*) > 1", " HAVING SUM(a.v) > 0 OR COUNT(*) > 2"]))
    changes = " CHANGES" if not plain and draw(st.integers(0, 3)) == 0 else ""
    text = f"SELECT {', '.join(select)} FROM {', '.join(entries)}" + (f" WHERE {' AND '.join(where)}" if where else "")
    text += f"{tail} {draw(clause)}{changes}"
    case = Case(text, catalog, draw(rows_for(catalog, most_rows, least_rows)))
    try:
        case.bind()
    except QueryError as error:
        check_refusal(error, Asked(case.text, understood(case.text, catalog)))
        assume(False)
    return case


# --- Comparing answers ----------------------------------------------------------------------------------------


def same_value(left: Any, right: Any, tolerance: float) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)
    return type(left) is type(right) and left == right


def assert_same_answers(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]], tolerance: float = 1e-6) -> None:
    """Fails unless both have the same multiset of rows, with floating values equal within the tolerance."""
    remaining = list(right)
    missing = []
    for row in left:
        match = next(
            (
                other
                for other in remaining
                if len(row) == len(other) and all(map(lambda x, y: same_value(x, y, tolerance), row, other))
            ),
            None,
        )
        if match is None:
            missing.append(row)
        else:
            remaining.remove(match)
    assert not missing and not remaining, f"only left: {missing[:5]}; only right: {remaining[:5]}"
