"""`joinfold repair`: what it prints. `runtime/upkeep/test_repair.py` repairs a checkpoint for real."""

import os

import pytest

from joinfold.runtime.upkeep import repair
from joinfold.runtime.upkeep.repair import Repaired
from tests.cli.commands import Mistakes, Run, check_refused

MISTAKES: Mistakes = {
    "a bound that is no duration": (
        ["repair", "old", "--into=new", "--ahead=far"],
        "UsageError: 'far' is not a duration\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(run: Run, name: str) -> None:
    arguments, error = MISTAKES[name]
    check_refused(run(*arguments), error)


def test_it_says_what_to_do_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(spark: object, checkpoint: str, into: str, ahead_us: int) -> Repaired:
        asked.append((checkpoint, into, ahead_us))
        return Repaired(18, 3, {"b": "9999-12-31 00:00:00"})

    monkeypatch.setattr(repair, "repair", fake)
    monkeypatch.setattr("joinfold.cli.repair.Session", lambda: type("Sparkless", (), {"spark": None})())
    printed = run("repair", "old", "--into", "new", "--ahead", "2 hours").output
    assert asked == [(os.path.abspath("old"), os.path.abspath("new"), 7_200_000_000)]
    assert printed.startswith("'b' had run away to 9999-12-31 00:00:00\n'new' goes on after micro-batch 18; rows of 3 ")
    assert "with ahead='2 hour'" in printed
