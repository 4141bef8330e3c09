"""The command `joinfold bench`, called in this process."""

import sys

import pytest

from joinfold import cli


def run_bench(monkeypatch: pytest.MonkeyPatch, suite: str, *arguments: str) -> int:
    """Runs a suite by the command; returns its exit status."""
    monkeypatch.setattr(sys, "argv", ["joinfold", "bench", suite, *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return int(exit_.value.code or 0)
