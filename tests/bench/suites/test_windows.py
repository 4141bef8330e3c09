"""`joinfold bench windows` without Spark: what sharing saves, the answers of DuckDB, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest

from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench.data import Dataset
from joinfold_bench.engines.answers import Check
from joinfold_bench.engines.by_rows import ByRows, some_instants
from joinfold_bench.environment import Say
from joinfold_bench.plans.sharing import ShareCase, ShareRun
from joinfold_bench.suites import windows
from joinfold_bench.suites.windows import WindowResults, WindowSettings, compare_sharing
from tests.bench.suites.command import run_bench

TINY = WindowSettings(2, compared=ShareCase(50, 2), timed=(ShareCase(50, 2), ShareCase(100, 3)))


def silent(line: str) -> None:
    """Says nothing."""


# --- sharing ------------------------------------------------------------------------------------------------------


def test_lists_compare_nine_of_twenty_five_pairs_of_sub_windows() -> None:
    case = ShareCase(50, 4)
    pairs, nothing = (case.run(share, "list", silent) for share in ("pairs", "nothing"))
    assert pairs.answers.equals(nothing.answers)
    changed = 2 * 2 * case.slide  # in both streams, a row is visited once when it enters and once when it leaves
    assert {visited - changed for visited in pairs.touched} == {9 * case.slide**2}
    assert {visited - changed for visited in nothing.touched} == {25 * case.slide**2}


def test_result_windows_hold_the_matches_of_their_rows() -> None:
    case = ShareCase(50, 3)
    run = case.run("pairs", None, silent)
    a, b = (table.to_pylist() for table in case.streams().values())
    expected = []
    for wid in pc.unique(run.answers.column("wid")).to_pylist():
        inside = slice(wid * case.slide, wid * case.slide + case.rows)
        rows = [(wid, one["v"], two["v"]) for one in a[inside] for two in b[inside] if one["key"] == two["key"]]
        expected += sorted(rows)
    assert [(row["wid"], row["v"], row["w"]) for row in run.answers.to_pylist()] == expected
    assert len(pc.unique(run.answers.column("wid"))) == len(run.touched) == len(run.slide_seconds) == 3


def test_every_case_has_its_bar() -> None:
    results, lines = WindowResults(), list[str]()
    compare_sharing(TINY, results, lines.append)
    assert results.wrong == []
    assert [(item.query, item.bar) for item in results.plan_comparisons] == [
        ("window ids, 50 rows", 2.0),
        ("window ids, 50 rows", 1.5),
        ("window ids, 50 rows", 1.5),
        ("window ids, 100 rows", 1.5),
    ]
    assert results.plan_comparisons[0].ratio.middle == (25 * 10**2 + 40) / (9 * 10**2 + 40)
    shares = [(run.share, run.index, run.rows, len(run.slide_seconds)) for run in results.shares]
    assert shares == [
        ("pairs", "list", 50, 2),
        ("nothing", "list", 50, 2),
        ("pairs", "usual", 50, 4),
        ("nothing", "usual", 50, 4),
        ("pairs", "usual", 100, 6),
        ("nothing", "usual", 100, 6),
    ]
    assert len(lines) == 2 + 4 + 4


def test_rows_that_differ_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ShareCase.run

    def without_one(case: ShareCase, share: str, index: str | None, say: Say) -> ShareRun:
        done = run(case, share, index, say)
        return replace(done, answers=done.answers.slice(1)) if (share, index) == ("nothing", "list") else done

    monkeypatch.setattr(ShareCase, "run", without_one)
    results = WindowResults()
    compare_sharing(TINY, results, silent)
    assert results.wrong == ["windows of 50 rows, list index, sharing pairs and sharing nothing"]


# --- rows beside time ---------------------------------------------------------------------------------------------


def test_duckdb_answers_like_a_computation_by_hand(tmp_path: Path) -> None:
    data = Dataset("R1", rows_per_second=5, seconds=100, keys=3, groups=2, rows_per_file=1_000)
    data.write(tmp_path / "x")
    a, b = (parquet.read_table(tmp_path / "x" / name).to_pylist() for name in "ab")
    instant = START_US + 80 * SECOND_US + 123_456

    def time_us(row: dict[str, object]) -> int:
        return int(pa.scalar(row["ts"], pa.timestamp("us", tz="UTC")).cast(pa.int64()).as_py())

    a.sort(key=lambda row: (time_us(row), row["key"], row["g"]))
    passed = sum(time_us(row) < instant for row in a)
    last = passed - passed % 7
    inside = [row for row in b if START_US + 20 * SECOND_US <= time_us(row) < START_US + 80 * SECOND_US]
    expected: dict[int, list[int]] = {}
    for row in a[last - 40 : last]:
        expected.setdefault(row["g"], []).extend(other["v"] for other in inside if other["key"] == row["key"])
    (answers,) = ByRows(40, 7).recompute(tmp_path / "x", data, [instant], 60.0).answers
    found = {row["g"]: (row["n"], row["s"]) for row in answers.to_pylist()}
    assert found == {g: (len(values), sum(values)) for g, values in expected.items()}


def test_some_instants() -> None:
    answers = pa.table({"instant": [5, 1, 1, 2, 3, 4, 6, 7], "g": [0, 0, 1, 0, 0, 0, 0, 0]})
    assert some_instants(answers, 3) == [1, 3, 5, 7]
    assert some_instants(answers, 100) == [1, 2, 3, 4, 5, 6, 7]


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_writes_and_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results, runs = WindowResults(), list[WindowSettings]()
    compare_sharing(TINY, results, silent)
    monkeypatch.setattr(windows, "run_windows", lambda settings, session, say: (runs.append(settings), results)[1])
    assert run_bench(monkeypatch, "windows", "-o", str(tmp_path), "--repeats", "5") == 0
    assert run_bench(monkeypatch, "windows", "-o", str(tmp_path), "--json") == 0
    assert runs == [WindowSettings(5), WindowSettings(3)]
    out = capsys.readouterr().out
    assert "pairs of rows compared" in out
    printed = json.loads(out[out.index("\n{\n") :])
    assert printed == json.loads((tmp_path / "results-windows.json").read_text(encoding="utf-8"))


def test_answers_that_differ_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = WindowResults(checks=[Check("joinfold", "y", "R1", 1, 1, 1, "different")], differences=["50 rows"])
    monkeypatch.setattr(windows, "run_windows", lambda settings, session, say: wrong)
    assert run_bench(monkeypatch, "windows", "-o", str(tmp_path)) == 1
    assert capsys.readouterr().err == "not equal: R1, joinfold and y; 50 rows\n"
