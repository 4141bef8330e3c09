"""Draws of keys are left out of the state, and come back the same."""

import pyarrow as pa
import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import Source
from joinfold.operators.packing.draws import with_draws
from joinfold.operators.state.key_draws import NO_DRAWS, KeyDraws
from joinfold.physical.column_names import DRAW
from joinfold.physical.stored import EntriesOf, Waiting
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query

COLUMNS = read_schema("ts TIMESTAMP, k INT, l STRING")
FROM = "FROM a [6 SECOND SLIDE 1 SECOND], b [6 SECOND SLIDE 1 SECOND] WHERE a.k = b.k AND a.l = b.l"


def plan_of(shed: str, select: str = "COUNT(*) AS n") -> PlannedQuery:
    catalog = {name: Source(name, COLUMNS, True, "ts") for name in "ab"}
    return plan_query(bind(parse(f"SELECT {select} {FROM} {shed}"), catalog))


def test_draws_are_derived_from_the_keys() -> None:
    pipeline = plan_of("SHED TO HOLD 10 ROWS SAMPLE BY KEY SEED 7").pipeline
    own, stored = KeyDraws.of(pipeline, 0), EntriesOf("a")
    names = own.columns[stored]
    keys = pa.RecordBatch.from_arrays([pa.array([1, 2, None]), pa.array(["x", None, "é"])], names=list(names))
    entries = with_draws(keys, names, seed=7)
    assert own.left_out(stored, entries).equals(keys)
    assert own.derived(stored, keys).equals(entries)
    assert own.derived(stored, entries) is entries  # an older version has stored them
    assert own.left_out(Waiting(), entries) is entries


@pytest.mark.parametrize(
    ("shed", "select"),
    [
        ("", "COUNT(*) AS n"),
        ("SHED TO HOLD 10 ROWS SAMPLE BY ROW", "COUNT(*) AS n"),  # draws of rows cannot be derived from entries
        ("SHED TO HOLD 10 ROWS", "a.k"),
    ],
)
def test_other_draws_are_stored(shed: str, select: str) -> None:
    own = KeyDraws.of(plan_of(shed, select).pipeline, 0)
    assert own == NO_DRAWS
    entries = pa.RecordBatch.from_arrays([pa.array([5])], names=[DRAW])
    assert own.left_out(EntriesOf("a"), entries) is entries
