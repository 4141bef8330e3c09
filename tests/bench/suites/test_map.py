"""`joinfold bench map` on very little data: the table from slowest to fastest, the variants, and the command."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from joinfold_bench import write_results
from joinfold_bench.mapping.measuring import MapRun, MapSettings
from joinfold_bench.mapping.queries import map_queries
from joinfold_bench.suites import map as suite
from joinfold_bench.suites.map import MAP, MapResults, run_map
from tests.bench.suites.command import run_bench

TINY = MapSettings(rows=200, rows_per_second=20, keys=10, groups=3, steps=2, repeats=1, variants=True)


@pytest.fixture(scope="module")
def results() -> MapResults:
    return run_map(TINY, queries=[query for query in map_queries() if query.name in ("plain", "aggregate: BIT_OR")])


def printed(results: MapResults) -> list[str]:
    console = Console(width=140, record=True)
    for table in results.tables():
        console.print(table)
    return console.export_text().splitlines()


def test_the_map_goes_from_slowest_to_fastest() -> None:
    runs = [
        MapRun(name, "", 10, (rate, rate / 2, 2 * rate), (2 * rate,) * 3, 20, 10**6)
        for name, rate in (("plain", 1000.0), ("slow", 10.0), ("fast", 2000.0))
    ]
    lines = printed(MapResults(runs=runs))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert rows == [
        ["slow", "10", "100,000.00", "20", "20", "1.0", "0.010"],
        ["plain", "1,000", "1,000.00", "2,000", "2,000", "1.0", "1.000"],
        ["fast", "2,000", "500.00", "4,000", "4,000", "1.0", "2.000"],
    ]


def test_the_slowest_variant_of_each_query_has_a_table(results: MapResults) -> None:
    plain = [run for run in results.runs if run.query == "plain"]
    assert len(plain) == 8 and not plain[0].variant
    slowest = min(plain[1:], key=lambda run: run.rate.middle)
    lines = printed(results)
    start = next(number for number, line in enumerate(lines) if "slowest variant" in line)
    assert any("plain" in line and slowest.variant in line for line in lines[start:])
    assert [line.partition(":")[0] for line in results.refused] == ["aggregate"]
    assert "BIT_OR, doubles" in results.refused[0]


def test_the_report_has_every_run(results: MapResults, tmp_path: Path) -> None:
    (numbers,) = write_results(results, tmp_path, MAP.file)
    read = json.loads(numbers.read_text(encoding="utf-8"))
    assert len(read["runs"]) == len(results.runs) and read["runs"][0]["rows"] == 200


def test_the_command_passes_its_options_on(
    results: MapResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[MapSettings] = []
    monkeypatch.setattr(suite, "run_map", lambda settings, say: (runs.append(settings), results)[1])
    assert run_bench(monkeypatch, "map", "-o", str(tmp_path), "--repeats", "5", "--cap", "7", "--variants") == 0
    assert run_bench(monkeypatch, "map", "-o", str(tmp_path)) == 0
    assert runs == [MapSettings(repeats=5, cap=7.0, variants=True), MapSettings()]
    assert "from slowest to fastest" in capsys.readouterr().out
