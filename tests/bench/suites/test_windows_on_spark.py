"""`joinfold bench windows` end to end on very little data: rows beside time, the limit, equal answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from joinfold import Session
from joinfold_bench import write_results
from joinfold_bench.data import Dataset
from joinfold_bench.engines.by_rows import ByRows
from joinfold_bench.plans.sharing import ShareCase
from joinfold_bench.suites.windows import WINDOWS, WindowResults, WindowSettings, run_windows

pytestmark = pytest.mark.spark

TINY = Dataset("R1", rows_per_second=30, seconds=120, keys=10, groups=3, rows_per_file=1_200, files_per_batch=1)


@pytest.fixture(scope="module")
def results(spark: Any) -> WindowResults:
    settings = WindowSettings(1, TINY, ByRows(1_800, 450), ShareCase(50, 2), (ShareCase(50, 2),))
    return run_windows(settings, Session(spark))


def test_all_engines_answer_alike(results: WindowResults) -> None:
    assert results.wrong == []
    (check,) = results.checks
    assert (check.right, check.verdict) == ("DuckDB recomputing", "equal")
    assert check.instants >= 10


def test_every_bar_has_a_ratio(results: WindowResults) -> None:
    limit, ours = results.measurements
    (item,) = results.comparisons
    assert (item.bar, item.ratio.middle) == (0.3, pytest.approx(ours.rate.middle / limit.rate.middle))
    assert [batch.rows for batch in ours.runs[0].batches if batch.rows] == [TINY.batch_rows] * 3
    assert [item.bar for item in results.plan_comparisons] == [2.0, 1.5, 1.5]


def test_the_report_can_be_read(results: WindowResults, tmp_path: Path) -> None:
    (numbers,) = write_results(results, tmp_path, WINDOWS.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert [run["share"] for run in read["shares"]] == ["pairs", "nothing"] * 2
    assert read["environment"]["spark"]["spark.sql.shuffle.partitions"]
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    printed = console.export_text()
    assert "members visited" in printed and "limit: mapInArrow counting" in printed
