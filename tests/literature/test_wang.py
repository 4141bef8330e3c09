"""The formulas by hand, and the shapes of the paper's figures: which method is the cheaper, and what grows."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.literature import wang
from joinfold.literature.wang import ManyStreams, Method, WangWeights, Workload

METHODS: tuple[Method, ...] = get_args(Method)
LOAD = Workload(rows_a=60, rows_b=100, selectivity=0.05, buckets=20, expired_a=2, expired_b=3)
ROW_BYTES = 18

counts = st.floats(0, 1e5)
loads = st.builds(Workload, counts, counts, st.floats(0, 1), st.integers(1, 1000), counts, counts)


def times(load: Workload) -> dict[str, float]:
    return {method: wang.time_per_arrival(method, load) for method in METHODS}


def spaces(load: Workload) -> dict[str, float]:
    return {method: wang.space_bytes(method, load) for method in METHODS}


def falls(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))


def rises(values: list[float]) -> bool:
    return falls([-value for value in values])


@pytest.mark.parametrize(
    ("method", "scan", "chain"),
    [
        ("pc", 60 + 100 + 5 + 0.05 * 60 * 100, 5 + 300),
        ("ic", 60 + 100 + 5 + 2 * 5 + 3 * 3 + 2 * 3, 5 + 10 + 9 + 6),
        ("tc", 120 + 200 + 5, 5),
    ],
)
def test_time_per_arrival(method: Method, scan: float, chain: float) -> None:
    assert wang.time_per_arrival(method, LOAD) == pytest.approx(scan)
    assert wang.time_per_arrival(method, LOAD, "chain") == pytest.approx(chain)
    assert wang.time_per_arrival(method, LOAD, weights=WangWeights(visit=0.5)) == pytest.approx(scan / 2)


def test_time_per_second_counts_the_arrivals_of_both() -> None:
    """On B the bucket of A is probed: 3 rows instead of 5."""
    assert wang.time_per_second("tc", LOAD, rate_a=10, rate_b=1) == pytest.approx(10 * 325 + 323)
    assert wang.time_per_second("ic", LOAD, rate_a=0, rate_b=1, upkeep="chain") == pytest.approx(3 + 9 + 10 + 6)


@given(loads)
def test_chains_and_running_totals_save_the_visits_of_whole_windows(load: Workload) -> None:
    for method, passes in (("pc", 1), ("ic", 1), ("tc", 2)):
        saved = wang.time_per_arrival(method, load) - wang.time_per_arrival(method, load, "chain")
        assert saved == pytest.approx(passes * (load.rows_a + load.rows_b), rel=1e-6, abs=1e-3)
    assert wang.time_per_arrival("tc", load, "chain") <= wang.time_per_arrival("ic", load, "chain")


def test_space_by_hand() -> None:
    weights = WangWeights(row_bytes_a=10, row_bytes_b=20, pair_bytes=7, charge_bytes=3)
    assert wang.space_bytes("pc", LOAD, weights) == 600 + 2000 + 300 * 7
    assert wang.space_bytes("ic", LOAD, weights) == 600 + 2000 + 2 * 10 + 3 * 20
    assert wang.space_bytes("tc", LOAD, weights) == 600 + 2000 + 160 * 3


def steady(rows_per_second: float, seconds: float, selectivity: float) -> Workload:
    return Workload(rows_per_second * seconds, rows_per_second * seconds, selectivity, buckets=20)


FIGURE_2 = [steady(100 / ROW_BYTES, seconds, 0.05) for seconds in range(10, 101, 10)]
FIGURE_6 = [steady(100, seconds, 0.01) for seconds in range(10, 101, 10)]


@pytest.mark.parametrize("figure", [FIGURE_2, FIGURE_6], ids=["figure 2", "figure 6"])
def test_larger_windows(figure: list[Workload]) -> None:
    measured = [times(load) for load in figure]
    assert all(time["ic"] < time["tc"] < time["pc"] for time in measured)
    growth = {method: measured[-1][method] - measured[0][method] for method in METHODS}
    assert 0 < growth["ic"] < growth["tc"] < growth["pc"]
    steps = [after["pc"] - before["pc"] for before, after in pairwise(measured)]
    assert rises(steps)  # PC bends upwards, the others are straight


@given(loads)
def test_pairs_are_slower_than_charges_once_there_are_more_of_them_than_rows(load: Workload) -> None:
    difference = load.pairs - (load.rows_a + load.rows_b)
    found = wang.time_per_arrival("pc", load) - wang.time_per_arrival("tc", load)
    assert found == pytest.approx(difference, rel=1e-6, abs=1e-2)


def test_figure_3_memory_by_window_size() -> None:
    measured = [spaces(load) for load in FIGURE_2]
    assert all(space["ic"] <= space["tc"] < space["pc"] for space in measured)
    assert rises([space["pc"] / space["tc"] for space in measured])
    assert measured[-1]["pc"] > 3 * measured[-1]["tc"]


def slowing_down() -> list[Workload]:
    """Windows of 20 s that were filled at 500 bytes per second; then 500/i² bytes come in second i = 1…5.

    What expires came at the old rate, so i² rows of each stream expire with an arrival of second i.
    """
    rate, found = 500 / ROW_BYTES, []
    for second in range(1, 6):
        rows = rate * (20 - second) + sum(rate / earlier**2 for earlier in range(1, second + 1))
        found.append(Workload(rows, rows, 0.05, 20, expired_a=second**2, expired_b=second**2))
    return found


def test_figure_4_a_stream_that_slows_down() -> None:
    measured = [times(load) for load in slowing_down()]
    assert falls([time["pc"] for time in measured])
    assert falls([time["tc"] for time in measured])
    assert rises([time["ic"] for time in measured])
    assert measured[0]["ic"] < measured[0]["tc"] and measured[-1]["ic"] > measured[-1]["tc"]
    assert all(max(time["ic"], time["tc"]) < time["pc"] for time in measured)


def test_figure_5_memory_of_a_stream_that_slows_down() -> None:
    measured = [spaces(load) for load in slowing_down()]
    for method in ("pc", "tc"):
        assert falls([space[method] for space in measured])
    assert all(max(space["ic"], space["tc"]) < space["pc"] / 2 for space in measured)


def alike(streams: int, window_rows: float, selectivity: float) -> ManyStreams:
    return ManyStreams((window_rows,) * streams, (selectivity,) * (streams - 1), (ROW_BYTES,) * streams)


def test_figure_7_combinations_explode_where_an_arrival_finds_more_than_one_match() -> None:
    """10 s at 100 rows per second and selectivity .01: 10 matches in each further window."""
    many = [alike(streams, 1000, 0.01) for streams in range(2, 8)]
    ratios = [wang.mpc_space_bytes(streams) / wang.mtc_space_bytes(streams) for streams in many]
    assert ratios[0] > 1.5 and ratios[-1] > 10_000
    assert rises(ratios) and rises([after / before for before, after in pairwise(ratios)])
    charges = [wang.mtc_space_bytes(streams) for streams in many]
    assert charges == pytest.approx([streams * 1000 * 22 for streams in range(2, 8)])


def test_combinations_die_out_where_an_arrival_finds_less_than_one_match() -> None:
    """10 s at 100 bytes per second: 56 rows, and half a match in each further window."""
    many = [alike(streams, 1000 / ROW_BYTES, 0.01) for streams in range(2, 8)]
    assert falls([streams.combinations for streams in many])
    assert all(wang.mpc_space_bytes(streams) < wang.mtc_space_bytes(streams) for streams in many)


def test_two_streams_are_many_streams() -> None:
    two = ManyStreams((60, 100), (0.05,), (ROW_BYTES, ROW_BYTES))
    assert wang.mpc_space_bytes(two) == pytest.approx(wang.space_bytes("pc", LOAD))
    assert wang.mtc_space_bytes(two) == pytest.approx(wang.space_bytes("tc", LOAD))
