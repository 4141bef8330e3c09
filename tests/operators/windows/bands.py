"""Range joins of every kind, and rows for them."""

import random

from tests.operators.runs import Data

SCHEMA = "k INT, g INT, v BIGINT, w BIGINT"
WINDOWS = "FROM a [12 MICROSECOND SLIDE 4 MICROSECOND], b [6 MICROSECOND SLIDE 3 MICROSECOND]"
BANDS = {
    "closed": "a.v BETWEEN b.v - b.w AND b.v + b.w",
    "open": "a.v > b.v - b.w AND a.v < b.v + b.w",
    "half open": "a.v >= b.v AND a.v < b.w",
    "of the first": "b.v BETWEEN a.w AND a.v",
    "beside a key": "a.k = b.k AND a.v BETWEEN b.v - b.w AND b.v + b.w",
    "one end": "a.v <= b.w",
    "of one width": "a.v BETWEEN b.v - 2 AND b.v + 2",
    "of one width, half open": "a.v >= b.v - 1 AND a.v < b.v + 3",
    "of one width, open": "a.v > b.v AND a.v < b.v + 4",
    "of no width": "a.v > b.v AND a.v <= b.v",
    "of no width, half open": "a.v >= b.v AND a.v < b.v",
    "of one width beside a key": "b.v BETWEEN a.v AND a.v + 3 AND a.k = b.k",
}


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
