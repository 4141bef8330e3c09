"""`joinfold bench` refuses what it cannot do before the long work begins."""

import sys
from pathlib import Path

import pytest

from joinfold.cli import main


def test_an_output_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    taken = tmp_path / "taken"
    taken.touch()
    monkeypatch.setattr(sys, "argv", ["joinfold", "bench", "--output", str(taken)])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith(f"UsageError: cannot write to '{taken}': ")
