"""Heavy keys are found among all keys, and the choice seldom changes."""

import numpy as np
import pytest

from joinfold.physical.shedding import DRAWS
from joinfold.shedding.heavy_keys import MOST_CERTAIN, SMALLEST, Counted, HeavyKeys

RANDOM = np.random.default_rng(3)


def batch_of(shares: np.ndarray, draws: np.ndarray, rows: int) -> tuple[list[Counted], list[int]]:
    counts = RANDOM.multinomial(rows, shares)
    present = np.flatnonzero(counts)
    heavy = present[counts[present] * len(present) > rows]
    counted = [(int(draws[key]), int(counts[key]), 1) for key in heavy]
    return counted, np.sort(draws[present])[:SMALLEST].tolist()


def seen(shares: np.ndarray, batches: int, rows: int = 5_000) -> tuple[HeavyKeys, np.ndarray]:
    draws, heavy = RANDOM.integers(0, DRAWS, len(shares)), HeavyKeys()
    for _ in range(batches):
        heavy.see(*batch_of(shares, draws, rows), rows, len(shares), 10 * rows)
    return heavy, draws


@pytest.mark.parametrize("keys", [20, 1_000, 20_000])
def test_about_how_many_keys_there_are(keys: int) -> None:
    heavy, _ = seen(np.full(keys, 1 / keys), batches=25)
    assert heavy.keys == pytest.approx(keys, rel=0.5)


def test_no_key_is_heavy_if_all_are_alike() -> None:
    heavy, _ = seen(np.full(1_000, 1 / 1_000), batches=15)
    assert heavy.chosen(set(), 0.25) == set()


def test_the_first_keys_of_a_zipf_distribution_are_heavy() -> None:
    shares = 1 / np.arange(1, 10_001)
    heavy, draws = seen(shares / shares.sum(), batches=15)
    chosen = heavy.chosen(set(), 0.25)
    assert set(draws[:60].tolist()) <= chosen and len(chosen) <= MOST_CERTAIN


def test_a_key_stays_certain_longer_than_it_takes_to_become_so() -> None:
    shares = 1 / np.arange(1, 1_001)
    heavy, _ = seen(shares / shares.sum(), batches=15)
    chosen = heavy.chosen(set(), 0.25)
    assert chosen < heavy.chosen(set(heavy.counts), 0.25)


def test_certain_keys_leave_room_for_others() -> None:
    heavy = HeavyKeys()
    heavy.see([(draw, 100, 10) for draw in range(100)], range(200), 10_000, 1_000, 10_000)
    assert 0.1 < heavy.share(heavy.chosen(set(), 0.2)) <= 0.15


def test_a_key_that_does_not_fit_does_not_keep_others_out() -> None:
    heavy = HeavyKeys()
    heavy.see([(1, 5_000, 500), (2, 900, 90)], range(300), 10_000, 1_000, 10_000)
    assert heavy.chosen(set(), 0.2) == {2}
    assert heavy.chosen(set(), 0.8) == {1, 2}


def test_the_order_of_headers_does_not_matter() -> None:
    one, other = HeavyKeys(), HeavyKeys()
    counted = [(int(draw), int(rows), 1) for draw, rows in RANDOM.integers(1, 50, (2_000, 2))]
    one.see(counted, [1, 2], 100, 100, 10)
    other.see(counted[::-1], [2, 1], 100, 100, 10)
    assert one.facts() == other.facts()


def test_facts() -> None:
    heavy, _ = seen(np.full(100, 1 / 100), batches=3)
    assert HeavyKeys.from_facts(heavy.facts()).facts() == heavy.facts()
