"""The meaning of a query as one DuckDB statement: a second definition, independent of `reference.naive`.

Section names refer to `docs/reference/semantics.md`. The instants are a table. The content of each window at each
instant is another: a join of rows and instants on the condition in *Windows*. The answers are an ordinary join and
GROUP BY::

    a_rows ──┬─▶ instants ──▶ a_window ─┐
    b_rows ──┘           └──▶ b_window ─┴─▶ combinations ──▶ groups ──▶ answers ──▶ changes

Under SYNC ON WINDOW ID an "instant" is a window id with the bounds of each input's window. Under EMIT ON ARRIVAL it is
a row. A plain join has no instants: each row has a stay [entry, leave), and a combination exists if all stays of its
rows overlap. Times are BIGINT microseconds everywhere, including TIMESTAMP columns.
"""

from collections.abc import Mapping, Sequence

import duckdb

from joinfold.logical.expressions import Value
from joinfold.logical.query import LogicalQuery, OnArrival, OnTrigger, OnWindowId
from joinfold.reference.duck_expressions import aggregate, identifier, output, scalar
from joinfold.reference.duck_windows import (
    Tables,
    arrival_instants,
    columns,
    numbered_instants,
    rows,
    slide_instants,
    stays,
    table,
    trigger_instants,
    window_at_arrivals,
    window_at_instants,
    window_by_number,
)
from joinfold.reference.rows import Row, to_arrow
from joinfold.types import BIGINT, INTERVAL, TIMESTAMP, TIMESTAMP_NTZ, Field, Schema


def answers(query: LogicalQuery, data: Mapping[str, Sequence[Row]]) -> list[tuple[Value, ...]]:
    """The answers over bounded inputs, sorted by instant or wid, then by arrival; otherwise in any order."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
        for source in {input_.source.name: input_.source for input_ in query.inputs}.values():
            connection.register("arrow_rows", to_arrow(data[source.name], _stored(source.schema)))
            connection.execute(f"CREATE TABLE main.{identifier(source.name)} AS SELECT * FROM arrow_rows")
            connection.unregister("arrow_rows")
        return connection.execute(sql(query)).fetchall()


def _stored(schema: Schema) -> Schema:
    times = (TIMESTAMP, TIMESTAMP_NTZ, INTERVAL)
    return Schema(tuple(Field(field.name, BIGINT if field.type in times else field.type) for field in schema))


def sql(query: LogicalQuery) -> str:
    """One statement over tables with the names of the query's sources; its columns are those of ``query.schema``."""
    tables: Tables = {}
    for input_ in query.inputs:
        tables |= rows(query, input_)
    if query.is_plain_join and not isinstance(query.sync, OnWindowId):
        tables |= _plain_join(query)
    else:
        tables |= _instants(query)
        tables |= {table(input_, "window"): _window(query, input_.alias) for input_ in query.streams}
        tables["combinations"] = _combinations(query)
        tables |= {"answers": _every_combination(query)} if query.is_plain_join else _groups(query)
    result = "changes" if query.changes else "answers"
    if query.changes:
        tables["changes"] = _changes(query)
    leading = [identifier(name) for name in query.schema.names[: -len(query.outputs)]]
    selected = [f"output_{i} AS {identifier(out.name)}" for i, out in enumerate(query.outputs)]
    written = ",\n".join(f"{name} AS (\n{_indented(body)}\n)" for name, body in tables.items())
    order = ", ".join(_key(query))
    return f"WITH {written}\nSELECT {', '.join([*leading, *selected])}\nFROM {result}\nORDER BY {order}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _key(query: LogicalQuery) -> tuple[str, ...]:
    """The columns that identify an instant."""
    if isinstance(query.sync, OnWindowId):
        return ("wid",)
    return ("instant", "arrival") if isinstance(query.emit, OnArrival) else ("instant",)


def _instants(query: LogicalQuery) -> Tables:
    match query.sync, query.emit:
        case OnWindowId(modulus=modulus), _:
            tables = numbered_instants(query, modulus)
        case _, OnTrigger():
            tables = trigger_instants(query)
        case _, OnArrival():
            tables = arrival_instants(query)
        case _:
            tables = slide_instants(query)
    if query.changes:
        step = f"row_number() OVER (ORDER BY {', '.join(_key(query))}) AS step"
        tables["steps"] = f"SELECT *, {step} FROM instants"
    return tables


def _window(query: LogicalQuery, alias: str) -> str:
    if isinstance(query.sync, OnWindowId):
        return window_by_number(query, query.input(alias))
    content = window_at_arrivals if isinstance(query.emit, OnArrival) else window_at_instants
    return content(query, query.input(alias))


# --- Answers ------------------------------------------------------------------------------------------------


def _joined(query: LogicalQuery, kind: str, link: str) -> str:
    """FROM: one row of each stream's window and one of each relation."""
    first, *rest = [table(input_, kind) for input_ in query.streams]
    relations = [f"CROSS JOIN {table(input_, 'rows')}" for input_ in query.inputs if input_.window is None]
    joins = [f"{'JOIN' if link else 'CROSS JOIN'} {other}{link}" for other in rest]
    return "\n".join([f"FROM {first}", *joins, *relations])


def _where(query: LogicalQuery) -> list[str]:
    return [scalar(condition) for condition in query.where]


def _combinations(query: LogicalQuery) -> str:
    """At each instant, the combinations for which WHERE is true."""
    key = ", ".join(_key(query))
    kept = ", ".join([key, *(name for input_ in query.inputs for name in columns(query, input_)), "TRUE AS present"])
    where = " AND ".join(_where(query)) or "TRUE"
    return f"SELECT {kept}\n{_joined(query, 'window', f' USING ({key})')}\nWHERE {where}"


def _groups(query: LogicalQuery) -> Tables:
    """The aggregates of each group; without GROUP BY every instant has one group, which may be empty."""
    key = ", ".join(_key(query))
    names = [f"group_{i}" for i in range(len(query.groups))]
    values = [f"{scalar(group)} AS {name}" for group, name in zip(query.groups, names, strict=True)]
    present = None if query.groups else "present"
    values += [f"{aggregate(node, present)} AS aggregate_{i}" for i, node in enumerate(query.aggregates)]
    source = "combinations" if query.groups else f"instants LEFT JOIN combinations USING ({key})"
    grouped = f"SELECT {', '.join([key, *values])}\nFROM {source}\nGROUP BY {', '.join([key, *names])}"
    having = "" if query.having is None else f"\nWHERE {scalar(query.having)}"
    instants = "steps" if query.changes else "instants"
    kept = ", ".join([f"{instants}.*", *names, *_outputs(query)])
    return {
        "groups": grouped,
        "answers": f"SELECT {kept}\nFROM groups JOIN {instants} USING ({key}){having}",
    }


def _outputs(query: LogicalQuery) -> list[str]:
    return [f"{output(out.expression)} AS output_{i}" for i, out in enumerate(query.outputs)]


def _changes(query: LogicalQuery) -> str:
    """The differences between the output of each group now and at the step before."""
    numbers = range(len(query.outputs))
    expressions = [output.expression for output in query.outputs]
    differs = [
        _rounded_differs(i) if own.type.is_floating and query.is_rounded(own) else _differs(i)
        for i, own in enumerate(expressions)
    ]
    same_group = "".join(f" AND new.group_{i} IS NOT DISTINCT FROM old.group_{i}" for i in range(len(query.groups)))
    change = "CASE WHEN old.step IS NULL THEN 'insert' WHEN new.step IS NULL THEN 'delete' ELSE 'update' END"
    shown = [f"CASE WHEN new.step IS NULL THEN old.output_{i} ELSE new.output_{i} END AS output_{i}" for i in numbers]
    return (
        f"SELECT steps.*, {', '.join([f'{change} AS change', *shown])}\n"
        f"FROM answers new FULL JOIN answers old ON new.step = old.step + 1{same_group}\n"
        "JOIN steps ON steps.step = coalesce(new.step, old.step + 1)\n"
        f"WHERE old.step IS NULL OR new.step IS NULL OR {' OR '.join(differs)}"
    )


def _differs(number: int) -> str:
    return f"new.output_{number} IS DISTINCT FROM old.output_{number}"


def _rounded_differs(number: int) -> str:
    """Whether an output differs by more than DuckDB's rounding; NULL, NaN and infinities equal only themselves."""
    new, old = f"new.output_{number}", f"old.output_{number}"
    finite = f"isfinite({new}) AND isfinite({old})"
    near = f"{finite} AND abs({new} - {old}) <= 1e-9 * greatest(abs({new}), abs({old}))"
    return f"({_differs(number)} AND NOT coalesce({near}, FALSE))"


# --- Plain joins --------------------------------------------------------------------------------------------


def _plain_join(query: LogicalQuery) -> Tables:
    """Every combination once, at the instant when the last of its rows enters, if none has left before."""
    entries = ", ".join(f"{table(input_, 'stay')}.entry" for input_ in query.streams)
    leaves = ", ".join(f"{table(input_, 'stay')}.leave" for input_ in query.streams)
    meet = f"greatest({entries}) < coalesce(least({leaves}), 9223372036854775807)"
    kept = [f"greatest({entries}) AS instant", *(name for input_ in query.inputs for name in columns(query, input_))]
    where = " AND ".join([meet, *_where(query)])
    return {
        **{table(input_, "stay"): stays(query, input_) for input_ in query.streams},
        "combinations": f"SELECT {', '.join(kept)}\n{_joined(query, 'stay', '')}\nWHERE {where}",
        "answers": f"SELECT {', '.join(['instant', *_outputs(query)])}\nFROM combinations",
    }


def _every_combination(query: LogicalQuery) -> str:
    """A plain join under SYNC ON WINDOW ID: every combination once per result window."""
    kept = ", ".join(["instants.*", *_outputs(query)])
    return f"SELECT {kept}\nFROM combinations JOIN instants USING (wid)"
