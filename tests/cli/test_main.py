"""What all commands share: missing and unknown arguments, and the installed program."""

import subprocess
import sys
from pathlib import Path

import pytest

from joinfold.cli.printing import print_error
from tests.cli.commands import QUERY, STREAM, Run


@pytest.mark.parametrize(
    "arguments", [["explain"], ["nonsense"], ["explain", QUERY, "--nonsense"], ["generate", "sensors", "--rows=many"]]
)
def test_arguments_that_are_missing_or_unknown(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert "Usage: joinfold" in result.error


def test_the_installed_command() -> None:
    command = [str(Path(sys.executable).with_name("joinfold")), "explain", "SELECT COUNT(*) FROM B [10 MINUTE]", STREAM]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        "QueryError: unknown stream or relation 'B'\n  SELECT COUNT(*) FROM B [10 MINUTE]\n                       ^\n"
        "Hint: the session has: A.\n"
    )


def test_controls_that_an_error_quotes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("EvaluationError: '\x1b[2J\x9b' is no number\nHint: look at the row.")
    assert capsys.readouterr().err == "EvaluationError: '\\x1b[2J\\x9b' is no number\nHint: look at the row.\n"
