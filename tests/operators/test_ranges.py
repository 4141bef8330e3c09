"""Bands whose width differs from row to row: an index has one of their ends in order, and the other is compared."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.planner.folding import plan_fold
from joinfold.planner.forcing import Plan
from joinfold.reference import naive
from tests.operators.runs import Data, answer, feed, plan_of
from tests.strategies import assert_same_answers

SCHEMA = "k INT, g INT, v BIGINT, w BIGINT"
WINDOWS = "FROM a [12 MICROSECOND SLIDE 4 MICROSECOND], b [6 MICROSECOND SLIDE 3 MICROSECOND]"
BANDS = {
    "closed": "a.v BETWEEN b.v - b.w AND b.v + b.w",
    "open": "a.v > b.v - b.w AND a.v < b.v + b.w",
    "half open": "a.v >= b.v AND a.v < b.w",
    "of the first": "b.v BETWEEN a.w AND a.v",
    "beside a key": "a.k = b.k AND a.v BETWEEN b.v - b.w AND b.v + b.w",
    "one end": "a.v <= b.w",
}
STRUCTURES = ("list", "hash", "btree", "ttree", "sums")


def bands_of(seed: int) -> Data:
    chance = random.Random(seed)

    def number() -> int | None:
        return None if chance.random() < 0.08 else chance.randrange(-6, 7)

    columns = ("k", "g", "v", "w")
    return {
        name: [
            {"ts": chance.randrange(24), **{column: number() for column in columns}, "k": chance.randrange(2)}
            for _ in range(chance.randrange(5, 25))
        ]
        for name in ("a", "b")
    }


@pytest.mark.parametrize("structure", STRUCTURES)
@given(band=st.sampled_from(list(BANDS)), seed=st.integers(0, 10**6), by_row=st.booleans())
def test_bands_of_any_width_are_answered_as_defined(structure: str, band: str, seed: int, by_row: bool) -> None:
    if structure == "hash":
        band = "beside a key"
    text = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {WINDOWS} WHERE {BANDS[band]} GROUP BY a.g"
    forced = Plan("ic", None if structure == "sums" else (), dict.fromkeys("ab", structure))
    plan, data = plan_fold(plan_of(text, SCHEMA).query, forced), bands_of(seed)
    machine = InProcess(plan, 1 + seed % 2, by_row)
    feed(machine, data)
    assert_same_answers(naive.answers(plan.query, data), answer(machine, to_the_end=True))
