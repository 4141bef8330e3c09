"""Draws are uniform, the same everywhere, independent of buckets, and rounded for rows without changing any sample."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.operators.packing.draws import draws, row_draws, seed_of, weigh_keys, with_draws
from joinfold.operators.values import stable_hash
from joinfold.physical.column_names import COUNT, DRAW
from joinfold.physical.shedding import (
    DRAWS,
    MOST_ROWS_FOR_ONE,
    REPLICATES,
    WHOLE,
    KeySampling,
    RowSampling,
)
from joinfold.shedding.heavy_keys import SMALLEST, tie_break
from joinfold.shedding.rates import threshold

KEYS = pa.array(np.arange(100_000))


def test_draws_are_uniform_and_do_not_depend_on_the_bucket() -> None:
    drawn = draws([KEYS], seed=0)
    assert drawn.min() >= 0 and drawn.max() < DRAWS
    assert np.abs(np.histogram(drawn, 20, (0, DRAWS))[0] / 5_000 - 1).max() < 0.06
    in_bucket = (stable_hash([KEYS]) % np.uint64(2)).astype(bool)
    assert (drawn[in_bucket] < DRAWS // 4).mean() == pytest.approx(0.25, abs=0.01)
    assert np.abs(np.bincount(drawn % 32) / (100_000 / 32) - 1).max() < 0.1


def test_equal_values_draw_alike_and_other_seeds_do_not() -> None:
    assert (draws([KEYS], 1) == draws([KEYS], 1)).all()
    assert (draws([pa.array(["x", "y", "x"])], 1)[[0, 2]] == draws([pa.array(["x"])], 1)).all()
    assert (draws([KEYS], 1) != draws([KEYS], 2)).all()
    below = [draws([KEYS], seed) < DRAWS // 4 for seed in (1, 2)]
    assert (below[0] & below[1]).mean() == pytest.approx(1 / 16, abs=0.005)


def test_streams_draw_alike_only_by_key() -> None:
    by_key, by_row = KeySampling((), 7, (0, 1)), RowSampling((), 7, (0, 1))
    assert seed_of(by_key, 0) == seed_of(by_key, 1) == 7
    assert seed_of(by_row, 0) != seed_of(by_row, 1)


@pytest.mark.parametrize("one_in", [1, 2, 3, 7, 60, MOST_ROWS_FOR_ONE])
def test_rounded_draws_are_in_the_same_samples(one_in: int) -> None:
    exact, rounded = draws([KEYS], 3), row_draws([KEYS], 3)
    assert ((exact < DRAWS // one_in) == (rounded < threshold(WHOLE // one_in))).all()
    assert (exact % REPLICATES["row"] == rounded % REPLICATES["row"]).all()
    assert len(np.unique(rounded)) <= MOST_ROWS_FOR_ONE * REPLICATES["row"]


def test_the_heaviest_keys_of_a_batch() -> None:
    keys = [5] * 3 + [6] * 2 + list(range(100, 120))
    entries = pa.RecordBatch.from_pydict({"k": pa.array(keys), COUNT: pa.array([10] * len(keys))})
    drawn = with_draws(entries, ("k",), 0)
    heavy, smallest = weigh_keys(drawn)
    expected = draws([pa.array([5, 6])], 0).tolist()
    assert heavy[:2] == [[expected[0], 30, 3], [expected[1], 20, 2]]
    assert [own[0] for own in heavy[2:]] == sorted((own[0] for own in heavy[2:]), key=tie_break)
    assert len(heavy) == 22 and {(rows, own) for _, rows, own in heavy[2:]} == {(10, 1)}
    assert smallest == sorted(set(drawn.column(DRAW).to_pylist()))
    assert weigh_keys(drawn.slice(0, 0)) == ([], [])


def test_only_the_smallest_draws_travel() -> None:
    drawn = with_draws(pa.RecordBatch.from_pydict({"k": KEYS, COUNT: KEYS}), ("k",), 0)
    _, smallest = weigh_keys(drawn)
    assert smallest == np.sort(drawn.column(DRAW).to_numpy())[:SMALLEST].tolist()
