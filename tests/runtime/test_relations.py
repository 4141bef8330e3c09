"""Relations beside streams on Spark, static and streaming, against the definition."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.reference import naive
from joinfold.reference.rows import to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.checkpoints.agreement import agree
from joinfold.runtime.frames import whole_rows
from tests.inprocess.test_relations import DATA, WITH_RELATIONS
from tests.operators.test_machine import planned, scattered
from tests.runtime.test_engine import few, fewer, query_over, register, rows_of, write_batch
from tests.strategies import Case, assert_same_answers

STREAM, PEOPLE, PLACES = "ts TIMESTAMP, k INT, v INT", "k INT, x INT, name STRING", "x INT, y INT"


@pytest.fixture(autouse=True)
def in_utc(request: pytest.FixtureRequest) -> None:
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.spark
def test_a_restart_keeps_the_home_whatever_the_relation_has_now(spark: Any, tmp_path: Path) -> None:
    text = (
        "SELECT COUNT(*) AS n FROM a [TUMBLE 1 SECOND], b [TUMBLE 1 SECOND], r "
        "WHERE a.v = b.v AND a.k = r.k AND b.v = r.x"
    )
    columns = read_schema("k INT, x INT")
    homes = []
    for number, (same, other) in enumerate((("k", "x"), ("x", "k"))):  # first many rows of one k, then many of one x
        relation = [{same: 1, other: value} for value in range(50)]
        session = jf.Session(spark)
        for name in "ab":
            rows = [{"ts": number * 10_000_000 + ts, "k": 1, "v": 1} for ts in (0, 2_000_000)]
            path = tmp_path / name / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            parquet.write_table(to_arrow(rows, read_schema(STREAM)), path)
            session.stream(name, spark.readStream.schema(STREAM).parquet(f"{tmp_path}/{name}"), time="ts")
        session.table("r", to_arrow(relation, columns))
        handle = session.sql(text).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )
        assert handle.wait(120)
        homes.append((session.sql(text).plan.homes, handle.plan.homes))
    assert homes == [({"r": "b"}, {"r": "b"}), ({"r": "a"}, {"r": "b"})]
    answers = {row[0]: row[1] for row in rows_of(spark.read.parquet(f"{tmp_path}/out").toArrow())}
    assert answers[1_000_000] == 1 and answers[11_000_000] == 1


@pytest.mark.spark
def test_a_stream_that_is_read_with_and_without_a_relation_is_started_again(spark: Any, tmp_path: Path) -> None:
    """Spark reads it twice, and keeps one log of its files."""
    text = "SELECT COUNT(*) AS n FROM a x [ROWS 9], a y [ROWS 9], r WHERE x.v < y.v AND y.k = r.k"
    (tmp_path / "a").mkdir()
    for number in range(2):
        rows = [{"ts": number * 100 + ts, "k": 1, "v": ts} for ts in range(3)]
        parquet.write_table(to_arrow(rows, read_schema(STREAM)), tmp_path / "a" / f"{number}.parquet")
        session = jf.Session(spark)
        session.stream("a", spark.readStream.schema(STREAM).parquet(f"{tmp_path}/a"), time="ts")
        session.table("r", to_arrow([{"k": 1, "x": 0, "name": ""}], read_schema(PEOPLE)))
        handle = session.sql(text).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )
        assert handle.wait(120)
    assert [own.name for own in (tmp_path / "checkpoint" / "sources").iterdir()] == ["0"]


@pytest.mark.filterwarnings("ignore::joinfold.errors.JoinfoldWarning")  # random windows may leave gaps
@pytest.mark.spark
@few
@given(case=WITH_RELATIONS)
def test_static_frames(spark: Any, case: Case) -> None:
    plan = planned(case)
    assume(plan is not None)
    assert plan is not None
    expected = naive.answers(plan.query, case.data)
    assume(expected)
    session = jf.Session(spark)
    for name, source in case.catalog.items():
        frame = spark.createDataFrame(to_arrow(case.data[name], source.schema), schema=str(source.schema))
        register(session, source, frame)
    assert_same_answers(expected, rows_of(session.sql(case.text).collect()))


@pytest.mark.spark
@fewer
@given(case=WITH_RELATIONS, data=st.data())
def test_streams_that_are_stopped_and_started_again(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, case: Case, data: st.DataObject
) -> None:
    plan = planned(case)
    assume(plan is not None)
    assert plan is not None
    batches = scattered(case, data)
    expected = stream(plan.query, batches)
    assume(len(expected.answers) > 1)
    directory = tmp_path_factory.mktemp("stream")
    late: dict[str, int] = {}
    for present in (1, 3):  # the first run finds one batch, the second all of them
        for number in range(present):
            write_batch(directory, case, number, batches[number])
        handle = query_over(spark, directory, case, data).start(
            "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", path=f"{directory}/out"
        )
        assert handle.wait(120)
        progress = handle.progress()
        late |= {} if progress is None else {side.alias: side.late_rows for side in progress.streams}
    assert_same_answers(expected.answers, rows_of(spark.read.parquet(f"{directory}/out").toArrow()))
    assert late == expected.late


def answered(spark: Any, text: str, **others: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The answers over the rows of `tests.inprocess.test_relations`, or others, which are those of the definition."""
    data = DATA | others
    session = jf.Session(spark)
    session.stream("s", to_arrow(data["s"], read_schema(STREAM)), time="ts")
    session.table("p", to_arrow(data["p"], read_schema(PEOPLE)))
    session.table("q", to_arrow(data["q"], read_schema(PLACES)))
    query = session.sql(text)
    found = rows_of(query.collect())
    assert_same_answers(naive.answers(query.logical, data), found)
    return found


@pytest.mark.spark
def test_matches_are_found_and_counted(spark: Any) -> None:
    by_name = "SELECT p.name, q.y, COUNT(*) AS n FROM s [UNBOUNDED], q, p WHERE s.k = p.k AND p.x = q.x"
    found = answered(spark, f"{by_name} GROUP BY p.name, q.y EMIT EVERY 5 MICROSECOND")
    assert sorted(found, key=str) == [(5, "one", 5, 2), (5, "uno", 6, 4), (5, "uno", None, 4)]
    twice = "SELECT COUNT(*) AS n FROM p a, s [UNBOUNDED], p b WHERE a.k = s.k AND b.k = s.k AND a.x < b.x"
    assert answered(spark, f"{twice} EMIT EVERY 5 MICROSECOND") == [(5, 4)]
    apart = twice.replace("a.x < b.x", "a.x + s.v < b.x + s.v")
    assert answered(spark, f"{apart} EMIT EVERY 5 MICROSECOND") == [(5, 4)]
    counted = "SELECT COUNT(*) AS n FROM s [1 MICROSECOND], p WHERE s.k = p.k EMIT ON ARRIVAL"
    assert answered(spark, counted) == [(0, 1, 3), (1, 1, 4), (2, 1, 1), (3, 1, 0), (4, 1, 3)]
    whole = "SELECT COUNT(*) AS n FROM s [UNBOUNDED], q WHERE s.v >= q.y OR q.x = 10 EMIT EVERY 5 MICROSECOND"
    assert answered(spark, whole) == [(5, 5)] and answered(spark, whole, q=[])[0][1] == 0


@pytest.mark.spark
def test_what_does_not_match_is_not_computed(spark: Any) -> None:
    people = [{"k": 1, "x": 0, "name": "zero"}, {"k": 1, "x": 1, "name": "7"}, {"k": 9, "x": 1, "name": "nobody"}]
    text = "SELECT SUM(CAST(p.name AS INT)) AS n FROM s [TUMBLE 5 MICROSECOND], p WHERE s.k = p.k AND s.v < p.x"
    assert answered(spark, text, p=people) == [(5, 7), (10, None)]


@pytest.mark.spark
def test_a_stream_is_not_a_relation(spark: Any) -> None:
    session = jf.Session(spark)
    session.stream("s", to_arrow(DATA["s"], read_schema(STREAM)), time="ts")
    session.table("r", spark.readStream.format("rate").load())
    query = session.sql("SELECT COUNT(*) AS n FROM s [UNBOUNDED], r WHERE s.k = r.value EMIT ON TRIGGER")
    with pytest.raises(jf.UsageError, match="'r' is a stream, but was registered as a relation"):
        query.collect()


@pytest.mark.spark
def test_a_checkpoint_remembers_the_columns_of_relations(spark: Any, tmp_path: Path) -> None:
    def start(people: str) -> None:
        session = jf.Session()
        session.stream("s", STREAM, time="ts")
        session.table("p", people)
        query = session.sql("SELECT SUM(p.x) AS x FROM s [TUMBLE 1 MINUTE], p WHERE s.k = p.k")
        agree(spark, str(tmp_path), query.plan, 2, explicit=False)

    start(PEOPLE)
    start(PEOPLE.replace("name STRING", "other INT"))
    with pytest.raises(jf.UsageError, match="with 'p' having the columns k INT, x INT, not k INT, x BIGINT"):
        start(PEOPLE.replace("x INT", "x BIGINT"))


@given(
    matches=st.lists(st.integers(0, 3), max_size=8),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=30),
)
def test_batches_are_cut_between_rows_of_the_stream(matches: list[int], sizes: list[int]) -> None:
    """However Spark cuts its batches, all matches of a row are in the one that has the row."""
    rows = [(row, number == 0) for row, count in enumerate(matches) for number in range(max(count, 1))]
    batches = []
    for size in sizes * len(rows):
        part, rows = rows[:size], rows[size:]
        if part:
            columns = {"row": [row for row, _ in part], "first": [first for _, first in part]}
            batches.append(pa.RecordBatch.from_pydict(columns))
    whole = [batch.to_pydict() for batch in whole_rows(batches, "first") if batch.num_rows]
    assert all(batch["first"][0] for batch in whole)
    assert [row for batch in whole for row in batch["row"]] == [
        row for row, count in enumerate(matches) for _ in range(max(count, 1))
    ]
