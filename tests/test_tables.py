"""Every entry of a table is complete. A test that fails says what is missing, and in which file.

The tables are AGGREGATES, FUNCTIONS and STRUCTURES. An entry needs code in other rooms. The tests check that by using
the entry, so they do not depend on how that code is written.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any, get_args

import duckdb
import pytest

import joinfold as jf
from joinfold import columnar
from joinfold.algebra import AGGREGATES
from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import EvaluationError, QueryError
from joinfold.explain.windows import window_drawing
from joinfold.inprocess import InProcess
from joinfold.kernels.structures import STRUCTURES
from joinfold.logical.expressions import Call, Literal
from joinfold.logical.functions import FUNCTIONS
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.cost.engine import OPERATIONS
from joinfold.planner.cost.sizes import STRUCTURE_BYTES
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.reference import duck, naive
from joinfold.reference.duck_expressions import scalar
from joinfold.reference.evaluate import Context, evaluate
from joinfold.reference.rows import to_arrow
from joinfold.statistics.sampling import sampled_statistics
from joinfold.types import VOID
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window
from tests.algebra.definitions import DIRECT
from tests.columnar.oracle import edges
from tests.dialect.generated import CALLS
from tests.operators import matrix
from tests.operators.runs import answer, feed
from tests.operators.test_plans import STRUCTURES as PLAN_STRUCTURES
from tests.planner.known import stream
from tests.refusals import Asked, check_refusal, planned
from tests.strategies import assert_same_answers, kinds_taken

WINDOW = "[6 MICROSECOND SLIDE 3 MICROSECOND]"
SCHEMA = read_schema("ts TIMESTAMP, k INT, v INT, d DOUBLE, j STRING, b BOOLEAN, t TIMESTAMP")
COLUMNS = {"number": ("v", "d"), "integer": ("v",), "text": ("j",), "boolean": ("b",), "time": ("t",), "key": ("k",)}
ROWS = [
    {"ts": ts, "k": ts % 2, "v": 3 * ts % 7, "d": ts / 4, "j": "pqr"[ts % 3], "b": ts % 3 == 0, "t": 9 - ts}
    for ts in range(8)
]
KNOWN = Statistics((stream(1000, 10),) * 2)
DATA = {"a": [*ROWS, dict.fromkeys(ROWS[0]) | {"ts": 4, "k": 1}], "b": ROWS[::2] + ROWS[1:2]}


@contextmanager
def missing(what: str) -> Iterator[None]:
    """Fails with this text if the code inside raises an error that points to a mistake of ours."""
    try:
        yield
    except (LookupError, AssertionError, AttributeError, TypeError, NotImplementedError) as error:
        pytest.fail(f"{what}: {type(error).__name__}: {error}")
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
        pytest.fail(f"{what}: {error}")


def queries(name: str) -> list[LogicalQuery]:
    """Queries with the aggregate over every kind of argument that it takes, from one or two inputs."""
    found, sources = [], {alias: Source(alias, SCHEMA, True, "ts") for alias in ("a", "b")}
    for kinds in kinds_taken(name):
        for number in range(max((len(COLUMNS[kind]) for kind in kinds), default=1)):
            columns = [COLUMNS[kind][number % len(COLUMNS[kind])] for kind in kinds]
            arguments = ", ".join(f"{alias}.{column}" for alias, column in zip("ab", columns, strict=False))
            text = f"SELECT {name.upper()}({arguments or '*'}) AS x FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
            found.append(bind(parse(text), sources))
    return found


def defined(name: str, query: LogicalQuery) -> list[tuple[Any, ...]]:
    """The answers by the definition."""
    with missing(f"{name.upper()} has no definition (reference/aggregates.py)"):
        return naive.answers(query, DATA)


# --- aggregates -----------------------------------------------------------------------------------------------

every_aggregate = pytest.mark.parametrize("name", AGGREGATES)


@every_aggregate
def test_an_aggregate_has_a_definition(name: str) -> None:
    for query in queries(name):
        assert defined(name, query)
    assert name in DIRECT, f"{name.upper()} has no textbook definition (tests/algebra/definitions.py)"


@every_aggregate
def test_an_aggregate_has_a_duckdb_text(name: str) -> None:
    for query in queries(name):
        with missing(f"{name.upper()} has no DuckDB text (reference/duck_expressions.py)"):
            found = duck.answers(query, DATA)
        assert_same_answers(defined(name, query), found)


@every_aggregate
def test_an_aggregate_has_a_finisher(name: str) -> None:
    for query in queries(name):
        machine = InProcess(plan_query(query))
        feed(machine, DATA)
        with missing(f"{name.upper()} has no finisher (algebra/finishers.py)"):
            found = answer(machine, to_the_end=True)
        assert_same_answers(defined(name, query), found)


@every_aggregate
def test_an_aggregate_has_a_price(name: str) -> None:
    for query in queries(name):
        with missing(f"{name.upper()} has no price (planner/cost)"):
            decision = plan_query(query, None, KNOWN).decision
        assert decision is not None
        costs = [alternative.estimate.cpu for alternative in decision.alternatives]
        assert all(0 < cost < inf for cost in costs), f"{name.upper()} has no price (planner/cost)"


@every_aggregate
def test_an_aggregate_has_a_function_of_the_builder(name: str) -> None:
    assert name in jf.__all__, f"{name.upper()} has no function that joinfold exports (measures.py, __init__.py)"
    for arity in AGGREGATES[name].arities:
        arguments = ["x", "y"][:arity]
        with missing(f"jf.{name} does not take the arguments of {name.upper()} (measures.py)"):
            measure = getattr(jf, name)(*arguments)
        assert measure.text == f"{name.upper()}({', '.join(arguments) or '*'})"


# --- structures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_has_a_price(name: str) -> None:
    """A structure needs a price for probes and one for updates. It must also be planned, and calibrated."""
    assert name in STRUCTURE_BYTES, f"structure '{name}' has no size (STRUCTURE_BYTES in planner/cost/sizes.py)"
    tried = {text.partition("(")[0] for text in (*matrix.STRUCTURES, *PLAN_STRUCTURES)}
    assert name in tried, f"structure '{name}' is not tried (tests/operators/matrix.py, test_plans.py)"
    priced = [operation for operation in OPERATIONS if operation.startswith(f"{name} ")]
    for words in (("update", "updated"), ("probe", "probed", "scanned")):
        operations = [operation for operation in priced if operation.endswith(words)]
        assert operations, f"structure '{name}' has no price for {words[0]}s (OPERATIONS in planner/cost/engine.py)"
    assert any(shipped_weights().seconds[operation] > 0 for operation in priced), f"structure '{name}' costs nothing"
    (query, *_) = queries("count")
    for method in ("ic", "tc", "pc"):
        with missing(f"structure '{name}' has no price (planner/cost)"):
            assert plan_query(query, Plan(method, (), {"a": name, "b": name}), KNOWN).decision


# --- functions ------------------------------------------------------------------------------------------------

every_function = pytest.mark.parametrize("name", FUNCTIONS)


def calls(name: str) -> list[Call]:
    """Calls of the function with constants of all types that it takes."""
    found = []
    for types in CALLS[name]:
        if VOID not in types:
            values: list[Any] = [edges(type_)[1] for type_ in types]
            if name == "date_trunc":
                values[0] = "day"
            found.append(Call(name, tuple(map(Literal, values, types))))
    assert found, f"no arguments for {name}"
    return found


@every_function
def test_a_function_has_a_columnar_implementation(name: str) -> None:
    for call in calls(name):
        with missing(f"{name} has no columnar implementation (columnar/)"), suppress(EvaluationError):
            columnar.evaluate(call, {}, 1, "UTC")


@every_function
def test_a_function_has_a_value_in_the_reference(name: str) -> None:
    for call in calls(name):
        with missing(f"{name} has no value in the reference (reference/functions.py)"), suppress(EvaluationError):
            evaluate(call, Context())


@every_function
def test_a_function_has_a_duckdb_text(name: str) -> None:
    with duckdb.connect() as connection:
        for call in calls(name):
            with missing(f"{name} has no DuckDB text (reference/duck_functions.py)"):
                connection.execute(f"SELECT {scalar(call)}")


# --- kinds of windows -----------------------------------------------------------------------------------------

WINDOWS: dict[type, str] = {
    Sliding: "[6 MICROSECOND SLIDE 3 MICROSECOND]",
    Continuous: "[6 MICROSECOND]",
    Rows: "[ROWS 4 SLIDE 2]",
    PartitionedRows: "[PARTITION BY k ROWS 2]",
    RangeByRows: "[RANGE 6 MICROSECOND SLIDE 2 ROWS]",
    Landmark: "[UNBOUNDED]",
}
CLAUSES = ("", "EMIT EVERY 3 MICROSECONDS", "EMIT ON TRIGGER", "EMIT ON ARRIVAL", "SYNC ON FULL", "SYNC ON WINDOW ID")


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("kind", get_args(Window), ids=lambda kind: kind.__name__)
def test_a_kind_of_window_is_answered_or_refused_under_every_clause(kind: type, clause: str) -> None:
    """Both references, the sample, the prices and the engine know it, or the query is refused as a page announces."""
    assert kind in WINDOWS, f"give an example of {kind.__name__} here"
    sources = {alias: Source(alias, SCHEMA, True, "ts") for alias in ("a", "b")}
    text = f"SELECT COUNT(*) AS x FROM a {WINDOWS[kind]}, b {WINDOWS[kind]} WHERE a.k = b.k {clause}"
    try:
        query = bind(parse(text), sources)
    except QueryError as error:
        check_refusal(error, Asked(text))
        return
    assert all(isinstance(input_.window, kind) for input_ in query.streams)
    assert "relation" not in window_drawing(query)
    expected = naive.answers(query, DATA)
    assert_same_answers(expected, duck.answers(query, DATA))
    plan = planned(query, text, statistics=KNOWN)
    if plan is None:
        return
    assert plan.decision is not None
    tables = {name: to_arrow(DATA[name], SCHEMA) for name in DATA}
    assert sampled_statistics(draft(query), tables).is_known
    machine = InProcess(plan)
    feed(machine, DATA)
    assert_same_answers(expected, answer(machine, to_the_end=True))
