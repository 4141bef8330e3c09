"""Figures 5, 6 and 7 of Kang, Naughton and Viglas: each division of CPU and memory gives as many pairs as its formula.

Rows come at even intervals, with random keys. What is counted comes after the windows have filled.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.logical.query import Source
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query

SCHEMA = read_schema("ts TIMESTAMP, k INT, v BIGINT")
SECOND = 1_000_000


@dataclass(frozen=True)
class Figure:
    """The windows and rates of A and B, their numbers of keys, the budget, and the time between micro-batches."""

    windows: tuple[str, str]
    rates: tuple[int, int]
    keys: tuple[int, int]
    budget: str
    seconds: int
    warm_up: int
    batch_us: int

    def plan(self, favour: str) -> PlannedQuery:
        text = (
            f"SELECT a.v, b.v AS w FROM a [{self.windows[0]}], b [{self.windows[1]}] WHERE a.k = b.k "
            f"SHED TO {self.budget} FAVOUR {favour} SEED 3"
        )
        return plan_query(bind(parse(text), {name: Source(name, SCHEMA, True, "ts") for name in "ab"}))

    def rows(self, stream: int, random: np.random.Generator, first_us: int, end_us: int) -> pa.Table:
        rate = self.rates[stream]
        numbers = np.arange(-(-first_us * rate // SECOND), -(-end_us * rate // SECOND))
        times = pa.array(numbers * SECOND // rate, pa.timestamp("us", "UTC"))
        keys = pa.array(random.integers(0, self.keys[stream], len(numbers)), pa.int32())
        return pa.table({"ts": times, "k": keys, "v": numbers})


FIVE = Figure(("125 MILLISECONDS", "1 SECOND"), (800, 200), (100, 100), "PROCESS 100 ROWS PER SECOND", 115, 5, 100_000)
SIX = Figure(("100 SECONDS", "20 SECONDS"), (10, 50), (200, 100), "HOLD 1000 ROWS", 1600, 200, 4 * SECOND)
SEVEN = Figure(
    ("10 SECONDS", "10 SECONDS"),
    (10, 10),
    (100, 100),
    "PROCESS 10 ROWS PER SECOND AND HOLD 100 ROWS",
    2300,
    100,
    5 * SECOND,
)


@pytest.mark.parametrize(
    ("figure", "favour", "per_second"),
    [
        (FIVE, "MOST PAIRS", 200),
        (FIVE, "ALL TO a", 200),
        (FIVE, "RATES", 180),
        (FIVE, "EQUAL", 150),
        (FIVE, "WINDOWS", 400 / 3),
        (FIVE, "ALL TO b", 100),
        (SIX, "MOST PAIRS", 250),
        (SIX, "ALL TO a", 250),
        (SIX, "INVERSE RATES", 650 / 3),
        (SIX, "EQUAL", 150),
        (SIX, "RATES", 250 / 3),
        (SIX, "ALL TO b", 50),
        (SEVEN, "MOST PAIRS", 10),
        (SEVEN, "EQUAL", 5),
        (SEVEN, "ALL TO a", 0),
        (SEVEN, "ALL TO b", 0),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_pairs_per_second(figure: Figure, favour: str, per_second: float) -> None:
    machine, random = InProcess(figure.plan(favour)), np.random.default_rng(7)
    pairs, most_held = 0, 0
    for end_us in range(figure.batch_us, figure.seconds * SECOND + 1, figure.batch_us):
        first_us = end_us - figure.batch_us
        batch = {name: figure.rows(stream, random, first_us, end_us) for stream, name in enumerate("ab")}
        machine.feed(batch, clock_us=end_us)
        found = machine.answer().num_rows
        if end_us > figure.warm_up * SECOND:
            pairs += found
            most_held = max(most_held, machine.buckets[0].entries_held)
    assert pairs == pytest.approx(per_second * (figure.seconds - figure.warm_up), rel=0.05)
    assert pairs >= 10_000 or per_second == 0
    if "HOLD" in figure.budget:
        budget = int(figure.budget.split()[-2])
        in_a_batch = sum(figure.rates) * figure.batch_us // SECOND
        assert most_held <= 1.1 * budget + in_a_batch
