"""What PACK is handed: computed where a filter lets a row through, in the types that the plan wants."""

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from joinfold.errors import EvaluationError, UsageError
from joinfold.inprocess.frames import frame_batch
from joinfold.physical.column_names import KEEP, TIME, Role
from joinfold.reference.evaluate import Context, evaluate, is_true
from joinfold.reference.rows import from_arrow
from tests.operators.runs import plan_of, tables_of
from tests.operators.test_machine import RUNS, planned
from tests.strategies import Case, cases

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"


def framed(text: str, schema: str, rows: list[dict[str, Any]], role: Role = "argument") -> list[tuple[bool, list[Any]]]:
    """Whether each row is kept, and its columns that are for this."""
    plan = plan_of(text, schema)
    (frame, *_) = plan.frames
    batch = frame_batch(frame, tables_of(plan, {"a": rows})["a"])
    names = [column.name for column in frame.columns if column.role == role]
    found = from_arrow(pa.Table.from_batches([batch]))
    return [(row.get(KEEP, True), [row[name] for name in names]) for row in found]


@given(case=cases(modes=RUNS, inputs=(1, 2), relations=False))
def test_frames_are_what_the_definition_computes_row_by_row(case: Case) -> None:
    plan = planned(case)
    if plan is None:
        return
    tables = tables_of(plan, case.data)
    for frame in plan.frames:
        rows = case.data[frame.input.source.name]
        found = from_arrow(pa.Table.from_batches([frame_batch(frame, tables[frame.input.source.name])]))
        assert len(found) == len(rows)
        for row, computed in zip(rows, found, strict=True):
            context = Context({frame.input.alias: row})
            kept = is_true(frame.keep, context)
            assert computed[TIME] == row["ts"] and computed.get(KEEP, True) == kept
            for column in frame.columns:
                there = kept or column.role == "order"
                expected = evaluate(column.expression, context.wide()) if there else None
                own = computed[column.name]
                if isinstance(expected, float):
                    assert math.isclose(own, expected)
                else:
                    assert own == expected and type(own) is type(expected)


def test_what_a_filter_removes_is_not_computed() -> None:
    text = f"SELECT SUM(CAST(a.s AS INT)) AS n FROM a {WINDOW} WHERE a.s LIKE '1%'"
    found = framed(text, "s STRING", [{"ts": ts, "s": s} for ts, s in enumerate(["x", "12", None, "1", "y"])])
    assert found == [(False, [None]), (True, [12]), (False, [None]), (True, [1]), (False, [None])]
    with pytest.raises(EvaluationError):
        framed(text.replace(" WHERE a.s LIKE '1%'", ""), "s STRING", [{"ts": 0, "s": "x"}])


def test_rows_that_a_filter_removes_keep_their_place_in_the_order() -> None:
    text = "SELECT COUNT(*) AS n FROM a [4 MICROSECOND] WHERE a.v > 1 EMIT ON ARRIVAL"
    found = framed(text, "v BIGINT", [{"ts": 0, "v": v} for v in (0, 5, None)], "order")
    assert found == [(False, [0]), (True, [5]), (False, [None])]


def test_arithmetic_on_the_way_into_an_aggregate_is_wider() -> None:
    rows = [{"ts": 0, "v": 2**62, "m": Decimal(10**37)}]
    text = f"SELECT COUNT(a.m * a.m) AS n, SUM(a.v * 4) AS s, MAX(a.m * a.m - a.m * a.m) AS m FROM a {WINDOW}"
    (row,) = framed(text, "v BIGINT, m DECIMAL(38, 0)", rows)
    assert row == (True, [True, 2**64, 0])


@pytest.mark.parametrize(
    ("select", "type_"),
    [
        (
            "SUM(a.m * a.m) AS s FROM a {}",
            r"the argument of an aggregate has a value that does not fit DECIMAL\(38, 0\)",
        ),
        ("COUNT(*) AS s FROM a {} GROUP BY a.v * 4", f"{2**64} does not fit BIGINT"),
        ("COUNT(*) AS s FROM a {0}, b {0} WHERE a.v * 4 = b.v", f"{2**64} does not fit BIGINT"),
    ],
)
def test_what_does_not_fit_is_refused(select: str, type_: str) -> None:
    rows = [{"ts": 0, "v": 2**62, "m": Decimal(10**37)}]
    with pytest.raises(EvaluationError, match=f"^{type_}$"):
        framed(f"SELECT {select.format(WINDOW)}", "v BIGINT, m DECIMAL(38, 0)", rows)


def test_columns_come_in_whatever_arrow_has_for_their_type() -> None:
    plan = plan_of(f"SELECT a.s, a.t, COUNT(*) AS n FROM a {WINDOW} GROUP BY a.s, a.t", "s STRING, t TIMESTAMP_NTZ")
    table = pa.table(
        {
            "ts": pa.chunked_array([pa.array([t], pa.timestamp("ms", tz="Asia/Tokyo")) for t in (1, 2)]),
            "s": pa.array(["x", "x"]).dictionary_encode(),
            "t": pa.array([1, 2], pa.timestamp("s")),
        }
    )
    batch = frame_batch(plan.frames[0], table)
    assert batch.column("ts").cast(pa.int64()).to_pylist() == [1000, 2000]
    assert [batch.column(name).type for name in batch.schema.names[1:]] == [pa.string(), pa.timestamp("us")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ts": [1]}, "the rows of stream 'a' lack its column 'v'\nHint: they have: ts."),
        ({"v": [1]}, "the rows of stream 'a' lack its column 'ts'\nHint: they have: v."),
        (
            {"ts": [1], "v": ["x"]},
            "column 'v' of stream 'a' is string, and not all of its values convert to BIGINT\n"
            "Hint: cast it to BIGINT before you give the rows.",
        ),
    ],
)
def test_rows_of_another_kind_are_refused(columns: dict[str, list[Any]], message: str) -> None:
    plan = plan_of(f"SELECT SUM(a.v) AS n FROM a {WINDOW}", "v BIGINT")
    with pytest.raises(UsageError) as caught:
        frame_batch(plan.frames[0], pa.table(columns))
    assert str(caught.value) == message
