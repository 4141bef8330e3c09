"""`joinfold bench joins` without Spark: one key in one fold, the files of the auctions, and the command."""

import json
from dataclasses import replace
from operator import truediv
from pathlib import Path
from statistics import fmean, median

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest

from joinfold.workloads import batches
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench.data import J0, J1, AuctionData
from joinfold_bench.engines.answers import Check
from joinfold_bench.engines.auctions import READ, recompute
from joinfold_bench.plans.courses import Course, common_key, run_course
from joinfold_bench.suites import joins
from joinfold_bench.suites.joins import JoinResults, JoinSettings, compare_common_key, is_right
from tests.bench.suites.command import run_bench

TINY = JoinSettings(rows=200, slides=4, keys=40, measured=2)
HOUSE = AuctionData("J", events=1_000, events_per_second=1, events_per_file=300, files_per_batch=1)


def silent(line: str) -> None:
    """Says nothing."""


# --- one key, one fold --------------------------------------------------------------------------------------------


def test_three_streams_of_one_key_beside_two() -> None:
    results, lines = JoinResults(), list[str]()
    compare_common_key(TINY, results, lines.append)
    assert results.differences == []
    assert [(run.plan, run.pairs) for run in results.plans] == [
        ("two streams", 40 * 5**2),
        ("three streams", 40 * 5**3),
    ]
    assert [len(run.row_seconds) for run in results.plans] == [6, 6]
    (item,) = results.plan_comparisons
    two, three = ([fmean(run.row_seconds[start : start + 2]) for start in (0, 2, 4)] for run in results.plans)
    assert item.ratio.middle == median(map(truediv, two, three)) and item.bar == 0.5
    assert sum("µs/row" in line for line in lines) == 6


def test_three_streams_have_a_million_combinations() -> None:
    settings = JoinSettings()
    assert settings.keys * (settings.rows // settings.keys) ** 3 == 1_000_000


def test_a_wrong_answer_is_noticed() -> None:
    streams = common_key(200, 4, 1, 40, ("a", "b", "c"))
    run = run_course(streams, "three", None, 1, silent, with_pack=True)
    assert is_right(streams, 40, run)
    for index, name in ((1, "n"), (2, "s")):
        changed = run.answers.set_column(index, name, pc.add(run.answers.column(name), 1))
        assert not is_right(streams, 40, replace(run, answers=changed))


def test_a_wrong_plan_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joinfold_bench.suites.joins.is_right", lambda streams, keys, run: run.plan == "two streams")
    results = JoinResults()
    compare_common_key(TINY, results, silent)
    assert results.wrong == ["common key, three streams and the expected answer"] * TINY.repeats


def test_the_time_of_pack_counts_only_with_pack() -> None:
    for with_pack in (False, True):
        course = Course(common_key(200, 4, 1, 40, ("a", "b")), "two", None, with_pack)
        course.fill()
        before = course.machine.measures.fold_seconds
        course.machine.measures.pack_seconds -= 1_000.0  # a difference that no real time of PACK can hide
        packed = course.machine.measures.pack_seconds
        course.slide()
        measures = course.machine.measures
        spent = measures.fold_seconds - before + (measures.pack_seconds - packed if with_pack else 0.0)
        assert course.row_seconds == [pytest.approx(spent / (2 * 50), rel=1e-6)]


# --- persons, auctions and bids -----------------------------------------------------------------------------------


def test_files_with_the_same_number_hold_rows_of_the_same_time(tmp_path: Path) -> None:
    HOUSE.write(tmp_path / "x")
    for number in range(4):
        first, last = (START_US + at * 300 * SECOND_US for at in (number, number + 1))
        for stream in READ:
            file = tmp_path / "x" / stream / f"part-{number:05d}.parquet"
            times = parquet.read_table(file).column("ts").cast("int64")
            assert first <= pc.min(times).as_py() and pc.max(times).as_py() < last


def test_the_files_hold_the_workload_in_order(tmp_path: Path) -> None:
    HOUSE.write(tmp_path / "x")
    (whole,) = batches("auctions", rows=1_000, seed=7, events_per_second=1)
    for stream, rows in whole.items():
        files = sorted((tmp_path / "x" / stream).glob("*.parquet"), key=lambda file: file.stat().st_mtime)
        assert [file.name for file in files] == [f"part-{number:05d}.parquet" for number in range(4)]
        assert parquet.read_table(tmp_path / "x" / stream).equals(rows)


@pytest.mark.parametrize("data", [J0, J1])
def test_there_are_five_micro_batches_over_two_thousand_seconds(data: AuctionData) -> None:
    assert data.events == 5 * data.batch_rows
    assert data.events / data.events_per_second == 2_000


def before(time_us: int, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.less(rows.column("ts").cast("int64"), time_us))


def test_duckdb_answers_like_a_computation_by_hand(tmp_path: Path) -> None:
    HOUSE.write(tmp_path / "x")
    (whole,) = batches("auctions", rows=1_000, seed=7, events_per_second=1)
    instant, start = (START_US + seconds * SECOND_US for seconds in (850, 250))
    (answers,) = recompute(tmp_path / "x", HOUSE, [instant], 60.0).answers
    rows = {name: before(instant, table) for name, table in whole.items()}
    homes = {row["id"]: row["state"] for row in rows["person"].to_pylist()}
    gone = {name: before(start, table).num_rows for name, table in whole.items()}
    sold = {row["id"]: homes[row["seller"]] for row in rows["auction"].slice(gone["auction"]).to_pylist()}
    prices: dict[str, list[int]] = {}
    for row in rows["bid"].slice(gone["bid"]).to_pylist():
        if row["auction"] in sold:
            prices.setdefault(sold[row["auction"]], []).append(row["price"])
    found = {row["state"]: (row["n"], row["a"]) for row in answers.to_pylist()}
    assert found == {state: (len(own), sum(own) / len(own)) for state, own in prices.items()}


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_writes_and_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results, runs = JoinResults(), list[JoinSettings]()
    compare_common_key(TINY, results, silent)
    monkeypatch.setattr(joins, "run_joins", lambda settings, session, say: (runs.append(settings), results)[1])
    assert run_bench(monkeypatch, "joins", "-o", str(tmp_path), "--repeats", "5", "--cap", "7") == 0
    assert run_bench(monkeypatch, "joins", "-o", str(tmp_path), "--json") == 0
    assert runs == [JoinSettings(5, 7.0), JoinSettings(3, 300.0)]
    out = capsys.readouterr().out
    assert "time per row: two streams ÷ three streams" in out
    printed = json.loads(out[out.index("\n{\n") :])
    assert printed == json.loads((tmp_path / "results-joins.json").read_text(encoding="utf-8"))


def test_answers_that_differ_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [
        Check("joinfold", other, "J0", 1, 1, 1, verdict) for other, verdict in (("x", "equal"), ("y", "different"))
    ]
    wrong = JoinResults(checks=checks, differences=["common key, two streams"])
    monkeypatch.setattr(joins, "run_joins", lambda settings, session, say: wrong)
    assert run_bench(monkeypatch, "joins", "-o", str(tmp_path)) == 1
    assert capsys.readouterr().err == "not equal: J0, joinfold and y; common key, two streams\n"
