"""`joinfold bench methods` on very little data: plans, comparisons of answers, structures, and the report."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from joinfold.kernels.structures import STRUCTURES
from joinfold.kernels.structures.listed import Listed
from joinfold.kernels.structures.operations import Matches, Operations
from joinfold.planner.forcing import Plan
from joinfold_bench import write_results
from joinfold_bench.engines.rates import Spread
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.courses import Course, equality
from joinfold_bench.plans.structures import measure_structures
from joinfold_bench.suites import methods
from joinfold_bench.suites.methods import METHODS, MethodResults, MethodSettings, run_methods, run_plan
from tests.bench.suites.command import run_bench

TINY = MethodSettings(
    memory_rows=400,
    memory_slides=8,
    keys=2,
    groups=3,
    band_rows=500,
    band_slides=10,
    structure_rows=(100, 1_000),
    measured=2,
    sums_measured=4,
)
HASHED = Plan("ic", (), {"a": "hash", "b": "hash"})


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def results(lines: list[str]) -> MethodResults:
    return run_methods(TINY, lines.append)


def test_all_plans_answer_alike_with_full_windows(results: MethodResults) -> None:
    assert results.differences == []
    assert [(run.query, run.plan) for run in results.plans] == [
        ("equality", "PC"),
        ("equality", "TC"),
        ("equality", "IC"),
        ("band", "sums"),
        ("band", "IC, btree"),
        ("band", "IC, ttree"),
    ]
    assert {run.pairs for run in results.plans[:3]} == {400 * 400 // 2}
    assert all(0.8 < run.pairs / (0.01 * 500 * 500) < 1.2 for run in results.plans[3:])
    assert [len(run.row_seconds) for run in results.plans] == [2, 2, 2, 4, 2, 2]


def test_every_bar_has_a_ratio(results: MethodResults) -> None:
    assert [(item.what, item.bar) for item in results.comparisons] == [
        ("memory: PC ÷ TC", 20.0),
        ("memory: PC ÷ IC", 20.0),
        ("memory: TC ÷ IC", 1.0),
        ("time per row: IC with btree ÷ sums", 50.0),
        ("time per row: IC with ttree ÷ sums", 50.0),
    ]
    held = {run.plan: run.bytes_held for run in results.plans}
    assert held["PC"] > 20 * held["TC"] and held["TC"] > held["IC"]
    assert [item.is_met for item in results.comparisons[:3]] == [True, True, True]


def test_a_bar_is_met_by_a_ratio_that_is_equal_or_larger() -> None:
    assert PlanComparison("band", "time", Spread(50.0, 10.0, 90.0), 50.0).is_met
    assert not PlanComparison("band", "time", Spread(49.9, 10.0, 90.0), 50.0).is_met


def test_windows_are_full_in_every_measured_slide() -> None:
    course = Course(equality(40, 4, 3, 2, 1), "IC", HASHED)
    course.fill()
    filled = pa.concat_tables(course.answers).num_rows
    for _ in range(3):
        course.slide()
    counts = [row["n"] for table in course.answers for row in table.to_pylist()]
    assert counts[:4] == [50, 200, 450, 800] and set(counts[filled - 1 :]) == {800}
    assert len(counts) == filled + 3
    assert course.machine.buckets[0].entries_held == 80


def test_answers_that_differ_are_noticed() -> None:
    course = Course(equality(40, 4, 1, 2, 1), "IC", HASHED)
    course.fill()
    course.slide()
    run = course.done()
    fewer = replace(run, answers=run.answers.slice(0, run.answers.num_rows - 1))
    changed = run.answers.set_column(1, "g", pc.add(run.answers.column("g"), 1))
    assert run.agrees(run) and run.agrees(fewer)
    assert not run.agrees(replace(run, answers=changed))
    assert not run.agrees(replace(run, answers=run.answers.slice(1)))


def test_a_plan_whose_answers_differ_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    streams, results = equality(40, 4, 1, 2, 1), MethodResults()
    run_plan(streams, "PC", HASHED, 1, results, lambda line: None)
    done = Course.done
    monkeypatch.setattr(Course, "done", lambda course: replace(done(course), answers=done(course).answers.slice(1)))
    run_plan(streams, "TC", HASHED, 1, results, lambda line: None)
    assert results.differences == ["equality, TC and PC"]


def test_all_structures_are_measured(results: MethodResults) -> None:
    equal = [run for run in results.structures if run.join == "equality"]
    bands = [run for run in results.structures if run.join == "band"]
    assert [(run.rows, run.structure) for run in equal] == [
        (rows, name) for rows in (100, 1_000) for name in STRUCTURES
    ]
    assert [run.structure for run in bands] == [name for name, kind in STRUCTURES.items() if not kind.needs_key] * 2
    assert all(run.bytes_per_row >= 32 for run in results.structures)


def test_a_structure_that_finds_other_matches_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Listed):
        def apply(self, operations: Operations) -> Matches:
            found = super().apply(operations)
            return Matches(found.probe[1:], found.member[1:])

    assert measure_structures("band", 100, 1)[1]
    monkeypatch.setitem(STRUCTURES, "ttree", Forgetful)
    assert not measure_structures("band", 100, 1)[1]


def test_the_report_can_be_read(results: MethodResults, lines: list[str], tmp_path: Path) -> None:
    (numbers,) = write_results(results, tmp_path, METHODS.file)
    assert numbers == tmp_path / "results-methods.json"
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert [plan["bytes_held"] for plan in read["plans"]] == [run.bytes_held for run in results.plans]
    assert [item["met"] for item in read["comparisons"]][:3] == [True, True, True]
    assert read["environment"]["versions"]["numba"] and "spark" not in read["environment"]
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    printed = console.export_text()
    assert "held MB" in printed and "memory: PC ÷ IC" in printed and "insert + expire/s" in printed
    assert sum("µs/row" in line for line in lines) == 6


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_writes_and_prints(
    results: MethodResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[MethodSettings] = []
    monkeypatch.setattr(methods, "run_methods", lambda settings, say: (runs.append(settings), results)[1])
    assert run_bench(monkeypatch, "methods", "-o", str(tmp_path), "--repeats", "5") == 0
    assert runs == [MethodSettings(measured=5)]
    assert "Structures alone" in capsys.readouterr().out
    assert run_bench(monkeypatch, "methods", "-o", str(tmp_path), "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads((tmp_path / "results-methods.json").read_text(encoding="utf-8"))


def test_answers_that_differ_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = MethodResults(differences=["band, IC, btree and sums"])
    monkeypatch.setattr(methods, "run_methods", lambda settings, say: wrong)
    assert run_bench(monkeypatch, "methods", "-o", str(tmp_path)) == 1
    assert capsys.readouterr().err == "not equal: band, IC, btree and sums\n"
