"""Who gets what: each entry goes to one bucket of the stage that reads it, each header to all buckets of all stages."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.codec import decode
from joinfold.operators.emitted import Emitted
from joinfold.operators.packing.routing import Addressed, bucket_of, pack, pass_on, view_rows
from joinfold.physical.column_names import CELL, COUNT, INSTANT, ORIGIN, extreme_column, integer_column, real_columns
from joinfold.physical.edge import (
    ArrivalsFrom,
    BoundariesFrom,
    Edge,
    EntriesFrom,
    HeaderFrom,
    OrderFrom,
    ViewRows,
    edge_of,
)
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import LastRowsPerKey, inputs_of
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.chains import chain_of
from tests.operators.runs import Row, plan_of, tables_of

LABELS = (4, 7, 9)
W = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
SCHEMA = "k STRING, j INT, v INT"
COUNTED = f"FROM a {W}, b {W} WHERE"
PLANS = {
    "keys": plan_of(f"SELECT a.j, COUNT(*) AS n {COUNTED} a.k = b.k GROUP BY a.j", SCHEMA),
    "no key": plan_of(f"SELECT COUNT(*) AS n {COUNTED} a.v < b.v", SCHEMA),
    "rows": plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b [ROWS 3] WHERE a.k = b.k", SCHEMA),
    "last rows": plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b [PARTITION BY j ROWS 2] WHERE a.k = b.k", SCHEMA),
    "arrivals": plan_of(
        "SELECT COUNT(*) AS n FROM a [9 MICROSECOND], b [ROWS 3] WHERE a.k = b.k EMIT ON ARRIVAL", SCHEMA
    ),
    "chain": chain_of(f"SELECT MAX(a.v) AS x FROM a {W}, b {W}, c {W} WHERE a.k = b.k AND b.j = c.j", SCHEMA, "abc"),
}
rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 20),
            "k": st.none() | st.sampled_from("pqrst"),
            "j": st.none() | st.integers(0, 3),
            "v": st.integers(0, 1),
        }
    ),
    min_size=1,
    max_size=8,
)


def packed(plan: PlannedQuery, stream: int, values: list[Row]) -> list[Addressed]:
    frame = plan.frames[stream]
    name = frame.input.source.name
    return list(pack(plan.pipeline, stream, LABELS, frame_batch(frame, tables_of(plan, {name: values})[name])))


def opened(blobs: Iterable[Addressed]) -> list[tuple[int, int, Edge, list[Row], dict[str, Any]]]:
    """Stage, label, what it is, rows and facts of each blob."""
    found = []
    for stage, label, blob in blobs:
        batch, facts = decode(blob)
        found.append((stage, label, edge_of(facts), batch.to_pylist(), facts))
    return found


@pytest.mark.parametrize("name", PLANS)
@given(values=rows, of=st.integers(0, 2))
def test_every_bucket_of_every_stage_learns_of_a_batch_once(name: str, values: list[Row], of: int) -> None:
    """Rows without a key are told to the first alone."""
    plan = PLANS[name]
    stream = of % len(plan.frames)
    found = opened(packed(plan, stream, values))
    with_header = [own for own in found if "rows" in own[4]]
    everyone = [(stage, label) for stage in range(len(plan.stages)) for label in LABELS]
    assert sorted(own[:2] for own in with_header) == sorted(everyone)
    assert {own[4]["rows"] for own in with_header} == {len(values)}
    reader = plan.pipeline.stage_of(stream)
    for stage, label, edge, own, facts in found:
        if isinstance(edge, HeaderFrom):
            assert own == [] and stage != reader
        if isinstance(edge, EntriesFrom) and "rows" in facts and label != LABELS[0]:
            assert facts["keyless_counts"] == []
    assert all(own[2].stream == stream for own in found if not isinstance(own[2], ViewRows))


@pytest.mark.parametrize("name", PLANS)
@given(values=rows, of=st.integers(0, 2))
def test_an_entry_goes_to_one_bucket_or_where_it_has_no_key_to_all(name: str, values: list[Row], of: int) -> None:
    plan = PLANS[name]
    stream = of % len(plan.frames)
    reader, spec = plan.pipeline.stage_of(stream), plan.pipeline.input_of(stream)
    entries = [own for own in opened(packed(plan, stream, values)) if isinstance(own[2], EntriesFrom)]
    assert [own[0] for own in entries] == [reader] * len(LABELS)
    assert [own[1] for own in entries] == list(LABELS)
    if name == "no key" and stream == 1:
        assert len({str(own[3]) for own in entries}) == 1
        return
    where: dict[Any, int] = {}
    stage = plan.stages[reader]
    by = stage.by if isinstance(stage, LastRowsPerKey) else spec.keys or (CELL, *spec.identity)
    for _, label, _, own, _ in entries:
        for row in own:
            assert where.setdefault(tuple(row[column] for column in by), label) == label
    with_keys = sum(all(row[key.split(".")[1]] is not None for key in spec.keys) for row in values)
    assert sum(row[COUNT] for _, _, _, own, _ in entries for row in own) == with_keys


@given(values=rows)
def test_keys_that_are_equal_are_in_one_bucket_whichever_input_they_are_of(values: list[Row]) -> None:
    plan = PLANS["keys"]
    bucket: dict[str, int] = {}
    for stream in range(2):
        (key,) = plan.pipeline.input_of(stream).keys
        for _, label, edge, own, _ in opened(packed(plan, stream, values)):
            assert isinstance(edge, EntriesFrom)
            for row in own:
                assert bucket.setdefault(row[key], label) == label


@given(values=rows)
def test_one_bucket_numbers_a_stream(values: list[Row]) -> None:
    found = opened(packed(PLANS["rows"], 1, values))
    ((stage, label, _, order, _),) = [own for own in found if isinstance(own[2], OrderFrom)]
    assert (stage, label) == (0, LABELS[1]) and sorted(row[CELL] for row in order) == sorted(
        row["ts"] for row in values
    )
    assert not any(isinstance(own[2], OrderFrom) for own in opened(packed(PLANS["rows"], 0, values)))


@given(values=rows)
def test_arrivals_of_all_rows_go_to_all_buckets(values: list[Row]) -> None:
    found = opened(packed(PLANS["arrivals"], 0, values))
    arrivals = [own for own in found if isinstance(own[2], ArrivalsFrom)]
    assert [own[1] for own in arrivals] == list(LABELS)
    assert [[row[CELL] for row in own[3]] for own in arrivals] == [[row["ts"] for row in values]] * len(LABELS)
    names = {(row["batch"], row["row"]) for row in arrivals[0][3]}
    mine = [(row["batch"], row["row"]) for own in found if isinstance(own[2], EntriesFrom) for row in own[3]]
    assert len(mine) == len(set(mine)) == sum(row["k"] is not None for row in values) and set(mine) <= names


def test_boundaries_go_to_every_bucket_of_the_folds() -> None:
    pipeline = PLANS["rows"].pipeline
    boundaries = pa.RecordBatch.from_pydict({CELL: [3], "number": [3]})
    found = opened(pass_on(pipeline, 0, 1, LABELS, Emitted(None, [], boundaries={1: boundaries})))
    assert [own[:3] for own in found] == [(1, label, BoundariesFrom(1)) for label in LABELS]
    assert all(own[3] == boundaries.to_pylist() for own in found)


def test_a_view_goes_to_its_reader_by_key_and_without_null() -> None:
    pipeline = PLANS["chain"].pipeline
    reader = pipeline.reader_of(0)
    spec = next(own for own in inputs_of(pipeline.stages[reader]) if own.source == ViewOf(0))
    (key,) = spec.keys
    keys = [1, 2, None, 3, 4, None]
    totals = {INSTANT: pa.array([5] * 6), key: pa.array(keys, pa.int32())}
    totals |= {name: pa.array([0] * 6, pa.int32()) for name in spec.identity if name not in (key, ORIGIN)}
    totals |= {integer_column(number): pa.array([number + 1] * 6) for number in range(len(spec.integers))}
    totals |= {extreme_column(number): pa.array([7] * 6) for number in range(len(spec.extremes))}
    found = opened(pass_on(pipeline, 0, 2, LABELS, Emitted(pa.RecordBatch.from_pydict(totals), [5])))
    assert [own[:3] for own in found] == [(reader, label, ViewRows(0)) for label in LABELS]
    rows_of = [row for own in found for row in own[3]]
    assert sorted(row[key] for row in rows_of) == [1, 2, 3, 4]
    assert {(row[CELL], row[ORIGIN], row[COUNT]) for row in rows_of} == {(5, 2, 1)}
    assert opened(pass_on(pipeline, 0, 2, LABELS, Emitted(None, []))) == []


def test_totals_are_called_what_they_mean_to_the_reader() -> None:
    plan = chain_of(
        f"SELECT SUM(a.v / 2) AS s, MAX(a.v) AS x FROM a {W}, b {W}, c {W} "
        "WHERE a.k = b.k AND b.j = c.j OPTION (root = c)",
        SCHEMA,
        "abc",
    )
    spec = next(own for own in inputs_of(plan.stages[-1]) if own.source == ViewOf(0))
    assert spec.reals and spec.extremes
    totals: dict[str, Any] = {INSTANT: [3], **{name: [1] for name in spec.groups}}
    totals |= {integer_column(number): [10 + number] for number in range(len(spec.integers))}
    totals |= dict(zip(real_columns(0), ([0.5], [0.25]), strict=True)) | {extreme_column(0): [9]}
    (row,) = view_rows(spec, 6, pa.RecordBatch.from_pydict(totals)).to_pylist()
    expected: dict[str, Any] = {name: 10 + number for number, name in enumerate(spec.integer_names)}
    expected |= dict(zip(spec.real_names[0], (0.5, 0.25), strict=True)) | {spec.extreme_names[0]: 9}
    assert expected.items() <= row.items() and (row[CELL], row[ORIGIN]) == (3, 6) and INSTANT not in row


def test_what_is_not_distributed_is_in_the_first_bucket() -> None:
    stage = plan_of(f"SELECT COUNT(*) AS n FROM a {W}", SCHEMA).stages[0]
    entries = pa.RecordBatch.from_pydict({CELL: [1, 2, 3], COUNT: [1, 1, 1]})
    assert bucket_of(stage, 0, entries, 1).tolist() == [0, 0, 0]
