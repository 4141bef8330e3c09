"""The share of combinations that conditions let through, of samples."""

import numpy as np
import pytest

from joinfold.planner.stream_statistics import Statistics
from tests.statistics.samples import JOINED, WINDOW, statistics, table


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        ("a.k = b.k", 1.0),
        ("a.v < b.v", 0.5),
        ("a.v BETWEEN b.v AND b.v + 9", 0.1),
        ("a.k = b.k AND a.v + b.v < 20", 0.02),
        ("a.k = b.k AND a.v < b.v AND a.v + b.v < 50", 0.0625),
        ("a.v = 7 AND b.v < a.v", 0.07),
        ("a.v > b.v + 1000", 0.0),
    ],
)
def test_conditions_are_tried_on_pairs_with_equal_keys(condition: str, share: float) -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE {condition}"
    found = statistics(
        text,
        a=table(20_000, keys=30),
        b=table(20_000, keys=30, seed=1, v=np.random.default_rng(2).integers(0, 100, 20_000)),
    )
    assert found.selectivity == pytest.approx(share, rel=0.2, abs=0.001)


def test_what_no_sample_tells_is_as_assumed() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.v < b.v"
    assert statistics(text, a=table(100)).selectivity == Statistics(()).selectivity
    apart = f"{text} AND a.k = b.k"
    assert (
        statistics(apart, a=table(100, k=[1] * 100), b=table(100, k=[2] * 100)).selectivity
        == Statistics(()).selectivity
    )


def test_a_condition_that_fails_to_compute_is_not_sampled() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.v * 2000000000 + b.v > 1"
    found = statistics(text, a=table(100), b=table(100))
    assert found.selectivity == Statistics(()).selectivity
    assert statistics(JOINED.replace("a.v < 25", "a.v * 2000000000 < 2"), a=table(100)).streams[0].origin == "assumed"
