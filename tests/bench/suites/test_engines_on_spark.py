"""`joinfold bench engines` end to end on very little data: all engines run, and their answers are equal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from joinfold import Session
from joinfold_bench import write_results
from joinfold_bench.data import Dataset
from joinfold_bench.suites.engines import ENGINES, Settings, SideBySide, run_engines

pytestmark = pytest.mark.spark

TINY = Dataset("R0", rows_per_second=30, seconds=120, keys=10, groups=3, rows_per_file=3_600, files_per_batch=1)
CUT = replace(TINY, name="R1", rows_per_file=1_200)
"""One micro-batch is enough for answers, but a rate needs three: the third is the first steady one."""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def results(spark: Any, lines: list[str]) -> SideBySide:
    settings = Settings(repeats=1, cap_seconds=300.0, r0=TINY, r1=CUT)
    return run_engines(settings, Session(spark), lines.append)


def test_all_engines_answer_alike(results: SideBySide) -> None:
    compared = {(check.right, check.dataset): check for check in results.checks}
    assert len(compared) == 6
    assert {check.verdict for check in results.checks} == {"equal"}, results.checks
    assert min(check.instants for check in results.checks) >= 5


def test_every_engine_has_a_rate_and_every_bar_a_ratio(results: SideBySide) -> None:
    assert all(measurement.rate.low > 0 for measurement in results.measurements)
    assert [(item.dataset, item.bar) for item in results.comparisons] == [
        ("R1", 0.5),
        ("R1", 5.0),
        ("R1", 5.0),
        ("R1", 5.0),
        ("R0", 20.0),
        ("R0", 20.0),
    ]
    limit, ours = (measurement.runs[0] for measurement in results.measurements[:2])
    assert [batch.rows for batch in limit.batches] == [CUT.batch_rows] * 3
    assert (limit.rate.basis, ours.rate.basis) == ("steady", "steady")
    assert ours.startup_seconds is not None and 0 < ours.startup_seconds < ours.seconds


def test_the_report_can_be_read(results: SideBySide, lines: list[str], tmp_path: Path) -> None:
    numbers, chart = write_results(results, tmp_path, ENGINES.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert [check["verdict"] for check in read["checks"]] == ["equal"] * len(results.checks)
    assert read["environment"]["spark"]["spark.sql.shuffle.partitions"]
    assert ElementTree.parse(chart).getroot().tag.endswith("svg")
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    printed = console.export_text()
    assert printed.count("joinfold") > 5 and "…" in printed
    assert sum("rows/s" in line for line in lines) >= 7
