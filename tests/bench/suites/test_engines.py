"""`joinfold bench engines` without Spark: its settings, what it prints, and what it writes."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from joinfold.session import Session
from joinfold_bench.data import LONG_R1, R1
from joinfold_bench.engines.answers import Check
from joinfold_bench.engines.measurements import Comparison, Measurement, Run, SweepPoint
from joinfold_bench.engines.rates import Rate
from joinfold_bench.environment import Say
from joinfold_bench.suites import engines
from joinfold_bench.suites.engines import Settings, SideBySide
from tests.cli.commands import Run as RunCommand


def measured(engine: str, rate: float) -> Measurement:
    return Measurement(engine, R1, 1_000_000, [Run(Rate(rate, "steady"), 1.0, state_bytes=2_000_000)])


OURS, THEIRS = measured("joinfold", 3_000.0), measured("other", 1_000.0)
RESULTS = SideBySide(
    [OURS, THEIRS], [Comparison.of(OURS, THEIRS, 2.0)], [Check("joinfold", "other", "R1", 1, 1, 1, "equal")]
)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of every run that the command starts."""
    settings_of_runs: list[Settings] = []

    def run_engines(settings: Settings, session: Session, say: Say) -> SideBySide:
        settings_of_runs.append(settings)
        return RESULTS

    monkeypatch.setattr(engines, "run_engines", run_engines)
    return settings_of_runs


def test_it_is_the_default_suite(run: RunCommand, runs: list[Settings], tmp_path: Path) -> None:
    assert [run("bench", *name, "-o", tmp_path).status for name in ([], ["engines"])] == [0, 0]
    assert runs == [Settings(), Settings()]


def test_what_the_options_mean(run: RunCommand, runs: list[Settings], tmp_path: Path) -> None:
    run("bench", "--full", "-o", tmp_path)
    run("bench", "--full", "--cap=7", "--repeats=5", "-o", tmp_path)
    run("bench", "--quick", "--seconds=200", "-o", tmp_path)
    assert runs == [
        Settings(full=True, cap_seconds=300.0),
        Settings(full=True, repeats=5, cap_seconds=7.0),
        Settings(r1=replace(LONG_R1, seconds=200)),
    ]


def test_figures_and_a_chart_are_written(run: RunCommand, runs: list[Settings], tmp_path: Path) -> None:
    result = run("bench", "-o", tmp_path)
    assert result.output.endswith(f"0 s; {tmp_path / 'results.json'}, {tmp_path / 'rates.svg'}\n")
    assert "3.00 ×" in result.output and "met" in result.output
    read = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert list(read) == ["environment", "seconds", "measurements", "comparisons", "checks", "sweeps"]
    assert read == json.loads(run("bench", "--json", "-o", tmp_path).output)
    assert ElementTree.parse(tmp_path / "rates.svg").getroot().tag.endswith("svg")


def test_sweeps_are_a_table_of_their_own() -> None:
    assert len(RESULTS.tables()) == 3
    swept = SideBySide(RESULTS.measurements, sweeps=[SweepPoint("keys", "100", OURS)])
    assert swept.tables()[-1].title == "joinfold on R1, one property varied"


def test_answers_that_differ_are_a_failure(run: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = SideBySide(RESULTS.measurements, checks=[Check("joinfold", "other", "R1", 1, 1, 1, "different")])
    monkeypatch.setattr(engines, "run_engines", lambda settings, session, say: wrong)
    result = run("bench", "-o", tmp_path)
    assert (result.status, result.error) == (1, "not equal: R1, joinfold and other\n")
