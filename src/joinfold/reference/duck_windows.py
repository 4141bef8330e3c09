"""Windows and instants as DuckDB SQL. Section names refer to `docs/reference/semantics.md`.

The parts of the statement are connected by these tables::

    a_rows      ts, number, columns
    a_moves     instant                            of a window that moves by rows
    instants    instant                            or
                instant, arrival, place, number    under EMIT ON ARRIVAL; place is the input's position in FROM
                wid, a_start, a_end, …             under SYNC ON WINDOW ID
    a_window    key of the instant, columns
"""

from typing import assert_never

from joinfold.logical.query import Every, Input, LogicalQuery, OnFull
from joinfold.reference.duck_expressions import column, identifier
from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, common

Tables = dict[str, str]
"""Common table expressions by name, in order."""


def table(input_: Input, kind: str) -> str:
    """The name of one of an input's tables."""
    return identifier(f"{input_.alias}_{kind}")


def columns(query: LogicalQuery, input_: Input) -> list[str]:
    """The columns of an input that the query reads."""
    return [column(input_.alias, name) for name in query.columns_read(input_.alias)]


def rows(query: LogicalQuery, input_: Input) -> Tables:
    """All rows of an input; those of a stream have their time, and their number in the order of *Rows, time, order*."""
    source, names = input_.source, query.columns_read(input_.alias)
    kept = [f"s.{identifier(name)} AS {column(input_.alias, name)}" for name in names]
    if not source.is_stream:
        return {table(input_, "rows"): f"SELECT {', '.join(kept) or 'TRUE'} FROM main.{identifier(source.name)} s"}
    time = "s.rowid + 1" if source.time is None else f"s.{identifier(source.time)}::BIGINT"
    order = ", ".join([time, *(f"s.{identifier(name)} NULLS FIRST" for name in names)])
    found = ", ".join([f"{time} AS ts", f"row_number() OVER (ORDER BY {order}) AS number", *kept])
    stream = f"SELECT {found}\nFROM main.{identifier(source.name)} s\nWHERE {time} IS NOT NULL"
    return {table(input_, "rows"): stream, **_moves(input_)}


def _moves(input_: Input) -> Tables:
    """The moves of a window that moves by rows: 1 µs after every slide-th row."""
    match input_.window:
        case Rows(slide=slide) | RangeByRows(slide=slide):
            every = f" WHERE number % {slide} = 0"
        case PartitionedRows():
            every = ""
        case _:
            return {}
    return {table(input_, "moves"): f"SELECT DISTINCT ts + 1 AS instant FROM {table(input_, 'rows')}{every}"}


# --- Instants -----------------------------------------------------------------------------------------------


def slide_instants(query: LogicalQuery) -> Tables:
    """EMIT ON SLIDE and EVERY, SYNC ON TIME and FULL: the candidates that are instants.

    Only some candidates are generated: for each row, those from its time up to and including the first after its stay.
    At the others no window holds a row, nor did one at the candidate before.
    """
    timed = [input_ for input_ in query.streams if isinstance(input_.window, Sliding | Continuous)]
    counted = [input_ for input_ in query.streams if isinstance(input_.window, Rows | PartitionedRows | RangeByRows)]
    grids = _grids(query)
    if not timed and not counted:
        (grid,) = grids
        gained = [f"SELECT {_next('ts', grid)} AS instant FROM {_landmark_rows(input_)}" for input_ in query.streams]
        return {"instants": _union(gained)}
    seen = _next("instant - 1", *grids) if isinstance(query.emit, Every) else "instant"
    around = [
        f"SELECT unnest(range({_next('ts', grid)}, {_leave(input_)} + {grid.period_us}, {grid.period_us})) AS instant\n"
        f"FROM (SELECT DISTINCT ts FROM {table(input_, 'rows')})"
        for input_ in timed
        for grid in grids
    ]
    return {
        "moved": _union([f"SELECT {seen} AS instant FROM {table(input_, 'moves')}" for input_ in counted]),
        "candidates": _union([*around, "SELECT instant FROM moved"]),
        "holding": _union([f"SELECT i.instant {_contents('candidates', input_)}" for input_ in timed]),
        "instants": "SELECT instant\n"
        "FROM (SELECT instant, instant IN (FROM holding) AS holds, instant IN (FROM moved) AS moves FROM candidates)\n"
        "QUALIFY holds OR moves OR lag(holds) OVER (ORDER BY instant)",
    }


def _union(parts: list[str]) -> str:
    """The instants of all parts, each once; none if there are no parts."""
    return "\nUNION\n".join(["SELECT NULL::BIGINT AS instant WHERE FALSE", *parts])


def _grids(query: LogicalQuery) -> list[Grid]:
    """The candidates that do not depend on rows: moves of sliding windows, or multiples of the EMIT period."""
    slides = [input_.window.moves for input_ in query.streams if isinstance(input_.window, Sliding)]
    if isinstance(query.sync, OnFull):
        meeting = common(slides)
        assert meeting is not None
        return [meeting]
    return [Grid(0, query.emit.period_us)] if isinstance(query.emit, Every) else list(dict.fromkeys(slides))


def trigger_instants(query: LogicalQuery) -> Tables:
    """EMIT ON TRIGGER over bounded inputs: 1 µs after the latest row."""
    times = " UNION ALL ".join(f"SELECT ts FROM {table(input_, 'rows')}" for input_ in query.streams)
    return {"instants": f"SELECT max(ts) + 1 AS instant FROM ({times}) HAVING count(*) > 0"}


def arrival_instants(query: LogicalQuery) -> Tables:
    """EMIT ON ARRIVAL: one answer for each row of each stream, in the order of *Rows, time, order*."""
    arrived = " UNION ALL ".join(
        f"SELECT ts AS instant, {query.inputs.index(input_)} AS place, number FROM {table(input_, 'rows')}"
        for input_ in query.streams
    )
    arrival = "row_number() OVER (PARTITION BY instant ORDER BY place, number) AS arrival"
    return {"instants": f"SELECT *, {arrival}\nFROM ({arrived})"}


def numbered_instants(query: LogicalQuery, modulus: int | None) -> Tables:
    """SYNC ON WINDOW ID: the windows of every input by number, up to the last number that all inputs have."""
    tables = {table(input_, "ids"): _ids(input_) for input_ in query.streams}
    first, *rest = query.streams
    edges = [identifier(f"{input_.alias}_{edge}") for input_ in query.streams for edge in ("start", "end")]
    if modulus is None:
        joined = " ".join([table(first, "ids"), *(f"JOIN {table(input_, 'ids')} USING (wid)" for input_ in rest)])
        return {**tables, "instants": f"SELECT wid, {', '.join(edges)} FROM {joined}"}
    repeated = f"{table(first, 'ids')} f JOIN {table(rest[0], 'ids')} s ON f.wid = s.wid % {modulus}"
    enough = f"s.wid < {modulus} OR (SELECT count(*) FROM {table(first, 'ids')}) >= {modulus}"
    return {**tables, "instants": f"SELECT s.wid, {', '.join(edges)}\nFROM {repeated}\nWHERE {enough}"}


def _ids(input_: Input) -> str:
    """The windows wid = 0, 1, … of an input, with their bounds."""
    start, end = (identifier(f"{input_.alias}_{edge}") for edge in ("start", "end"))
    source = table(input_, "rows")
    match input_.window:
        case Sliding(size_us=size, slide_us=slide, start_us=start_us):
            origin = _last("min(ts)", Grid(0, slide)) if start_us is None else str(start_us)
            starts = (
                f"SELECT origin, unnest(range(origin, last + 1, {slide})) AS start"
                f" FROM (SELECT ({origin})::BIGINT AS origin, max(ts) AS last FROM {source})"
            )
            return (
                f"SELECT (start - origin) // {slide} AS wid, start AS {start}, start + {size} AS {end}\nFROM ({starts})"
            )
        case Rows(size=size, slide=slide):
            starts = f"SELECT unnest(range(1, count(*) - {size} + 2, {slide})) AS start FROM {source}"
            return (
                f"SELECT (start - 1) // {slide} AS wid, start AS {start}, start + {size - 1} AS {end}\nFROM ({starts})"
            )
        case RangeByRows(size_us=size):
            numbered = "row_number() OVER (ORDER BY instant) - 1 AS wid"
            return f"SELECT {numbered}, instant - {size} AS {start}, instant AS {end} FROM {table(input_, 'moves')}"
        case _:
            raise AssertionError("window ids need windows that can be numbered")


# --- Windows ------------------------------------------------------------------------------------------------


def window_at_instants(query: LogicalQuery, input_: Input) -> str:
    """The content of the window at every instant."""
    kept = ", ".join(["i.instant", *columns(query, input_)])
    last = f"\n{_last_rows(input_, 'i.instant')}" if isinstance(input_.window, PartitionedRows) else ""
    return f"SELECT {kept}\n{_contents('instants', input_)}{last}"


def _contents(instants: str, input_: Input) -> str:
    """Instants i, each with the end e of the window at i, joined with the rows r that the window holds."""
    at = f"SELECT instant, {{}} AS e FROM {instants}"
    source, moved = table(input_, "rows"), table(input_, "moves")
    match input_.window:
        case Sliding(size_us=size) as window:
            ends, holds = at.format(_last("instant", window.moves)), f"r.ts >= i.e - {size} AND r.ts < i.e"
        case Continuous(size_us=size):
            ends, holds = at.format("instant"), f"r.ts >= i.e - {size} AND r.ts < i.e"
        case Landmark(from_us=from_us):
            ends, holds = at.format("instant"), "r.ts < i.e" + ("" if from_us is None else f" AND r.ts >= {from_us}")
        case Rows(size=size, slide=slide):
            before = f"(SELECT count(*) FROM {source} WHERE ts < instant)"
            ends, holds = at.format(f"{slide} * ({before} // {slide})"), f"r.number > i.e - {size} AND r.number <= i.e"
        case RangeByRows(size_us=size):
            move = f"(SELECT max(m.instant) FROM {moved} m WHERE m.instant <= {instants}.instant)"
            ends, holds = at.format(move), f"r.ts >= i.e - {size} AND r.ts < i.e"
        case PartitionedRows():
            ends, holds = at.format("instant"), "r.ts < i.e"
        case None:
            raise AssertionError("a relation is the same at every instant")
        case _ as never:
            assert_never(never)
    return f"FROM ({ends}) i\nJOIN {source} r ON {holds}"


def window_at_arrivals(query: LogicalQuery, input_: Input) -> str:
    """The content at the arrival of every row i: rows not later than i in the order of (ts, place, number)."""
    place = query.inputs.index(input_)
    same = f"i.place > {place} OR (i.place = {place} AND r.number <= i.number)"
    visible = f"(r.ts < i.instant OR (r.ts = i.instant AND ({same})))"
    kept = ", ".join(["i.instant", "i.arrival", *columns(query, input_)])
    found = f"SELECT {kept}\nFROM instants i\nJOIN {table(input_, 'rows')} r ON {visible}"
    match input_.window:
        case Continuous(size_us=size):
            return f"{found} AND r.ts >= i.instant - {size}"
        case Landmark(from_us=from_us):
            return found if from_us is None else f"{found} AND r.ts >= {from_us}"
        case Rows() | PartitionedRows():
            return f"{found}\n{_last_rows(input_, 'i.instant, i.arrival')}"
        case Sliding() | RangeByRows() | None:
            raise AssertionError("EMIT ON ARRIVAL has no windows with SLIDE")
        case _ as never:
            assert_never(never)


def _last_rows(input_: Input, key: str) -> str:
    """Keeps the last n rows (of each partition) at every instant."""
    assert isinstance(input_.window, Rows | PartitionedRows)
    by = input_.window.by if isinstance(input_.window, PartitionedRows) else ()
    partition = ", ".join([key, *(f"r.{column(input_.alias, name)}" for name in by)])
    return f"QUALIFY row_number() OVER (PARTITION BY {partition} ORDER BY r.number DESC) <= {input_.window.size}"


def window_by_number(query: LogicalQuery, input_: Input) -> str:
    """The content of window wid, for every result window."""
    start, end = (f"i.{identifier(f'{input_.alias}_{edge}')}" for edge in ("start", "end"))
    counted = isinstance(input_.window, Rows)
    within = f"r.number BETWEEN {start} AND {end}" if counted else f"r.ts >= {start} AND r.ts < {end}"
    kept = ", ".join(["i.wid", *columns(query, input_)])
    return f"SELECT {kept}\nFROM instants i\nJOIN {table(input_, 'rows')} r ON {within}"


def stays(query: LogicalQuery, input_: Input) -> str:
    """Every row with its stay [entry, leave); ``leave`` is NULL if the row never leaves."""
    source, moved = table(input_, "rows"), table(input_, "moves")
    kept = "".join(f", {name}" for name in columns(query, input_))
    match input_.window:
        case Sliding() as window:
            return f"SELECT {_next('ts', window.moves)} AS entry, {_leave(input_)} AS leave{kept} FROM {source}"
        case Continuous():
            return f"SELECT ts + 1 AS entry, {_leave(input_)} AS leave{kept} FROM {source}"
        case Landmark():
            return f"SELECT ts + 1 AS entry, NULL::BIGINT AS leave{kept} FROM {_landmark_rows(input_)}"
        case PartitionedRows(by=by, size=size):
            keys = ", ".join(column(input_.alias, name) for name in by)
            leave = f"lead(ts, {size}) OVER (PARTITION BY {keys} ORDER BY number) + 1"
            return f"SELECT ts + 1 AS entry, {leave} AS leave{kept} FROM {source}"
        case Rows(size=size, slide=slide):
            entered = f"e.number = {slide} * ((r.number + {slide - 1}) // {slide})"
            left = f"l.number = {slide} * ((r.number + {size + slide - 1}) // {slide})"
            found = f"{source} r JOIN {source} e ON {entered} LEFT JOIN {source} l ON {left}"
            kept = "".join(f", r.{name}" for name in columns(query, input_))
            return f"SELECT e.ts + 1 AS entry, l.ts + 1 AS leave{kept}\nFROM {found}"
        case RangeByRows(size_us=size):
            entry = f"(SELECT min(instant) FROM {moved} WHERE instant > ts)"
            leave = f"(SELECT min(instant) FROM {moved} WHERE instant > ts + {size})"
            found = f"SELECT {entry} AS entry, {leave} AS leave{kept} FROM {source}"
            return f"SELECT *\nFROM ({found})\nWHERE entry IS NOT NULL"
        case None:
            raise AssertionError("a relation stays for ever")
        case _ as never:
            assert_never(never)


def _leave(input_: Input) -> str:
    """The first instant after the stay of a row in a window in time."""
    match input_.window:
        case Sliding(size_us=size) as window:
            return _next(f"ts + {size}", window.moves)
        case Continuous(size_us=size):
            return f"ts + {size + 1}"
        case _:
            raise AssertionError("not a window in time")


def _landmark_rows(input_: Input) -> str:
    """The rows that a landmark window holds at some instant."""
    assert isinstance(input_.window, Landmark)
    mark = input_.window.from_us
    source = table(input_, "rows")
    return source if mark is None else f"(SELECT * FROM {source} WHERE ts >= {mark})"


# --- Multiples ----------------------------------------------------------------------------------------------


def _last(time: str, grid: Grid) -> str:
    """The last multiple ≤ time; DuckDB's % has the sign of the dividend, so it is applied twice."""
    period, since = grid.period_us, f"({time} - {grid.phase_us})" if grid.phase_us else f"({time})"
    return f"({time} - ({since} % {period} + {period}) % {period})"


def _next(time: str, grid: Grid) -> str:
    """The first multiple > time."""
    return f"({_last(time, grid)} + {grid.period_us})"
