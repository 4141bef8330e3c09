"""`joinfold bench shedding` on very little data: tables, charts, and the report."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from joinfold_bench import write_results
from joinfold_bench.engines.watching import WatchedBatch
from joinfold_bench.shedding.holding import HoldingSettings, PartialBudget
from joinfold_bench.shedding.keeping_up import KeepUpRun, KeepUpSettings
from joinfold_bench.suites import shedding
from joinfold_bench.suites.shedding import (
    CASES,
    FULL_CASES,
    SHEDDING,
    SheddingResults,
    SheddingSettings,
    run_shedding,
)
from tests.bench.shedding.test_holding import TINY
from tests.bench.suites.command import run_bench

SETTINGS = SheddingSettings(4, HoldingSettings(TINY, (PartialBudget(0.5), PartialBudget(0.25))))
BATCHES = (WatchedBatch(1, 9, 5.0, 9.0, 4.5, 1.0), WatchedBatch(2, 9, 10.0, 13.0, 3.5, 0.25))


@pytest.fixture(scope="module")
def results() -> SheddingResults:
    found = run_shedding(SETTINGS)
    found.keeping_up = [
        KeepUpRun("constant", True, 500, 5, 0.0, 0.0, BATCHES),
        KeepUpRun("constant", False, 500, 5, 0.0, 0.0, (WatchedBatch(1, 9, 5.0, 40.0, 36.0, None),)),
    ]
    return found


def test_answers_without_shedding_are_exact(results: SheddingResults) -> None:
    assert results.wrong == [] and results.cases == 4
    assert {own.case.number for own in results.estimates} == {0, 1, 2, 3}
    assert [run.budget.share for run in results.holding] == [0.5, 0.25]


def test_the_report_can_be_read(results: SheddingResults, tmp_path: Path) -> None:
    numbers, *charts = write_results(results, tmp_path, SHEDDING.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert len(read["coverage"]) == 24 + 15 and read["cases"] == 4
    assert [run["budget"]["share"] for run in read["holding"]] == [0.5, 0.25]
    assert [run["met"] for run in read["keeping_up"]] == [True, None]
    assert [chart.name for chart in charts] == ["coverage.svg", "holding.svg", "keeping-up-constant.svg"]
    for chart in charts:
        assert ElementTree.parse(chart).getroot().tag.endswith("svg")
        assert chart.stat().st_size < 100_000
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    printed = console.export_text()
    assert "by key, uniform, no groups" in printed and "…" not in printed
    assert (
        "by row, load stays" in printed
        and "HOLD" in printed
        and "7.2 intervals" in printed
        and "without SHED" in printed
    )


def test_the_chart_of_holding_is_that_of_a_quarter(results: SheddingResults) -> None:
    assert "0.25 of all entries" in results.files()["holding.svg"]


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_chooses_what_runs(
    results: SheddingResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[tuple[SheddingSettings, object]] = []
    monkeypatch.setattr(shedding, "Session", lambda: "a session")
    monkeypatch.setattr(
        shedding, "run_shedding", lambda settings, say, session=None: (runs.append((settings, session)), results)[1]
    )
    for arguments in ([], ["--full"], ["--full", "--seconds", "60"]):
        assert run_bench(monkeypatch, "shedding", "-o", str(tmp_path), *arguments) == 0
    assert runs == [
        (SheddingSettings(CASES), None),
        (SheddingSettings(FULL_CASES, keeping_up=KeepUpSettings()), "a session"),
        (SheddingSettings(FULL_CASES, keeping_up=KeepUpSettings(60.0)), "a session"),
    ]
    assert FULL_CASES >= 2_000
    assert "Intervals of 95 %" in capsys.readouterr().out


def test_the_loads_run_only_with_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shedding, "run_cases", lambda numbers, differences, say: [])
    monkeypatch.setattr(shedding, "run_holding", lambda settings, say: (None, []))
    monkeypatch.setattr(shedding, "run_keeping_up", lambda session, settings, say: ["ran"])
    settings = SheddingSettings(0, keeping_up=KeepUpSettings())
    assert run_shedding(settings).keeping_up == []
