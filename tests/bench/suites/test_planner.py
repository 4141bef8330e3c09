"""`joinfold bench planner` on very little data: verdicts on plans, the report, the command, the shifting stream."""

import io
import json
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from joinfold.calibration.queries import CONDITION, SETS, band
from joinfold.calibration.trial import Streams, Trial
from joinfold.inprocess import InProcess
from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench import write_results
from joinfold_bench.plans import judging, shifting
from joinfold_bench.plans.judging import NEAR, PlannedRun, Verdict, trials
from joinfold_bench.plans.on_spark import SparkResults, SparkRun
from joinfold_bench.plans.shifting import ADAPTIVE, Phase, Shift, run_shift
from joinfold_bench.suites import planner
from joinfold_bench.suites.planner import PAPERS, PLANNER, PlannerResults, run_planner
from tests.bench.suites.command import run_bench

TINY = (
    Trial("keys", SETS, Streams((40, 40), keys=5, groups=2, size=2), measured=2),
    Trial("condition", CONDITION, Streams((30, 60), keys=5, groups=2, size=2), measured=2),
    Trial("band", band(5_000, "g"), Streams((30, 30), groups=2, size=2), measured=2),
)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def results(lines: list[str]) -> PlannerResults:
    return run_planner(lines.append, TINY)


def run_of(trial: str, plan: str, estimated: float, measured: float, memory: float = 1.0) -> PlannedRun:
    return PlannedRun(trial, plan, estimated, measured, memory * 1_000, 1_000)


# --- in process ---------------------------------------------------------------------------------------------------


def test_every_trial_is_judged_by_the_time_of_its_plans(results: PlannerResults) -> None:
    assert [verdict.trial for verdict in results.verdicts] == [trial.name for trial in TINY]
    for verdict in results.verdicts:
        runs = {run.plan: run for run in results.runs if run.trial == verdict.trial}
        assert verdict.plans == len(runs) > 3
        assert runs[verdict.fastest].measured_cpu == min(run.measured_cpu for run in runs.values()) > 0
        assert verdict.times == runs[verdict.chosen].measured_cpu / runs[verdict.fastest].measured_cpu >= 1
        assert verdict.planning_seconds > 0
        assert all(run.estimated_cpu > 0 and run.measured_bytes > 0 for run in runs.values())


def test_the_chosen_plan_is_the_one_that_a_query_gets_without_forcing(results: PlannerResults) -> None:
    for trial, verdict in zip(TINY, results.verdicts, strict=True):
        decision = trial.query().plan.decision
        assert decision is not None and verdict.chosen == decision.chosen.title


def test_every_trial_has_a_progress_line_and_results_an_environment(results: PlannerResults, lines: list[str]) -> None:
    names = tuple(f"{trial.name}: " for trial in TINY)
    assert [line for line in lines if line.startswith(names)] == lines[-len(TINY) :]
    assert results.seconds > 0 and results.environment["machine"]["cores"]
    assert "spark" not in results.environment and results.on_spark == SparkResults()


def test_hopeless_plans_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "HOPELESS", 0.0)
    (verdict,) = run_planner(chosen=TINY[:1]).verdicts
    assert (verdict.plans, verdict.times, verdict.fastest) == (1, 1.0, verdict.chosen)


def test_trials_cover_the_ranges_of_the_papers() -> None:
    all_trials = list(trials())
    assert len({trial.name for trial in all_trials}) == len(all_trials) >= 40
    rates = [trial.streams.rates for trial in all_trials]
    assert max(max(of_trial) / min(of_trial) for of_trial in rates) >= 100
    assert {len(of_trial) for of_trial in rates} == {2, 3}


# --- shares -------------------------------------------------------------------------------------------------------


def test_shares_of_plans_near_the_fastest_and_of_memory_within_a_factor() -> None:
    verdicts = [Verdict(str(n), "x", "y", times, 2, 0.1) for n, times in enumerate((1.0, NEAR, NEAR + 0.01, 5.0))]
    runs = [run_of(str(n), "x", 1, 1, memory) for n, memory in enumerate((1.9, 0.51, 2.1, 0.4))]
    runs += [run_of("0", "y", 1, 1, 100)]  # was not chosen
    results = PlannerResults(runs, verdicts)
    assert (results.near_share, results.memory_share) == (0.5, 0.5)
    assert [verdict.is_near for verdict in verdicts] == [True, True, False, False]


def test_pairs_of_plans_that_differ_are_ranked() -> None:
    runs = [
        run_of("one", "ic hash 0", 1.0, 1.0),
        run_of("one", "tc hash 0", 2.0, 2.0),  # in order
        run_of("one", "pc hash 0", 1.5, 3.0),  # slower than TC, but with a lower estimate
        run_of("one", "usual", 9.0, 0.1),  # in no paper
        run_of("two", "ic hash 0", 5.0, 1.0),
        run_of("two", "tc hash 0", 1.0, 1.1),  # about as fast
    ]
    results = PlannerResults(runs)
    assert results.ranked_share(PAPERS["Wang: PC, IC, TC"]) == (2 / 3, 3)
    assert results.ranked_share(("nothing",)) == (0.0, 0)


# --- the report ---------------------------------------------------------------------------------------------------


def printed(results: PlannerResults) -> str:
    console = Console(width=140, record=True, file=io.StringIO())
    for table in results.tables():
        console.print(table)
    return console.export_text()


def test_the_report_can_be_read(results: PlannerResults, tmp_path: Path) -> None:
    (numbers,) = write_results(results, tmp_path, PLANNER.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert (tmp_path / "results-planner.json").exists() and read == json.loads(json.dumps(results.to_json()))
    assert [verdict["trial"] for verdict in read["verdicts"]] == [trial.name for trial in TINY]
    assert read["near_share"] == results.near_share and set(read["ranked"]) == set(PAPERS)
    assert len(read["runs"]) == len(results.runs) and read["on_spark"]["runs"] == []
    shown = printed(results)
    assert "The chosen plan and the fastest" in shown and "Accuracy of the estimates" in shown
    assert "On Spark" not in shown


def spark_run(query: str, plan: str, rate: float, *changes: str, capped: bool = False) -> SparkRun:
    return SparkRun(query, plan, rate, capped, 2e6, 1_000_000, changes)


ON_SPARK = SparkResults(
    [spark_run("band", "as planned", 100), spark_run("band", "tc", 125), spark_run("band", "ic", 10, capped=True)],
    [
        spark_run("shifting", "following the data", 90, "x → y: z"),
        spark_run("shifting", "tc", 100.8),
        spark_run("shifting", "ic", 30),
    ],
)


def test_runs_on_spark_are_shown_beside_the_planned_run(results: PlannerResults) -> None:
    assert ON_SPARK.times("band") == 1.25
    assert ON_SPARK.adaptive_times == (pytest.approx(1.12), pytest.approx(3.0))
    both = PlannerResults(results.runs, results.verdicts, ON_SPARK)
    rows = [line.replace("│", " ").split() for line in printed(both).partition("On Spark")[2].splitlines()]
    assert ["band", "tc", "125", "1.25", "1.0", "2.0"] in rows
    assert ["band", "ic", "10", "0.10", "1.0", "2.0", "stopped"] in rows
    assert ["shifting", "following", "the", "data", "90", "1.00", "1.0", "2.0", "1", "changes"] in rows
    assert len(both.to_json()["on_spark"]["runs"]) == 3


def test_bars_on_spark_are_met_or_missed(results: PlannerResults) -> None:
    shown = printed(PlannerResults(results.runs, results.verdicts, ON_SPARK)).partition("against the best")[2]
    rows = [line.strip(" │").split("│") for line in shown.splitlines() if ": rate of " in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["band: rate of the fastest plan ÷ the planned one", "1.25", "≤ 1.25", "met"],
        ["shifting: rate of the fastest fixed plan ÷ following the data", "1.12", "≤ 1.1", "missed"],
        ["shifting: rate of following the data ÷ the slowest fixed plan", "3.00", "≥ 2", "met"],
    ]
    slow = SparkResults([spark_run("band", "as planned", 100), spark_run("band", "tc", 130)])
    shown = printed(PlannerResults(results.runs, results.verdicts, slow)).partition("against the best")[2]
    assert "missed" in shown and "shifting" not in shown


def test_the_files_of_the_shifting_stream_follow_its_phases(tmp_path: Path) -> None:
    shift = Shift((Phase(4, 10, 3, 50), Phase(2, 20, 1, 1)), seconds_per_file=2)
    shift.write(tmp_path)
    for stream_number, stream in enumerate(("a", "b")):
        files = sorted((tmp_path / stream).iterdir(), key=lambda file: file.stat().st_mtime)
        assert [file.name for file in files] == [f"part-{number:05d}.parquet" for number in range(3)]
        tables = shift.tables(stream_number)
        assert [table.num_rows for table in tables] == [20, 20, 40]
        for number, table in enumerate(tables):
            times = table.column("ts").cast(pa.int64()).to_pylist()
            first = START_US + 2 * number * SECOND_US
            assert times == sorted(times) and first <= times[0] and times[-1] < first + 2 * SECOND_US
        assert set(tables[2].column("key").to_pylist()) == set(tables[2].column("g").to_pylist()) == {0}
    assert not shift.tables(0)[0].equals(shift.tables(1)[0])


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_writes_and_prints(
    results: PlannerResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions: list[Any] = []
    monkeypatch.setattr(planner, "run_planner", lambda say, on_spark: (sessions.append(on_spark), results)[1])
    assert run_bench(monkeypatch, "planner", "-o", str(tmp_path)) == 0
    assert run_bench(monkeypatch, "planner", "-o", str(tmp_path), "--json", "--full") == 0
    assert sessions[0] is None and isinstance(sessions[1], Session)
    out = capsys.readouterr().out
    assert "Accuracy of the estimates" in out
    shown = json.loads(out[out.index("\n{\n") :])
    assert shown == json.loads((tmp_path / "results-planner.json").read_text(encoding="utf-8"))


def test_answers_that_differ_are_a_failure(
    results: PlannerResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = PlannerResults(results.runs, results.verdicts, SparkResults(differences=["a band, tc and as planned"]))
    monkeypatch.setattr(planner, "run_planner", lambda say, on_spark: wrong)
    assert run_bench(monkeypatch, "planner", "-o", str(tmp_path)) == 1
    assert capsys.readouterr().err == "not equal: a band, tc and as planned\n"


# --- the shifting stream, in process ------------------------------------------------------------------------------

TINY_SHIFT = Shift((Phase(6, 40, 4, 20), Phase(6, 80, 2, 2)), seconds_per_file=2)


def test_the_adaptive_run_comes_before_every_fixed_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifting, "HOPELESS", inf)
    differences: list[str] = []
    lines: list[str] = []
    runs = run_shift(TINY_SHIFT, differences, lines.append)
    assert [run.plan for run in runs] == [ADAPTIVE, *shifting.FORCED] and len(lines) == shifting.ROUNDS * len(runs)
    assert differences == [] and all(run.is_whole and run.seconds > 0 for run in runs)
    assert not any(run.changes for run in runs[1:])


def test_a_plan_whose_answers_differ_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(InProcess):
        def answer(self, to_the_end: bool = False) -> pa.Table:
            return super().answer(to_the_end)[0 if self.plan.following else 1 :]

    monkeypatch.setattr(shifting, "InProcess", Forgetful)
    monkeypatch.setattr(shifting, "HOPELESS", inf)
    differences: list[str] = []
    run_shift(TINY_SHIFT, differences, lambda line: None)
    assert differences == [f"shifting in process, {plan} and {ADAPTIVE}" for plan in shifting.FORCED]


def test_a_hopeless_plan_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifting, "HOPELESS", 0.0)
    lines: list[str] = []
    runs = run_shift(TINY_SHIFT, [], lines.append)
    assert [run.is_whole for run in runs] == [True, *[False] * len(shifting.FORCED)]
    assert [line.endswith(", stopped") for line in lines] == [False, *[True] * len(shifting.FORCED), False]
