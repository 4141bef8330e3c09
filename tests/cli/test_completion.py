"""Shell completion: what a shell gets when Tab is pressed."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("joinfold ru", ["run"]),
        ("joinfold run q --sink pa", ["parquet"]),
        ("joinfold run q --format ", ["table", "csv", "json"]),
        ("joinfold explain q --stage wi", ["windows"]),
    ],
)
def test_a_shell_completes(words: str, expected: list[str]) -> None:
    typed = words.split(" ")
    environment = {
        "PATH": os.environ["PATH"],
        "_JOINFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    command = [sys.executable, "-c", "from joinfold.cli import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == expected, done.stderr
