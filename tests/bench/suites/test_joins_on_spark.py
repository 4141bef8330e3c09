"""`joinfold bench joins` end to end on very little data: the chain, the limit, Spark's joins, equal answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from joinfold import Session
from joinfold_bench import write_results
from joinfold_bench.data import AuctionData
from joinfold_bench.suites.joins import JOINS, JoinResults, JoinSettings, run_joins

pytestmark = pytest.mark.spark

LARGE = AuctionData("J1", events=3_000, events_per_second=3, events_per_file=750, files_per_batch=2)
SMALL = AuctionData("J0", events=100, events_per_second=0.5, events_per_file=100, files_per_batch=1)
"""LARGE takes 1,000 s; its windows are full after 600 s. SMALL takes a third of a window, because Spark copies rows."""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def results(spark: Any, lines: list[str]) -> JoinResults:
    settings = JoinSettings(1, 300.0, LARGE, SMALL, rows=200, slides=4, keys=40, measured=2)
    return run_joins(settings, Session(spark), lines.append)


def test_all_engines_answer_alike(results: JoinResults) -> None:
    assert results.wrong == []
    assert [(check.dataset, check.right, check.verdict) for check in results.checks] == [
        ("J1", "DuckDB recomputing", "equal"),
        ("J0", "DuckDB recomputing", "equal"),
        ("J0", "Spark joins, then aggregates", "equal"),
    ]
    assert min(check.instants for check in results.checks) >= 10


def test_every_bar_has_a_ratio(results: JoinResults) -> None:
    rates = {(found.engine, found.dataset.name): found.rate.middle for found in results.measurements}
    spark_rate = rates["Spark joins, then aggregates", "J0"]
    assert [(item.bar, item.ratio.middle) for item in results.comparisons] == [
        (0.25, pytest.approx(rates["joinfold", "J1"] / rates["limit: mapInArrow counting", "J1"])),
        (50.0, pytest.approx(rates["joinfold", "J0"] / spark_rate)),
        (None, pytest.approx(rates["joinfold", "J1"] / spark_rate)),
    ]
    assert results.comparisons[2].is_met is None
    assert [batch.rows for batch in results.measurements[0].runs[0].batches] == [1_500] * 2
    assert [item.bar for item in results.plan_comparisons] == [0.5]


def test_the_state_grows_with_the_rows_in_the_windows(results: JoinResults) -> None:
    half, all_ = results.states
    assert (half.dataset.events, all_.dataset.events) == (1_500, 3_000)
    assert half.dataset.events / half.dataset.events_per_second == 1_000
    assert half.dataset.batch_rows == 750
    # The bids of one slide and auction are one entry. Every auction and every person is an entry of its own.
    assert 1.5 < all_.entries / half.entries < 2.5
    assert 0 < half.state_bytes < all_.state_bytes


def test_the_report_can_be_read(results: JoinResults, lines: list[str], tmp_path: Path) -> None:
    (numbers,) = write_results(results, tmp_path, JOINS.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert [state["state_bytes"] for state in read["states"]] == [size.state_bytes for size in results.states]
    assert [item["met"] for item in read["comparisons"]][2] is None
    assert read["environment"]["spark"]["spark.sql.shuffle.partitions"]
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    printed = console.export_text()
    assert "bytes/event" in printed and "half of J1" in printed and "three streams" in printed
    assert sum("rows/s" in line for line in lines) == 4
