"""`joinfold bench planner` on very little: what is chosen, what is fastest, the report and the command."""

import io
import json
import sys
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from joinfold import cli
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

TINY = (
    Trial("keys", SETS, Streams((40, 40), keys=5, groups=2, size=2), measured=2),
    Trial("condition", CONDITION, Streams((30, 60), keys=5, groups=2, size=2), measured=2),
    Trial("band", band(5_000, "g"), Streams((30, 30), groups=2, size=2), measured=2),
)


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def results(told: list[str]) -> PlannerResults:
    return run_planner(told.append, TINY)


def run_of(trial: str, plan: str, estimated: float, measured: float, memory: float = 1.0) -> PlannedRun:
    return PlannedRun(trial, plan, estimated, measured, memory * 1_000, 1_000)


# --- in process ---------------------------------------------------------------------------------------------------


def test_every_trial_is_judged_by_what_its_plans_took(results: PlannerResults) -> None:
    assert [verdict.trial for verdict in results.verdicts] == [trial.name for trial in TINY]
    for verdict in results.verdicts:
        own = {run.plan: run for run in results.runs if run.trial == verdict.trial}
        assert verdict.plans == len(own) > 3
        assert own[verdict.fastest].measured_cpu == min(run.measured_cpu for run in own.values()) > 0
        assert verdict.times == own[verdict.chosen].measured_cpu / own[verdict.fastest].measured_cpu >= 1
        assert verdict.planning_seconds > 0
        assert all(run.estimated_cpu > 0 and run.measured_bytes > 0 for run in own.values())


def test_what_is_chosen_is_what_a_query_gets_by_itself(results: PlannerResults) -> None:
    for trial, verdict in zip(TINY, results.verdicts, strict=True):
        decision = trial.query().plan.decision
        assert decision is not None and verdict.chosen == decision.chosen.title


def test_a_line_is_said_for_every_trial_and_the_environment_is_noted(results: PlannerResults, told: list[str]) -> None:
    assert [line for line in told if line.startswith(tuple(f"{trial.name}: " for trial in TINY))] == told[-len(TINY) :]
    assert results.seconds > 0 and results.environment["machine"]["cores"]
    assert "spark" not in results.environment and results.on_spark == SparkResults()


def test_hopeless_plans_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "HOPELESS", 0.0)
    (verdict,) = run_planner(chosen=TINY[:1]).verdicts
    assert (verdict.plans, verdict.times, verdict.fastest) == (1, 1.0, verdict.chosen)


def test_trials_are_over_the_ranges_of_the_papers() -> None:
    found = list(trials())
    assert len({trial.name for trial in found}) == len(found) >= 40
    rates = [trial.streams.rates for trial in found]
    assert max(max(own) / min(own) for own in rates) >= 100
    assert {len(own) for own in rates} == {2, 3}


# --- shares -------------------------------------------------------------------------------------------------------


def test_shares_of_choices_that_are_near_and_of_memory_that_is_within_a_factor() -> None:
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
        run_of("one", "pc hash 0", 1.5, 3.0),  # dearer than TC, and not estimated so
        run_of("one", "usual", 9.0, 0.1),  # of no paper
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
    assert "What is chosen, and what is fastest" in shown and "How well estimates do" in shown
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


def test_what_ran_on_spark_is_shown_beside_the_plan_that_was_chosen(results: PlannerResults) -> None:
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
    rows = [line.strip(" │").split("│") for line in shown.splitlines() if ": the " in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["band: the fastest plan to the planned one", "1.25", "≤ 1.25", "met"],
        ["shifting: the fastest fixed plan to the one that follows", "1.12", "≤ 1.1", "missed"],
        ["shifting: the one that follows to the slowest fixed plan", "3.00", "≥ 2", "met"],
    ]
    slow = SparkResults([spark_run("band", "as planned", 100), spark_run("band", "tc", 130)])
    shown = printed(PlannerResults(results.runs, results.verdicts, slow)).partition("against the best")[2]
    assert "missed" in shown and "shifting" not in shown


def test_the_stream_that_shifts_is_in_files_of_its_phases(tmp_path: Path) -> None:
    shift = Shift((Phase(4, 10, 3, 50), Phase(2, 20, 1, 1)), seconds_per_file=2)
    shift.write(tmp_path)
    for place, stream in enumerate(("a", "b")):
        files = sorted((tmp_path / stream).iterdir(), key=lambda file: file.stat().st_mtime)
        assert [file.name for file in files] == [f"part-{number:05d}.parquet" for number in range(3)]
        tables = shift.tables(place)
        assert [table.num_rows for table in tables] == [20, 20, 40]
        for number, table in enumerate(tables):
            times = table.column("ts").cast(pa.int64()).to_pylist()
            first = START_US + 2 * number * SECOND_US
            assert times == sorted(times) and first <= times[0] and times[-1] < first + 2 * SECOND_US
        assert set(tables[2].column("key").to_pylist()) == set(tables[2].column("g").to_pylist()) == {0}
    assert not shift.tables(0)[0].equals(shift.tables(1)[0])


# --- the command --------------------------------------------------------------------------------------------------


def bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["joinfold", "bench", "planner", *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return int(exit_.value.code or 0)


def test_the_command_writes_and_prints(
    results: PlannerResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(planner, "run_planner", lambda say, on_spark: (asked.append(on_spark), results)[1])
    assert bench(monkeypatch, "-o", str(tmp_path)) == 0
    assert bench(monkeypatch, "-o", str(tmp_path), "--json", "--full") == 0
    assert asked[0] is None and isinstance(asked[1], Session)
    out = capsys.readouterr().out
    assert "How well estimates do" in out
    shown = json.loads(out[out.index("\n{\n") :])
    assert shown == json.loads((tmp_path / "results-planner.json").read_text(encoding="utf-8"))


def test_answers_that_differ_are_a_failure(
    results: PlannerResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = PlannerResults(results.runs, results.verdicts, SparkResults(differences=["a band, tc and as planned"]))
    monkeypatch.setattr(planner, "run_planner", lambda say, on_spark: wrong)
    assert bench(monkeypatch, "-o", str(tmp_path)) == 1
    assert capsys.readouterr().err == "not equal: a band, tc and as planned\n"


# --- the stream that shifts, in process -------------------------------------------------------------------------------

TINY_SHIFT = Shift((Phase(6, 40, 4, 20), Phase(6, 80, 2, 2)), seconds_per_file=2)


def test_the_run_that_follows_comes_before_every_plan_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifting, "HOPELESS", inf)
    differences: list[str] = []
    told: list[str] = []
    runs = run_shift(TINY_SHIFT, differences, told.append)
    assert [run.plan for run in runs] == [ADAPTIVE, *shifting.FORCED] and len(told) == shifting.ROUNDS * len(runs)
    assert differences == [] and all(run.is_whole and run.seconds > 0 for run in runs)
    assert not any(run.changes for run in runs[1:])


def test_a_plan_that_answers_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(InProcess):
        def answer(self, to_the_end: bool = False) -> pa.Table:
            return super().answer(to_the_end)[0 if self.plan.following else 1 :]

    monkeypatch.setattr(shifting, "InProcess", Forgetful)
    monkeypatch.setattr(shifting, "HOPELESS", inf)
    differences: list[str] = []
    run_shift(TINY_SHIFT, differences, lambda line: None)
    assert differences == [f"shifting in process, {plan} and {ADAPTIVE}" for plan in shifting.FORCED]


def test_a_hopeless_plan_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifting, "HOPELESS", 0.0)
    told: list[str] = []
    runs = run_shift(TINY_SHIFT, [], told.append)
    assert [run.is_whole for run in runs] == [True, *[False] * len(shifting.FORCED)]
    assert [line.endswith(", given up") for line in told] == [False, *[True] * len(shifting.FORCED), False]
