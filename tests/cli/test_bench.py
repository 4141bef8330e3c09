"""`joinfold bench` lists, runs and reports any suite of the table, and refuses wrong arguments before the run."""

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

import joinfold_bench
from joinfold_bench import SUITES, Options, Results, Suite
from joinfold_bench.environment import Say
from joinfold_bench.reporting.tables import new_table
from tests.cli.commands import Run, check_refused

GIVEN = {
    "full": "--full",
    "repeats": "--repeats=5",
    "cap": "--cap=7",
    "seconds": "--seconds=9",
    "variants": "--variants",
}
REFUSED = [(suite, name) for suite in SUITES for name in GIVEN if name not in SUITES[suite].options]


@dataclass(slots=True)
class Counted(Results):
    """The results of the suite of these tests."""

    count: int = 0

    def tables(self) -> list[Table]:
        table = new_table("Counted", "what", "pages", numeric=["pages"])
        table.add_row("pages", f"{self.count}")
        return [table]

    def figures(self) -> dict[str, Any]:
        return {"count": self.count}

    def files(self) -> dict[str, str]:
        return {"pages.txt": "page\n" * self.count}


def count(options: Options, say: Say) -> Counted:
    say("counting")
    if options.repeats == 13:
        raise KeyboardInterrupt
    wrong = ["page 1 and page 2"] if options.full else []
    return Counted(options.repeats or 3, differences=wrong, environment={"machine": "this"}, seconds=1.5)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds a suite to the table."""
    options = {"repeats": "pages to count", "full": "all pages"}
    suite = Suite("pages", "how many pages there are", options, count, "results-pages.json")
    monkeypatch.setitem(SUITES, "pages", suite)  # type: ignore[misc]


# --- the table ----------------------------------------------------------------------------------------------------


def test_a_suite_can_have_the_options_of_the_command() -> None:
    assert [item.name for item in fields(Options)] == list(GIVEN)
    assert Options().given == [] and Options(True, 1, 1.0, 1, True).given == list(GIVEN)


def test_every_suite_is_listed_with_its_options(run: Run) -> None:
    result = run("bench", "--list")
    assert (result.status, result.error) == (0, "")
    assert result.output.splitlines() == [line for suite in SUITES.values() for line in suite.described()]
    assert [line.split()[0] for line in result.output.splitlines() if not line.startswith(" ")] == list(SUITES)


def test_every_suite_has_its_own_name_and_file() -> None:
    assert [suite.name for suite in SUITES.values()] == list(SUITES)
    assert {suite.file for suite in SUITES.values()} == {
        "results.json",
        *(f"results-{name}.json" for name in ("map", "methods", "joins", "windows", "planner", "shedding")),
    }


# --- one report ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pages")
def test_a_suite_is_run_printed_and_written(run: Run, tmp_path: Path) -> None:
    result = run("bench", "pages", "-o", tmp_path / "new", "--repeats=2")
    written = [tmp_path / "new" / name for name in ("results-pages.json", "pages.txt")]
    assert (result.status, result.error) == (0, "    0 s  counting\n")
    assert "Counted" in result.output and result.output.endswith(f"2 s; {written[0]}, {written[1]}\n")
    found = {"environment": {"machine": "this"}, "seconds": 1.5, "count": 2}
    assert json.loads(written[0].read_text(encoding="utf-8")) == found
    assert written[1].read_text(encoding="utf-8") == "page\npage\n"
    assert json.loads(run("bench", "pages", "-o", tmp_path, "--json").output) == found | {"count": 3}


@pytest.mark.usefixtures("pages")
def test_answers_that_differ_are_a_failure(run: Run, tmp_path: Path) -> None:
    result = run("bench", "pages", "-o", tmp_path, "--full")
    assert (result.status, result.error) == (1, "    0 s  counting\nnot equal: page 1 and page 2\n")
    assert (tmp_path / "results-pages.json").exists()


@pytest.mark.usefixtures("pages")
def test_a_suite_that_is_interrupted_writes_nothing(run: Run, tmp_path: Path) -> None:
    result = run("bench", "pages", "-o", tmp_path, "--repeats=13")
    assert (result.status, result.output) == (130, "")
    assert result.error.endswith("stopped; no results were written\n") and list(tmp_path.iterdir()) == []


# --- refused before the run begins --------------------------------------------------------------------------------


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that must not be created."""
    monkeypatch.setattr(joinfold_bench, "prepare_output", lambda output: pytest.fail("the run begins"))
    return tmp_path / "new"


@pytest.mark.parametrize(("suite", "name"), REFUSED)
def test_an_option_that_a_suite_does_not_have(run: Run, suite: str, name: str, output: Path) -> None:
    options = ", ".join(f"--{known}" for known in SUITES[suite].options)
    error = f"UsageError: the suite '{suite}' has no option --{name}\nHint: its options are {options}.\n"
    check_refused(run("bench", suite, GIVEN[name], "-o", output), error)
    check_refused(run("bench", GIVEN[name], suite, "-o", output), error)
    assert not output.exists()


def test_a_suite_that_does_not_exist(run: Run, output: Path) -> None:
    has = "There are: engines, map, methods, joins, windows, planner, shedding.\n"
    near = "UsageError: unknown suite 'window'\nHint: did you mean 'windows'? "
    check_refused(run("bench", "window", "-o", output), near + has)
    check_refused(run("bench", "speed", "-o", output), "UsageError: unknown suite 'speed'\nHint: " + has)


@pytest.mark.parametrize("arguments", [["windows", "joins"], ["--windows"], ["--methods", "--full"]])
def test_a_run_takes_one_suite_and_not_as_a_flag(run: Run, arguments: list[str], output: Path) -> None:
    result = run("bench", *arguments, "-o", output)
    assert (result.status, result.output) == (2, "") and "Usage: joinfold bench" in result.error


def test_an_output_that_is_a_file(run: Run, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    check_refused(run("bench", "--output", taken), f"UsageError: cannot write to '{taken}': ")


def test_the_suites_are_not_installed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joinfold_bench", None)  # as if it were not installed
    error = "UsageError: the benchmark suites are not installed\nHint: pip install 'joinfold[bench]'\n"
    for arguments in ([], ["windows"], ["--list"]):
        check_refused(run("bench", *arguments), error)
    assert run("bench", "--help").status == 0
