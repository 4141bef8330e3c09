"""The far ends, at a thousandth of their size. `scripts/ends` runs them in full."""

import pytest

from tests.ends.cases import ENDS, RUNNERS
from tests.ends.run import run_case

SCALE = 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_an_end_is_answered_right_in_process(name: str) -> None:
    assert "right" in run_case(name, "in process", min(SCALE, 100))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", [name for name, end in ENDS.items() if end.on_spark])
def test_an_end_is_answered_right_on_spark(name: str) -> None:
    assert "on Spark" in RUNNERS and "right" in run_case(name, "on Spark", SCALE)
