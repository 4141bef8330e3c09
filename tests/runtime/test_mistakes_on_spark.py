"""The mistakes of tests/golden/mistakes/on_spark.txt, with one Spark session and one started query of each sink."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from tests.golden_cases import Case, cases_in
from tests.test_mistakes import ON_SPARK, check_for_people, report_of

pytestmark = pytest.mark.spark

QUERY = "SELECT k, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY k"


@pytest.fixture(scope="module")
def known(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    here = tmp_path_factory.mktemp("mistakes")
    times = [datetime(2025, 1, 1, 0, minute, tzinfo=UTC) for minute in range(4)]
    rows = pa.table({"k": pa.array([1, 2, 1, 2], pa.int32()), "ts": pa.array(times, pa.timestamp("us", "UTC"))})
    (here / "files").mkdir()
    parquet.write_table(rows, here / "files" / "1.parquet")
    streaming, still, nested = jf.Session(spark), jf.Session(spark), jf.Session(spark)
    streaming.stream("s", spark.readStream.schema("k INT, ts TIMESTAMP").parquet(str(here / "files")))
    still.stream("s", rows)
    nested.stream("s", spark.createDataFrame([([1], times[0])], "tags ARRAY<INT>, ts TIMESTAMP"))
    live = streaming.sql(QUERY)

    @cache
    def started(sink: str, **arguments: Any) -> Any:
        handle = live.start(sink, checkpoint=here / sink, trigger="available", **arguments)
        assert handle.wait(120)
        return handle

    start: Callable[..., Any] = started
    return {
        "jf": jf,
        "spark": spark,
        "here": here,
        "live": live,
        "other": streaming.sql("SELECT k, MAX(ts) AS last FROM s [TUMBLE 1 MINUTE] GROUP BY k"),
        "bounded": still.sql(QUERY),
        "nested": nested,
        "started": start,
    }


@pytest.mark.parametrize("case", cases_in("mistakes", ON_SPARK), ids=lambda case: case.id)
def test_a_mistake_explains_itself(case: Case, known: dict[str, Any]) -> None:
    report = report_of(case.text, known).replace(str(known["here"]), "HERE")
    case.check(report)
    check_for_people(report)
