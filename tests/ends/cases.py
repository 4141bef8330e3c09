"""The far ends of what a query may get: very many keys, one heavy key, huge values, huge micro-batches, huge queries.

A case runs a query and returns what it has checked. The answers are compared with a closed form, with DuckDB or with
the definition. ``scale`` divides the size of a case, for a quick test.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from hypothesis import HealthCheck, Phase, given, settings

import joinfold as jf
from joinfold.explain.costs import cost_text
from joinfold.explain.logical_tree import query_tree
from joinfold.explain.physical_tree import plan_tree
from joinfold.explain.windows import window_drawing
from joinfold.reference import naive
from joinfold.reference.rows import from_arrow
from tests import refusals
from tests.strategies import Case, assert_same_answers, cases

SECOND_US = 1_000_000
WINDOW = "[10 SECOND SLIDE 10 SECOND]"
STREAMS = ("a", "b")
Tables = dict[str, pa.Table]
Answers = list[dict[str, Any]]
Runner = Callable[[str, Tables], Answers]


@dataclass(frozen=True, slots=True)
class End:
    """A case: what it does, and whether it makes sense on Spark too."""

    run: Callable[[Runner, int], str]
    on_spark: bool = True


def times(draw: np.random.Generator, rows: int) -> pa.Array:
    """Event times inside the first window."""
    return pa.array(np.sort(draw.integers(0, 10 * SECOND_US, rows)), pa.timestamp("us", tz="UTC"))


def in_process(text: str, tables: Tables) -> Answers:
    """The answers in this process, all rows at once."""
    session = jf.Session()
    for name, rows in tables.items():
        session.stream(name, rows, time="ts")
    return _first_window(session.sql(text).run_in_process().answers)


def on_spark(text: str, tables: Tables) -> Answers:
    """The answers of a streaming query, all rows in one micro-batch. A later row of each stream ends the window."""
    session, found = jf.Session(), list[pa.Table]()
    with tempfile.TemporaryDirectory(prefix="joinfold-ends-") as folder:
        for name, rows in tables.items():
            (Path(folder) / name).mkdir()
            last = rows.slice(0, 1).set_column(0, "ts", pa.array([20 * SECOND_US], rows.schema.field("ts").type))
            parquet.write_table(pa.concat_tables([rows, last]), Path(folder) / name / "rows.parquet")
            schema = session.spark.read.parquet(f"{folder}/{name}").schema
            session.stream(name, session.spark.readStream.schema(schema).parquet(f"{folder}/{name}"), time="ts")
        query = session.sql(text)
        query.start(
            lambda table, batch: found.append(table), checkpoint=f"{folder}/checkpoint", trigger="available"
        ).wait()
    return _first_window(pa.concat_tables(found))


def _first_window(answers: pa.Table) -> Answers:
    first = answers.filter(pa.compute.equal(answers["instant"].cast(pa.int64()), 10 * SECOND_US))
    return [{name: value for name, value in row.items() if name != "instant"} for row in first.to_pylist()]


def many_keys(answers: Runner, scale: int) -> str:
    """Five million keys in a window, each with one row in both streams."""
    keys = 5_000_000 // scale
    draw = np.random.default_rng(1)
    values = {name: draw.integers(0, 1000, keys) for name in STREAMS}
    orders = {name: draw.permutation(keys) for name in STREAMS}
    tables = {
        name: pa.table({"ts": times(draw, keys), "k": orders[name], "v": values[name][orders[name]]})
        for name in STREAMS
    }
    text = f"SELECT COUNT(*) AS n, SUM(a.v * b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
    expected = [{"n": keys, "s": int(values["a"] @ values["b"])}]
    assert answers(text, tables) == expected
    return f"{keys:,} keys, closed form"


def heavy_key(answers: Runner, scale: int) -> str:
    """One key has 90 % of the rows, and a condition has to be checked on every pair."""
    rows, values, draw = 20_000 // scale, 1000, np.random.default_rng(2)
    tables = {}
    for name in STREAMS:
        keys = np.where(draw.random(rows) < 0.9, 0, draw.integers(1, 50, rows))
        tables[name] = pa.table({"ts": times(draw, rows), "k": keys, "v": draw.integers(0, values, rows)})
    text = f"SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND (a.v + b.v) % 7 = 3"
    n = s = 0
    fits = (np.add.outer(np.arange(values), np.arange(values)) % 7 == 3).astype(np.int64)
    for key in range(50):
        a, b = (np.bincount(_values_of(tables[name], key), minlength=values).astype(np.int64) for name in STREAMS)
        pairs = (a[:, None] * fits * b[None, :]).sum(axis=1)
        n, s = n + int(pairs.sum()), s + int(pairs @ np.arange(values))
    assert answers(text, tables) == [{"n": n, "s": s}]
    return f"{rows:,} rows of each stream, {n:,} pairs, closed form"


def _values_of(table: pa.Table, key: int) -> Any:
    return table["v"].to_numpy()[table["k"].to_numpy() == key]


def long_texts(answers: Runner, scale: int) -> str:
    """Texts of 10 MB as keys, groups and values."""
    length = 10_000_000 // scale
    draw = np.random.default_rng(3)
    keys, groups, values = ([f"{what}{number}".ljust(length, what) for number in range(2)] for what in ("k", "g", "v"))
    picked = {name: draw.integers(0, 2, (6, 3)) for name in STREAMS}
    tables = {
        name: pa.table(
            {
                "ts": times(draw, 6),
                "k": pa.array([keys[key] for key, _, _ in own], pa.string()),
                "g": pa.array([groups[group] for _, group, _ in own], pa.string()),
                "v": pa.array([values[value] for _, _, value in own], pa.string()),
            }
        )
        for name, own in picked.items()
    }
    text = f"SELECT a.g, COUNT(*) AS n, MAX(b.v) AS top FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g"
    pairs: dict[str, list[str]] = {}
    for key, group, _ in picked["a"]:
        pairs.setdefault(groups[group], []).extend(values[v] for other, _, v in picked["b"] if other == key)
    expected = [{"g": group, "n": len(own), "top": max(own)} for group, own in sorted(pairs.items()) if own]
    assert sorted(answers(text, tables), key=lambda row: row["g"]) == expected
    return f"texts of {length / 1e6:g} MB, closed form"


def large_batch(answers: Runner, scale: int) -> str:
    """Ten million rows in one micro-batch."""
    rows, draw = 5_000_000 // scale, np.random.default_rng(4)
    tables = {
        name: pa.table(
            {
                "ts": times(draw, rows),
                "k": draw.integers(0, 100_000, rows),
                "g": draw.integers(0, 100, rows),
                "v": draw.integers(0, 1000, rows),
            }
        )
        for name in STREAMS
    }
    text = (
        f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s, MAX(b.v) AS top FROM a {WINDOW}, b {WINDOW} "
        "WHERE a.k = b.k GROUP BY a.g"
    )
    found = {row["g"]: tuple(row.values()) for row in answers(text, tables)}
    with duckdb.connect() as base:
        for name, table in tables.items():
            base.register(name, table)
        expected = base.execute(
            "SELECT a.g, sum(b.n)::BIGINT, sum(b.s)::BIGINT, max(b.top) FROM a JOIN "
            "(SELECT k, count(*) AS n, sum(v) AS s, max(v) AS top FROM b GROUP BY k) b USING (k) GROUP BY a.g"
        ).fetchall()
    assert found == {row[0]: row for row in expected}
    return f"{2 * rows:,} rows, DuckDB"


FUNCTIONS = "SUM AVG MIN MAX VAR_POP VAR_SAMP STDDEV_POP STDDEV_SAMP SKEWNESS KURTOSIS".split()
BOTH = "COVAR_POP COVAR_SAMP CORR REGR_SLOPE REGR_INTERCEPT REGR_COUNT REGR_R2 MIN_BY MAX_BY".split()


def many_aggregates(answers: Runner, scale: int) -> str:
    """A query with fifty aggregates."""
    draw = np.random.default_rng(5)
    tables = {
        name: pa.table({"ts": times(draw, 60), "k": draw.integers(0, 5, 60), "v": draw.integers(0, 90, 60)})
        for name in STREAMS
    }
    calls = [f"{own}({of})" for of in ("a.v", "b.v", "a.v * b.v") for own in FUNCTIONS]
    calls += [f"{own}(a.v, b.v){which}" for which in ("", " FILTER (WHERE a.v > 40)") for own in BOTH]
    calls += ["COUNT(*)", "COUNT(a.v)"]
    assert len(calls) == 50
    shown = ", ".join(f"{call} AS c{number}" for number, call in enumerate(calls))
    text = f"SELECT a.k, {shown} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.k"
    session = jf.Session()
    for name, rows in tables.items():
        session.stream(name, rows, time="ts")
    expected = naive.answers(session.sql(text).logical, {name: from_arrow(rows) for name, rows in tables.items()})
    first = [tuple(values) for instant, *values in expected if instant == 10 * SECOND_US]
    assert_same_answers(first, [tuple(row.values()) for row in answers(text, tables)])
    return "50 aggregates, the definition"


def random_queries(answers: Runner, scale: int) -> str:
    """A thousand random queries are explained, at every stage."""
    explained = 0

    @settings(
        max_examples=1000 // scale,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases())
    def explain(case: Case) -> None:
        nonlocal explained
        query = case.bind()
        explained += 1
        assert str(query_tree(query)) and window_drawing(query)
        plan = refusals.planned(query, case.text)
        assert plan is None or (str(plan_tree(plan)) and cost_text(plan))

    explain()
    return f"{explained:,} queries explained"


ENDS = {
    "many keys": End(many_keys),
    "heavy key": End(heavy_key),
    "long texts": End(long_texts),
    "large batch": End(large_batch),
    "many aggregates": End(many_aggregates),
    "random queries": End(random_queries, on_spark=False),
}
RUNNERS: dict[str, Runner] = {"in process": in_process, "on Spark": on_spark}
