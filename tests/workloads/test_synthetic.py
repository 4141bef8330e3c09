"""Keys, groups and values have the frequencies that the parameters promise (fixed seeds, wide margins)."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.workloads import batches
from joinfold.workloads.draws import Block, share_out, zipf_cumulative


def columns(stream: str, **arguments: object) -> dict[str, np.ndarray]:
    table = pa.concat_tables([step[stream] for step in batches("synthetic", seed=7, **arguments)])
    return {name: table[name].to_numpy() for name in ("key", "g", "v")}


def chi_square_per_degree(values: np.ndarray, probabilities: np.ndarray) -> float:
    """The chi-square statistic per degree of freedom: about 1 if ``values`` follow ``probabilities``."""
    expected = probabilities * len(values)
    observed = np.bincount(values, minlength=len(expected))
    return float(((observed - expected) ** 2 / expected).sum() / (len(expected) - 1))


def test_key_group_and_value_are_uniform_and_independent() -> None:
    a = columns("a", rows=400_000, keys=50, groups=20)
    for name, size in (("key", 50), ("g", 20), ("v", 100)):
        assert 0.5 < chi_square_per_degree(a[name], np.full(size, 1 / size)) < 1.6
    pairs = a["key"] * 20 + a["g"]
    assert 0.8 < chi_square_per_degree(pairs, np.full(1_000, 1 / 1_000)) < 1.2


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_zipf_keys_follow_the_bounded_law(exponent: float) -> None:
    keys = columns("a", rows=400_000, keys=200, zipf=exponent)["key"]
    weights = 1 / np.arange(1, 201) ** exponent
    assert 0.7 < chi_square_per_degree(keys, weights / weights.sum()) < 1.4


def test_zipf_stays_in_its_domain() -> None:
    block = Block(1, "s", 0, 0, 20_000)
    for keys in (1, 2, 7, 100_000):
        drawn = block.zipf("key", keys, 2.0)
        assert drawn.min() >= 0
        assert drawn.max() < keys
    assert zipf_cumulative(7, 2.0)[-1] == 1.0


@pytest.mark.parametrize("selectivity", [0.005, 0.01, 0.25, 1.0])
def test_selectivity_is_the_share_of_pairs_that_match(selectivity: float) -> None:
    a, b = (columns(stream, rows=100_000, selectivity=selectivity)["key"] for stream in "ab")
    size = max(a.max(), b.max()) + 1
    matches = np.bincount(a, minlength=size) @ np.bincount(b, minlength=size)
    assert matches / (len(a) * len(b)) == pytest.approx(selectivity, rel=0.02)


def test_streams_with_different_rates_cover_the_same_time() -> None:
    steps = list(batches("synthetic", rows=100_000, seed=1, streams=3, rows_per_second=(800, 200, 1_000)))
    tables = {stream: pa.concat_tables([step[stream] for step in steps]) for stream in "abc"}
    assert {stream: table.num_rows for stream, table in tables.items()} == {
        "a": 40_000,
        "b": 10_000,
        "c": 50_000,
    }
    ends = [table["ts"][-1].as_py().timestamp() for table in tables.values()]
    assert max(ends) - min(ends) < 0.01


def test_seconds_determine_the_number_of_rows() -> None:
    steps = list(batches("synthetic", seconds=12.5, seed=1, rows_per_second=(10, 100)))
    assert [sum(step[stream].num_rows for step in steps) for stream in "ab"] == [125, 1_250]


@pytest.mark.parametrize("total", [1, 2, 7, 100, 12_345])
def test_rows_are_divided_exactly_between_streams(total: int) -> None:
    shares = share_out(total, {"a": 1.0, "b": 2.5, "c": 0.1})
    assert sum(shares.values()) == total
    assert all(abs(shares[name] - total * weight / 3.6) < 1 for name, weight in (("a", 1), ("b", 2.5), ("c", 0.1)))
