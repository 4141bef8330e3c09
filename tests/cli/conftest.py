"""Runs the command line in the process of the tests."""

import io
import sys

import pytest

from joinfold.cli import main
from tests.cli.commands import Result, Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the command with some arguments in this process."""

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["joinfold", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_:
            main()
        result = Result(int(exit_.value.code or 0), *capsys.readouterr())
        assert "Traceback" not in result.error
        return result

    return run
