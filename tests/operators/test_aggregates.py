"""Every aggregate of the table, in process under every kind of plan, is what both references say it is."""

import inspect
import math
import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.algebra import AGGREGATES, BitCounts, Extremum, Moment, TruthCount
from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import EvaluationError, QueryError
from joinfold.inprocess import InProcess
from joinfold.logical.expressions import Aggregate, Column
from joinfold.logical.query import LogicalQuery, Source
from joinfold.physical.choice import SUMS
from joinfold.planner.planning import plan_query
from joinfold.reference import duck, duck_expressions, naive
from joinfold.reference.aggregates import aggregate_value
from joinfold.types import DOUBLE, DataType
from tests.operators.runs import Data, Row, answered, check, check_batches, check_stream
from tests.operators.runs import rows as rows_of_values
from tests.strategies import assert_same_answers

SCHEMA = "ts TIMESTAMP, k INT, v BIGINT, i INT, t TINYINT, d DOUBLE, s STRING, b BOOLEAN"
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
COLUMNS = {"BIGINT": "v", "INT": "i", "TINYINT": "t", "DOUBLE": "d", "STRING": "s", "BOOLEAN": "b"}
WINDOW = "[6 MICROSECOND SLIDE 2 MICROSECOND]"

VALUES: dict[str, list[Any]] = {
    "k": [0, 1],
    "v": [0, 1, 5, -1, -6, 2**40],
    "i": [0, 7, -8, 2**31 - 1, -(2**31)],
    "t": [0, 1, 127, -128, -3],
    "d": [0.0, -0.0, 1.5, -2.25, 100.0],
    "s": ["", "p", "q", "pq"],
    "b": [True, False],
}
rows = st.fixed_dictionaries(
    {"ts": st.integers(0, 12), **{name: st.none() | st.sampled_from(own) for name, own in VALUES.items()}}
)
data = st.fixed_dictionaries({name: st.lists(rows, min_size=2, max_size=7) for name in ("a", "b")})

PLANS = ("", "OPTION (method = tc)", "OPTION (method = pc)", "OPTION (method = tc, early = none, index = 'a list')")
SUBTRACTING = ("OPTION (method = ic)", "OPTION (method = ic, early = none)", "OPTION (method = ic, index = 'a btree')")
FRAMES = {
    "a key": "FROM a {0}, b {0} WHERE a.k = b.k",
    "groups": "FROM a {0}, b {0} WHERE a.k = b.k GROUP BY a.s, b.b",
    "a range": "FROM a {0}, b {0} WHERE a.k = b.k AND a.v BETWEEN b.v - 6 AND b.v + 6",
    "a residual": "FROM a {0}, b {0} WHERE a.k = b.k AND a.i < b.i",
    "one input": "FROM b x {0}",
    "arrivals": "FROM a [5 MICROSECOND], b [UNBOUNDED] WHERE a.k = b.k EMIT ON ARRIVAL",
    "rows": "FROM a [ROWS 3 SLIDE 2], b [UNBOUNDED] WHERE a.k = b.k",
    "keys": "FROM a [PARTITION BY k ROWS 2], b {0} WHERE a.k = b.k",
    "window ids": "FROM a {0}, b {0} WHERE a.k = b.k SYNC ON WINDOW ID",
    "landmarks": "FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k EMIT EVERY 3 MICROSECONDS",
    "a chain": "FROM a {0}, b {0}, b c {0} WHERE a.k = b.k AND b.i = c.i",
}


def columns_for(name: str) -> list[str]:
    """The columns that an aggregate takes for all of its arguments."""
    entry = AGGREGATES[name]
    return [column for type_, column in COLUMNS.items() if entry.accepts((DataType(type_),) * len(entry.arguments))]


def calls(name: str, chance: random.Random) -> str:
    """Calls with arguments of one input, of the other and of both, with a FILTER and without."""
    parts = []
    subtracted = "vd" if AGGREGATES[name].is_exact else "d"  # 2**40 − 1 beside 2**40 is out of a statistic's range
    for ordinal in range(3):
        columns, arguments = columns_for(name), []
        for _ in AGGREGATES[name].arguments:
            alias, column = chance.choice("ab"), chance.choice(columns)
            own = f"{alias}.{column}"
            if column in subtracted and chance.random() < 0.3:
                own = f"a.{column} - b.{column}"
            if column == "b" and chance.random() < 0.3:
                own = "a.i < b.i"
            arguments.append(own)
        where = ("", " FILTER (WHERE a.v >= 0)", " FILTER (WHERE a.d < b.d OR b.b)")[chance.randrange(3)]
        parts.append(f"{name.upper()}({', '.join(arguments)}){where} AS o{ordinal}")
    return ", ".join(parts)


def bound(text: str) -> LogicalQuery:
    schema = read_schema(SCHEMA)
    return bind(parse(text), {name: Source(name, schema, True, "ts", 0) for name in ("a", "b")})


def drawn_row(chance: random.Random) -> Row:
    found = {name: chance.choice([*own, None]) if chance.random() < 0.3 else own[0] for name, own in VALUES.items()}
    return {"ts": chance.randrange(13), **found, "i": chance.choice([0, 7, None])}


def batches_of(rows_of: Data, chance: random.Random) -> list[Data]:
    """The rows in time order, in batches."""
    cuts = sorted(chance.sample(range(14), 2))
    edges = [-1, *cuts, 99]
    return [
        {name: [row for row in own if low < row["ts"] <= high] for name, own in rows_of.items()}
        for low, high in pairwise(edges)
    ]


def runs(text: str, rows_of: Data, chance: random.Random) -> None:
    """Runs a query in process, batch by batch, and compares it with the definition."""
    machine = InProcess(plan_query(bound(text)), chance.choice([1, 3]))
    try:
        check_batches(machine, batches_of(rows_of, chance))
    except AssertionError as error:
        raise AssertionError(f"{text}\n{error}") from error


def in_frame(name: str, frame: str, chance: random.Random) -> str:
    """Some calls of an aggregate in a query, with a plan where there is a choice."""
    shown = calls(name, chance)
    if frame == "one input":
        shown = re.sub(r"\b[ab]\.", "x.", shown)
    plans = (*PLANS, *(SUBTRACTING if AGGREGATES[name].subtracts else ()))
    plans = plans if frame in ("a key", "groups", "a range") else ("",)
    return f"SELECT {shown} {FRAMES[frame].format(WINDOW)} {chance.choice(plans)}"


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@given(frame=st.sampled_from(sorted(FRAMES)), rows_of=data, seed=st.integers(0, 2**20))
def test_the_engine_agrees_with_the_definition(name: str, frame: str, rows_of: Data, seed: int) -> None:
    chance = random.Random(seed)
    runs(in_frame(name, frame, chance), rows_of, chance)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_every_aggregate_runs_in_every_frame(name: str, frame: str) -> None:
    chance = random.Random(f"{frame} {name}")
    drawn = {alias: [drawn_row(chance) for _ in range(8)] for alias in ("a", "b")}
    runs(in_frame(name, frame, chance), drawn, chance)


@pytest.mark.parametrize("name", sorted(name for name, entry in AGGREGATES.items() if entry.subtracts))
@pytest.mark.parametrize("bound_by", ["a.v <= b.v", "a.v BETWEEN b.v - 6 AND b.v + 6"])
def test_sums_over_ranges_answer_what_subtracts(name: str, bound_by: str) -> None:
    entry = AGGREGATES[name]
    arguments = (f"a.{columns_for(name)[0]}", f"b.{columns_for(name)[-1]}")[: len(entry.arguments)]
    text = f"SELECT {name.upper()}({', '.join(arguments)}) AS o FROM a {WINDOW}, b {WINDOW} WHERE {bound_by}"
    plan = plan_query(bound(text))
    assert SUMS in plan.choice.indexes or plan.body.inputs[1].reals
    for seed in range(5):
        chance = random.Random(seed)
        drawn = {alias: [drawn_row(chance) for _ in range(8)] for alias in ("a", "b")}
        check_batches(InProcess(plan, 2), batches_of(drawn, chance))


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@given(rows_of=data, seed=st.integers(0, 2**20))
def test_both_references_agree(name: str, rows_of: Data, seed: int) -> None:
    frame = "a key" if seed % 2 else "groups"
    query = bound(f"SELECT {calls(name, random.Random(seed))} {FRAMES[frame].format(WINDOW)}")
    if not AGGREGATES[name].is_exact:
        rows_of = moderate(rows_of)
    assert_same_answers(naive.answers(query, rows_of), duck.answers(query, rows_of))


def moderate(rows_of: Data) -> Data:
    """Without very large numbers: DuckDB computes statistics in doubles, which cancel."""
    large = {2**40: 40, 2**31 - 1: 31, -(2**31): -31}
    return {
        alias: [{column: large.get(value, value) for column, value in row.items()} for row in own]
        for alias, own in rows_of.items()
    }


# --- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_an_entry_has_all_that_an_aggregate_needs(name: str) -> None:
    entry = AGGREGATES[name]
    extrema = [part for part in entry.components if isinstance(part, Extremum)]
    assert entry.subtracts == (not extrema) and (entry.finisher is None) == bool(extrema)
    assert all(isinstance(part, Moment | TruthCount | BitCounts | Extremum) for part in entry.components)
    columns = [Column("a", column, DataType(type_)) for type_, column in COLUMNS.items() if column in columns_for(name)]
    assert columns, "no column of the tests will do"
    arguments = (columns[0],) * len(entry.arguments)
    node = Aggregate(name, arguments)
    assert duck_expressions.aggregate(node)
    assert aggregate_value(name, [], node.type) == (0 if entry.fewest == 0 else None)
    assert name in jf.__all__
    assert len(inspect.signature(getattr(jf, name)).parameters) == len(entry.arguments)


# --- numbers at their limits ----------------------------------------------------------------------------------------

PAIRED = f"FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
SPECIAL = [1.0, math.inf, 2.0, math.nan, 3.0, -math.inf, math.inf, 0.0, 1.5, 0.1, 0.2, -0.3, 7.0, None, 2.0]
PARTNER = [0.0, 2.0, math.inf, -1.0, math.nan, None, 1.0, 1.0, -0.0, 2.0, 1.0, 1.0, 1.0]


OF_DOUBLES = [name for name, entry in AGGREGATES.items() if entry.accepts((DOUBLE,) * len(entry.arguments))]


@pytest.mark.parametrize(
    "aggregate",
    [
        *(f"{name.upper()}({', '.join(('a.v', 'b.v')[: len(AGGREGATES[name].arguments)])})" for name in OF_DOUBLES),
        *(f"{name.upper()}({', '.join(['b.v'] * len(AGGREGATES[name].arguments))})" for name in OF_DOUBLES),
        *("SKEWNESS(a.v * b.v)", "MIN_BY(a.v, a.v) FILTER (WHERE b.v > 0)"),
        *("BOOL_AND(a.v > 0)", "BOOL_OR(a.v > b.v)", "MAX_BY(a.v > 1, b.v)"),
    ],
)
def test_nan_and_infinities_come_and_go(aggregate: str) -> None:
    data = {"a": rows_of_values(SPECIAL, k=1), "b": rows_of_values(PARTNER, k=1)}
    check(f"SELECT {aggregate} AS s, COUNT(*) AS n {PAIRED}", "k INT, v DOUBLE", data)
    check(f"SELECT a.v, {aggregate} AS s {PAIRED} GROUP BY a.v", "k INT, v DOUBLE", data)


@pytest.mark.parametrize("function", ["BIT_AND", "BIT_OR", "BIT_XOR"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bits_at_the_ends_of_every_type(function: str, bits: int) -> None:
    type_ = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits]
    top = 2 ** (bits - 1)
    values = [top - 1, -top, -1, None, 0, 1, -top, -top, top - 1, top // 2, -1, -2]
    data = {"a": rows_of_values(values, k=1), "b": rows_of_values(values[:1], k=1)}
    text = f"SELECT {function}(a.v) AS x, {function}(b.v) AS y FROM a {WINDOW}, b [UNBOUNDED] WHERE a.k = b.k"
    found = check(text, f"k INT, v {type_}", data)
    assert any(row[1] is not None and row[1] < 0 for row in found)


def test_an_argument_whose_bits_do_not_fit_is_refused() -> None:
    data = {"a": rows_of_values([LARGEST, 3], k=1), "b": rows_of_values([1], k=1)}
    with pytest.raises(EvaluationError, match=f"{LARGEST + 1} does not fit BIGINT"):
        answered(f"SELECT BIT_OR(a.v + 1) AS x {PAIRED}", "k INT, v BIGINT", data)
    check(
        f"SELECT BIT_OR(a.v - 1) AS x, BIT_XOR(a.v + b.v) AS y {PAIRED}",
        "k INT, v BIGINT",
        {**data, "a": data["a"][1:]},
    )


@pytest.mark.parametrize("function", ["SKEWNESS", "KURTOSIS"])
@pytest.mark.parametrize("mean", [0.0, 1e4, -1e4])
def test_higher_moments_far_from_zero(function: str, mean: float) -> None:
    """The range that functions.md states: a mean of ten thousand deviations."""
    chance = random.Random(7)
    values = [mean + chance.gauss(0, 1) for _ in range(200)]
    data = {"a": rows_of_values(values, k=1), "b": rows_of_values([1.0] * 200, k=1)}
    text = "SELECT {}(a.v) AS x FROM a [60 MICROSECOND SLIDE 20 MICROSECOND], b [30 MICROSECOND SLIDE 20 MICROSECOND]"
    check(text.format(function) + " WHERE a.k = b.k", "k INT, v DOUBLE", data, tolerance=1e-6)


def test_equal_values_have_no_skewness_kurtosis_or_line() -> None:
    data = {"a": rows_of_values([0.1] * 12, k=1), "b": rows_of_values([0.3, 0.7] * 6, k=1)}
    found = check(
        f"SELECT SKEWNESS(a.v) AS s, KURTOSIS(a.v) AS k, REGR_R2(b.v, a.v) AS n, REGR_R2(a.v, b.v) AS o {PAIRED}",
        "k INT, v DOUBLE",
        data,
    )
    assert (None, None, None, 1.0) in {row[1:] for row in found}


# --- values ordered by others ---------------------------------------------------------------------------------------


def tied(*pairs: tuple[Any, Any]) -> list[Row]:
    return [{"ts": 1, "k": 1, "x": x, "y": y} for x, y in pairs]


@pytest.mark.parametrize(
    ("pairs", "largest", "smallest"),
    [
        ([("a", 1), ("b", 2), ("c", None)], "b", "a"),
        ([("a", 2), ("c", 2), ("b", 2)], "c", "a"),
        ([(None, 2), ("b", 2), (None, 2)], "b", "b"),
        ([(None, 2), ("b", 1), (None, 1), (None, 0)], None, None),
        ([("a", None), (None, None)], None, None),
        ([], None, None),
    ],
)
def test_ties_and_nulls(pairs: list[tuple[Any, Any]], largest: Any, smallest: Any) -> None:
    data = {"a": tied(*pairs), "b": tied((None, 0))}
    shown = "MAX_BY(a.x, a.y) AS l, MIN_BY(a.x, a.y) AS s"
    found = check(f"SELECT {shown} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", "k INT, x STRING, y INT", data)
    assert found[0][1:] == (largest, smallest)


def test_only_the_chosen_value_has_to_fit() -> None:
    data = {"a": tied((LARGEST, 1), (3, 2)), "b": tied((0, 0))}
    text = f"SELECT {{}}_BY(a.x + 1, a.y * a.x) AS x FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
    check(text.format("MIN"), "k INT, x BIGINT, y BIGINT", data)
    with pytest.raises(EvaluationError, match=f"^{LARGEST + 1} does not fit BIGINT$"):
        answered(text.format("MAX"), "k INT, x BIGINT, y BIGINT", data)


def test_what_max_cannot_do_max_by_cannot_either() -> None:
    for call in ("MAX(a.v)", "MAX_BY(a.v, a.d)"):
        with pytest.raises(QueryError, match="IC"):
            plan_query(bound(f"SELECT {call} AS x {PAIRED} OPTION (method = ic)"))


@pytest.mark.parametrize("option", ["", "EMIT ON ARRIVAL", "OPTION (method = pc)"])
@pytest.mark.parametrize("by", ["a.s", "CONCAT(a.s, b.s)"])
def test_pairs_that_fall_into_an_ever_smaller_gap(by: str, option: str) -> None:
    """Each word lies between the two before it, so the labels between neighbours are used up on the way."""
    words = ["a" * (ordinal + 1) + ("z" if ordinal % 2 else "") for ordinal in range(60)]
    window = "[1 SECOND]" if "ARRIVAL" in option else "[100 MICROSECOND SLIDE 1 MICROSECOND]"
    text = f"SELECT MAX_BY(a.s, {by}) AS m, MIN_BY(a.s, {by}) AS l FROM a {window}, b {window} WHERE a.k = b.k {option}"
    batches: list[Data] = [
        {"a": rows_of_values([word], "s", ts, k=1), "b": rows_of_values(["!"], "s", ts, k=1)}
        for ts, word in enumerate(words)
    ]
    check_stream(text, "k INT, s STRING", batches)


def test_an_argument_that_is_only_asked_for_does_not_hide_infinities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of x where y is not NULL. No product needs the sign of y."""
    avg = AGGREGATES["avg"]
    moments = (Moment((0, 0)), Moment((0, 1)))
    entry = type(avg)("made_up", ("y", "x"), AGGREGATES["corr"].signature, moments, avg.finisher, is_exact=False)
    monkeypatch.setitem(AGGREGATES, "made_up", entry)
    text = f"SELECT MADE_UP(a.d, b.d) AS m FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
    for values, expected in (([2.0, math.inf], math.inf), ([2.0, -math.inf], -math.inf), ([2.0, 4.0], 3.0)):
        data: Data = {"a": rows_of_values([1.0, -3.0], "d", k=1), "b": rows_of_values(values, "d", k=1)}
        assert expected in {row[1] for row in answered(text, "k INT, d DOUBLE", data)}
