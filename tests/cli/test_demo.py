"""`joinfold demo`, without Spark: its arguments. `live/test_running.py` runs it for real."""

import pytest
from rich.console import Console

from tests.cli.commands import Run


def test_the_demo_gets_the_seconds(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[float, int]] = []

    def demo(seconds: float, console: Console) -> None:
        calls.append((seconds, console.width))

    monkeypatch.setattr("joinfold.live.demo.demo", demo)
    assert run("demo").status == run("demo", "--seconds=2.5").status == 0
    assert calls == [(60, 140), (2.5, 140)]


def test_the_demo_takes_one_second_or_more(run: Run) -> None:
    result = run("demo", "--seconds=0")
    assert result.status == 2 and "--seconds" in result.error
