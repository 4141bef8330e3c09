"""A source is read once, however many inputs of a query it is."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.inprocess.frames import frame_batch
from joinfold.operators.codec import decode
from joinfold.operators.packing.sample_statistics import LOOKED_EVERY
from joinfold.reference.rows import Row, from_arrow, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.frames import Part, Projection, pack_stage
from tests.strategies import assert_same_answers

SCHEMA = "ts TIMESTAMP, k INT, v INT, source STRING"
WINDOWS = "s a [6 SECOND SLIDE 2 SECOND], s b [TUMBLE 4 SECOND]"
SECOND = 1_000_000


def projection_of(text: str) -> Projection:
    session = jf.Session()
    session.stream("s", SCHEMA, time="ts")
    return Projection.of(enumerate(session.sql(text).plan.frames))


def test_what_several_inputs_want_is_computed_once() -> None:
    """The time, the key and the value are the same; the filter of one input makes its columns others."""
    same = projection_of(f"SELECT COUNT(*) AS n, SUM(a.v) AS x, SUM(b.v) AS y FROM {WINDOWS} WHERE a.k = b.k")
    assert same.texts == ("source.ts AS p0", "source.k AS p1", "source.v AS p2")
    other = projection_of(f"SELECT COUNT(*) AS n, SUM(b.v) AS y FROM {WINDOWS} WHERE a.k = b.k AND a.v > 1")
    guarded = "CASE WHEN source.v > 1 THEN source.k END AS p2"
    assert other.texts == ("source.ts AS p0", "source.v > 1 AS p1", guarded, "source.k AS p3", "source.v AS p4")


@pytest.mark.parametrize("emit", ["EMIT EVERY 1 SECOND", "EMIT ON ARRIVAL"])
def test_of_the_batches_of_a_task_the_first_with_rows_is_looked_at_and_others_now_and_then(emit: str) -> None:
    session = jf.Session()
    session.stream("s", SCHEMA, time="ts")
    plan = session.sql(f"SELECT COUNT(*) AS n FROM s a [6 SECOND], s b [4 SECOND] WHERE a.k = b.k {emit}").plan
    rows = [{"ts": SECOND * number, "k": number, "v": 1, "source": "x"} for number in range(2 * LOOKED_EVERY)]
    table = to_arrow(rows, read_schema(SCHEMA))
    batches = [frame_batch(plan.frames[0], table.slice(number, 1)) for number in range(len(rows))]
    part = Part(0, tuple((name, name) for name in batches[0].schema.names))
    packed = pack_stage(plan.pipeline, (part,), (0,))([batches[0].slice(0, 0), *batches])
    facts = [decode(blob)[1] for blobs in packed for blob in blobs.column("blob").to_pylist()]
    samples = [own["sample"] for own in facts if "sample" in own]
    assert [sample is not None for sample in samples] == 2 * [True, *[False] * (LOOKED_EVERY - 1)]


def test_each_input_gets_its_own_columns_under_their_names() -> None:
    projection = projection_of(f"SELECT SUM(b.v) AS y FROM {WINDOWS} WHERE a.k = b.k AND a.v > 1 EMIT EVERY 1 SECOND")
    names = [text.rpartition(" ")[2] for text in projection.texts]
    batch = pa.RecordBatch.from_pydict({name: pa.array([place]) for place, name in enumerate(names)})
    first, second = (part.of(batch) for part in projection.parts)
    assert first.schema.names == ["ts", "keep", "a.k"] and "keep" not in second.schema.names
    assert [column[0].as_py() for column in first.columns] == [0, 1, 2]
    assert [column[0].as_py() for column in second.columns] == [0, 3, 4]


@pytest.mark.spark
@pytest.mark.parametrize("emit", ["", "EMIT ON ARRIVAL"])
def test_a_stream_joined_with_itself_is_read_once(spark: Any, tmp_path: Path, emit: str) -> None:
    rows: list[Row] = [{"ts": n * SECOND, "k": n % 3, "v": n, "source": "x"} for n in (*range(20), 3)]
    batches: list[dict[str, list[Row]]] = [{"s": rows[:12]}, {"s": rows[12:]}]
    for number, batch in enumerate(batches):
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(to_arrow(batch["s"], read_schema(SCHEMA)), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age
    session = jf.Session(spark)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    session.stream("s", reader.parquet(str(tmp_path)), time="ts")
    windows = "s a [6 SECOND], s b [4 SECOND]" if emit else WINDOWS
    query = session.sql(
        f"SELECT COUNT(*) AS n, SUM(b.v) AS y, MAX(a.source) AS m FROM {windows} WHERE a.k = b.k AND a.v > 1 {emit}"
    )
    found: list[tuple[Any, ...]] = []
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        handle = query.start(
            lambda table, _: found.extend(tuple(row.values()) for row in from_arrow(table)),
            checkpoint=f"{tmp_path}/checkpoint",
            trigger="available",
        )
        assert handle.wait(120)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    expected = stream(query.logical, batches)
    assert_same_answers(expected.answers, found)
    reports = [step for step in handle.query.recentProgress if step["numInputRows"]]
    assert [(len(step["sources"]), step["numInputRows"]) for step in reports] == [(1, 12), (1, 9)]
    assert [[side.rows for side in step.streams] for step in handle.history()] == [[12, 12], [9, 9]]
    assert {side.alias: side.late_rows for side in handle.history()[-1].streams} == expected.late == {"a": 1, "b": 1}
    first, last = (step.streams for step in handle.history())
    assert [side.rate for side in first] == [None, None]  # nobody knows yet what time the rows cover
    for side in last:  # nine rows, one of them out of order, in the eight seconds after the first micro-batch
        assert (side.rate, side.disorder, side.passes) == (9 / 8, pytest.approx(1 / 9), 1)
        assert (side.keys, side.groups) == pytest.approx((3, 1), abs=0.2)
