"""`joinfold rescale`: what it prints. `runtime/upkeep/test_rescale.py` rescales a checkpoint for real."""

import os

import pytest

from joinfold.runtime.upkeep import rescale
from joinfold.runtime.upkeep.rescale import Rescaled
from tests.cli.commands import Run


def test_it_says_what_to_do_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(spark: object, checkpoint: str, into: str, partitions: int) -> Rescaled:
        asked.append((checkpoint, into, partitions))
        return Rescaled(18, 2, 5)

    monkeypatch.setattr(rescale, "rescale", fake)
    monkeypatch.setattr("joinfold.cli.rescale.Session", lambda: type("Sparkless", (), {"spark": None})())
    printed = run("rescale", "old", "--partitions", "5", "--into", "new").output
    assert asked == [(os.path.abspath("old"), os.path.abspath("new"), 5)]
    assert printed.startswith("'new' has 5 partitions instead of 2, and goes on after micro-batch 18. Start the query ")
