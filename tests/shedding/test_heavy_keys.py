"""Heavy keys are found among all keys, and the choice seldom changes."""

import numpy as np
import pytest

from joinfold.physical.shedding import DRAWS
from joinfold.shedding.heavy_keys import MOST_CERTAIN, PLENTY, REMEMBERED, SMALLEST, Counted, HeavyKeys, tie_break

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
    assert heavy.chosen(set(), 0.25, streams=2, live_rows=10_000) == set()


def test_the_first_keys_of_a_zipf_distribution_are_heavy() -> None:
    shares = 1 / np.arange(1, 10_001)
    heavy, draws = seen(shares / shares.sum(), batches=15)
    chosen = heavy.chosen(set(), 0.25, streams=2, live_rows=10_000)
    assert set(draws[:60].tolist()) <= chosen and len(chosen) <= MOST_CERTAIN


@pytest.mark.parametrize("keys", [300, 2_000, 20_000])
def test_keys_are_certain_as_long_as_that_makes_the_sample_better(keys: int) -> None:
    """Compares the choice with every other number of the heaviest keys."""
    shares = 1 / np.arange(1, keys + 1)
    heavy, _ = seen(shares / shares.sum(), batches=15)
    chosen = heavy.chosen(set(), 0.25, streams=2, live_rows=heavy.rows)
    by_weight = sorted(heavy.counts, key=lambda draw: (-heavy.counts[draw][0], tie_break(draw)))
    means = np.array([heavy.counts[draw][0] for draw in by_weight]) / 2
    entries = np.array([heavy.counts[draw][1] for draw in by_weight])
    others = max(heavy.keys - len(means), 0)
    rest = (heavy.rows / 2 - means.sum()) / others if others else 0.0

    def rank(number: int) -> tuple[float, float]:
        rate = (0.25 * heavy.entries - entries[:number].sum()) / (heavy.entries - entries[:number].sum())
        total = (means[number:] ** 2).sum() + others * rest**2
        squares = ((means[number:] ** 2 + means[number:]) ** 2).sum() + others * (rest**2 + rest) ** 2
        return min(rate * total**2 / squares, PLENTY), -(1 - rate) / rate * squares

    assert chosen == set(by_weight[: len(chosen)])
    possible = [n for n in range(MOST_CERTAIN + 1) if entries[:n].sum() <= 0.75 * 0.25 * heavy.entries]
    assert rank(len(chosen)) == pytest.approx(max(map(rank, possible)))


def test_the_effective_number_of_keys_beside_certain_ones() -> None:
    heavy = HeavyKeys()
    heavy.see([(5, 80, 1), (7, 10, 1)], [5, 7, 9], 100, 3, 100)
    assert heavy.keys == 3
    assert heavy.effective_number(set(), 1, 100) == pytest.approx(100**2 / (80 * 81 + 2 * 10 * 11))
    assert heavy.effective_number({5}, 2, 200) == pytest.approx((2 * 10**2) ** 2 / (2 * 110**2))
    assert heavy.effective_number({5, 7}, 2, 200) == pytest.approx(10**4 / 110**2)
    assert HeavyKeys().effective_number(set(), 2, 0) == 0.0


def test_whether_a_key_is_remembered_has_nothing_to_do_with_its_draw() -> None:
    """Many keys have equal counts. If those with small draws came first, estimates would be too low."""
    heavy = HeavyKeys()
    draws = RANDOM.integers(0, DRAWS, 4_000)
    counted = [(int(draw), 10 if number < 100 else 5, 1) for number, draw in enumerate(draws)]
    heavy.see(counted, np.sort(draws)[:SMALLEST].tolist(), 20_500, 4_000, 20_500)
    assert len(heavy.counts) == REMEMBERED
    assert 0.4 < np.mean(np.array(list(heavy.counts)) < DRAWS // 2) < 0.6


def test_a_key_that_is_certain_stays_so_though_another_is_a_bit_heavier() -> None:
    shares = 1 / np.arange(1, 1_001)
    heavy, _ = seen(shares / shares.sum(), batches=15)
    by_weight = sorted(heavy.counts, key=lambda draw: (-heavy.counts[draw][0], tie_break(draw)))
    number = len(heavy.chosen(set(), 0.25, streams=2, live_rows=10_000))
    lighter = by_weight[number]
    assert lighter not in heavy.chosen(set(by_weight[: number - 1]), 0.25, streams=2, live_rows=10_000)
    assert lighter in heavy.chosen({*by_weight[: number - 1], lighter}, 0.25, streams=2, live_rows=10_000)


def test_certain_keys_leave_room_for_others() -> None:
    heavy = HeavyKeys()
    heavy.see([(draw, 4_000 // (draw + 1), 10) for draw in range(100)], range(200), 21_000, 1_000, 10_000)
    assert 0 < heavy.share(heavy.chosen(set(), 0.2, streams=2, live_rows=10_000)) <= 0.15


def test_a_key_that_does_not_fit_is_not_certain() -> None:
    heavy = HeavyKeys()
    heavy.see([(1, 5_000, 500), (2, 900, 90)], range(0, DRAWS, DRAWS // 500), 10_000, 1_000, 10_000)
    assert 1 not in heavy.chosen(set(), 0.2, streams=2, live_rows=10_000)
    assert heavy.chosen(set(), 0.8, streams=2, live_rows=10_000) == {1, 2}


def test_the_order_of_headers_does_not_matter() -> None:
    one, other = HeavyKeys(), HeavyKeys()
    counted = [(int(draw), int(rows), 1) for draw, rows in RANDOM.integers(1, 50, (2_000, 2))]
    one.see(counted, [1, 2], 100, 100, 10)
    other.see(counted[::-1], [2, 1], 100, 100, 10)
    assert one.facts() == other.facts()


def test_facts() -> None:
    heavy, _ = seen(np.full(100, 1 / 100), batches=3)
    assert HeavyKeys.from_facts(heavy.facts()).facts() == heavy.facts()
