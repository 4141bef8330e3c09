"""`joinfold generate`: folders that `joinfold explain` can read."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import Mistakes, Run, check_refused

MISTAKES: Mistakes = {
    "unknown workload": (["generate", "auction", "-o", "nowhere"], "UsageError: unknown workload 'auction'\n"),
    "parameter without a value": (
        ["generate", "sensors", "-o", "nowhere", "--set=rooms"],
        "UsageError: --set takes NAME=VALUE, not 'rooms'\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(run: Run, name: str) -> None:
    arguments, error = MISTAKES[name]
    check_refused(run(*arguments), error)


def test_generate_writes_streams_that_explain_reads(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "house"
    result = run("generate", "sensors", "--rows=500", "--seed=1", "-o", folder)
    assert (result.status, result.error) == (0, "")
    names = [Path(line.split(":")[0]).name for line in result.output.splitlines()]
    assert sorted(names) == sorted(path.name for path in folder.iterdir() if path.is_dir())
    for name in names:
        assert run("explain", f"SELECT COUNT(*) FROM {name} [ROWS 5]", f"--stream={name}={folder / name}").status == 0
    again = run("generate", "sensors", "--rows=500", "-o", folder)
    assert again.status == 2
    assert again.error.startswith("UsageError: ")


def test_generate_prints_json(run: Run, tmp_path: Path) -> None:
    printed = json.loads(run("generate", "sensors", "--rows=100", "-o", tmp_path / "x", "--json").output)
    assert printed["directory"] == str(tmp_path / "x")
    assert all("TIMESTAMP" in columns for columns in printed["streams"].values())
