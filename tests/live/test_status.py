"""The status of a run: lines where there is no terminal; a spinner, a clock and one line where there is one."""

import io

import pytest
from rich.console import Console

from joinfold.live.report import Tally
from joinfold.live.status import FIRST, busy, status
from tests.runtime.test_progress import PROGRESS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_are_lines() -> None:
    written = io.StringIO()
    console, tally = Console(file=written, width=200), Tally()
    with busy("starting Spark", written):
        pass
    with status(console) as show:
        show(None, tally)
        show(PROGRESS, tally)
        show(PROGRESS, tally)  # too early for another line
    lines = written.getvalue().splitlines()
    assert lines[:2] == ["starting Spark …", FIRST]
    assert [line.count("rows/s") for line in lines[2:]].count(2) == 1


def test_a_terminal_has_a_spinner_and_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    written = Terminal()
    with busy("starting Spark", written):
        pass
    assert "starting Spark …" in written.getvalue() and "0:00:00" in written.getvalue()
    with status(Console(file=written, width=200)) as show:
        show(None, Tally())
        assert f"{FIRST} · 0 s" in written.getvalue()
        show(PROGRESS, Tally())
    assert "latency 13 min" in written.getvalue()
