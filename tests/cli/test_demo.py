"""`joinfold demo`, without Spark: what it asks for. It runs for real in `live/test_running.py`."""

import pytest
from rich.console import Console

from tests.cli.commands import Run


def test_the_demo_runs_for_so_many_seconds(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, int]] = []

    def demo(seconds: float, console: Console) -> None:
        asked.append((seconds, console.width))

    monkeypatch.setattr("joinfold.live.demo.demo", demo)
    assert run("demo").status == run("demo", "--seconds=2.5").status == 0
    assert asked == [(60, 140), (2.5, 140)]


def test_the_demo_takes_a_second_or_more(run: Run) -> None:
    result = run("demo", "--seconds=0")
    assert result.status == 2 and "--seconds" in result.error
