"""Every bucket decides alike which keys or rows are held, whatever it holds itself, and goes on after a restart."""

from dataclasses import replace

import numpy as np
import pytest

from joinfold.logical.shedding import Budget, HoldRows, Process
from joinfold.operators.entries import Entries, Payload
from joinfold.operators.packing.header import Load
from joinfold.operators.stages.sampling import Sampler, in_sample, replicates, weighted
from joinfold.physical.shedding import DRAWS, WHOLE, KeySampling, RowSampling, Sampling
from joinfold.physical.timing import AtCandidates, Timing
from joinfold.shedding.rates import EVERYTHING, Sample
from joinfold.window import Grid, PartitionedRows, Sliding, Window

WINDOW = Sliding(10, 1)
RANDOM = np.random.default_rng(4)


def timing(*windows: Window) -> Timing:
    names = tuple("abc"[: len(windows)])
    return Timing(names, windows, (0,) * len(windows), AtCandidates((Grid(0, 1),)))


def by_key(*budgets: Budget, streams: tuple[int, ...] = (0, 1)) -> Sampler:
    return Sampler(KeySampling(budgets, 0, streams), timing(WINDOW, WINDOW))


def load(entries: int, cell: int, heavy: list[tuple[int, int, int]] | None = None, clock_us: int | None = None) -> Load:
    smallest = np.sort(RANDOM.integers(0, DRAWS, 64)).tolist()
    return Load(entries, entries, 8 * entries, cell, heavy or [], smallest, clock_us)


def feed(sampler: Sampler, batches: int, entries: int, first: int = 0) -> None:
    for number in range(first, first + batches):
        needed = {0: number - 10, 1: number - 10}
        sampler.see([(0, load(entries, number)), (1, load(entries, number))], needed)


def test_nothing_is_shed_within_the_budget() -> None:
    sampler = by_key(HoldRows(2_500))
    feed(sampler, 40, entries=100)
    assert sampler.rates.current == WHOLE and not sampler.lowered
    assert sampler.sample({0: 30, 1: 30}) == EVERYTHING


def test_the_rate_follows_what_the_windows_would_hold() -> None:
    sampler = by_key(HoldRows(1_000))
    feed(sampler, 30, entries=200)  # 4,400 entries are live
    assert 0.8 * 1_000 / 4_400 < sampler.rates.current / WHOLE <= 1_000 / 4_400
    feed(sampler, 40, entries=10, first=30)
    assert sampler.rates.current == WHOLE
    assert sampler.sample({0: 69, 1: 69}) == EVERYTHING
    assert sampler.sample({0: 31, 1: 31}).rate < WHOLE


def test_streams_that_stay_whole_take_their_part_of_the_budget_first() -> None:
    half, alone = by_key(HoldRows(1_500), streams=(0,)), by_key(HoldRows(1_500))
    feed(half, 30, entries=100)  # 1,100 entries of each stream
    feed(alone, 30, entries=100)
    assert half.rates.current / WHOLE < 0.5 < alone.rates.current / WHOLE


def test_rows_per_second_of_wall_clock_time() -> None:
    sampler = by_key(Process(50))
    for number in range(20):
        clock_us = number * 2_000_000
        sampler.see(
            [(0, load(200, number, clock_us=clock_us)), (1, load(200, number, clock_us=clock_us))], {0: 0, 1: 0}
        )
    assert 0.2 < sampler.rates.current / WHOLE <= 0.25  # 100 of 400 rows in two seconds


def test_a_heavy_key_is_certain() -> None:
    sampler, heavy = by_key(HoldRows(900)), DRAWS - 5
    for number in range(30):
        counted = [(heavy, 40, 1)]
        own = load(200, number, counted)
        sampler.see([(0, own), (1, own)], {0: number - 10, 1: number - 10})
    sample = sampler.sample({0: 25, 1: 25})
    assert sample.certain == {heavy}
    drawn = np.array([heavy, heavy - 1, 3])
    assert sampler.holds(0, np.array([29, 29, 29]), drawn).tolist() == [True, False, True]
    assert sampler.still_holds(drawn).tolist() == [True, False, True]


def test_the_last_rows_of_each_key_are_not_more_than_there_are_keys() -> None:
    shedding = KeySampling((HoldRows(2_000),), 0, (0, 1))
    sampler = Sampler(shedding, timing(PartitionedRows(("k",), 2), WINDOW))
    keys = np.sort(RANDOM.integers(0, DRAWS, 64)).tolist()
    for number in range(100):
        own = replace(load(50, number), smallest=keys[:60])
        sampler.see([(0, own), (1, own)], {0: -1, 1: number - 10})
    assert sampler.rates.current == WHOLE  # 60 keys have 120 rows, though 5,000 came


@pytest.mark.parametrize("kind", [KeySampling, RowSampling])
def test_a_restart_goes_on_alike(kind: type[KeySampling | RowSampling]) -> None:
    shedding: Sampling = kind((HoldRows(700), Process(80)), 0, (0, 1))
    sampler = Sampler(shedding, timing(WINDOW, WINDOW))
    for number in range(25):
        own = load(int(RANDOM.integers(50, 400)), number, [(7, 30, 2)], number * 1_500_000)
        again = Sampler(shedding, timing(WINDOW, WINDOW))
        if number:
            again.restore(sampler.facts())
            assert again.facts() == sampler.facts()
            sampler = again
        sampler.see([(1, own), (0, own)], {0: number - 10, 1: number - 10})
    other = Sampler(shedding, timing(WINDOW, WINDOW))
    assert other.facts() != sampler.facts()


def test_the_order_of_headers_does_not_matter() -> None:
    one, other = by_key(HoldRows(500)), by_key(HoldRows(500))
    for number in range(150):
        loads = [(stream, load(20 + stream, number - step)) for stream in (0, 1) for step in range(3)]
        one.see(loads, {0: number - 100, 1: number - 100})
        other.see(loads[::-1], {0: number - 100, 1: number - 100})
    assert one.facts() == other.facts() and one.rates.current < WHOLE


def test_rows_are_sampled_one_in_a_whole_number() -> None:
    sampler = Sampler(RowSampling((HoldRows(1_000),), 0, (0, 1)), timing(WINDOW, WINDOW))
    feed(sampler, 30, entries=200)
    one_in = WHOLE / sampler.rates.current
    assert abs(one_in - round(one_in)) < 0.01 and round(one_in) == 5
    entries = drawn_entries([0, 10, DRAWS // 2])
    sample = Sample(sampler.rates.current)
    assert in_sample(sample, entries).tolist() == [True, True, False]
    assert weighted(sample, entries).ints[:, 0].tolist() == [5, 10, 15]
    assert weighted(EVERYTHING, entries) is entries.payload


def test_replicates_are_those_of_the_draws() -> None:
    entries, keys, rows = drawn_entries([0, 33, 71]), KeySampling((), 0, (0,)), RowSampling((), 0, (0,))
    assert replicates(keys, EVERYTHING, entries).tolist() == [-1, -1, -1]
    assert replicates(keys, Sample(WHOLE // 2, frozenset({33})), entries).tolist() == [0, -1, 7]
    assert replicates(rows, Sample(WHOLE // 2), entries).tolist() == [0, 1, 7]


def drawn_entries(draws: list[int]) -> Entries:
    nothing, count = np.zeros(len(draws), np.int32), len(draws)
    payload = Payload.zeros(count, 1, 0, 0)
    payload.ints[:, 0] = np.arange(1, count + 1)
    parts = np.zeros((count, 0), np.int32)
    return Entries(np.zeros(count, np.int64), nothing, parts, nothing, nothing, payload, np.array(draws))
