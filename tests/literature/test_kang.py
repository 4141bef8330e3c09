"""The printed tables and figures of the paper, and the laws that they follow from."""

from itertools import product
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.literature import kang
from joinfold.literature.kang import Combination, KangWeights, Workload

TABLE_3 = """
A    B    λa  λb  HH   TT    HT    TH    HN     NH      TN     NT
9500 500  2   998 7.06 9.56  10.89 5.74  5.99   2845.87 4.67   2849.69
7000 3000 800 200 7.06 11.85 6.46  12.46 722.39 424.87  727.78 424.27
4000 6000 550 450 7.06 11.60 8.93  9.73  993.42 543.84  996.09 545.71
"""
HEAD, *ROWS = [line.split() for line in TABLE_3.strip().splitlines()]
LOADS = [Workload(*map(float, row[:4])) for row in ROWS]

whole = st.integers(1, 20_000)
loads = st.builds(Workload, whole, whole, whole, whole)
some_weights = st.builds(
    KangWeights,
    **{name: st.floats(1e-5, 1e-2) for name in KangWeights.__slots__ if name.endswith(("probe", "update"))},
    bucket_rows=st.integers(1, 100),
    node_rows=st.integers(2, 200),
)


def names(ranges: tuple[kang.WinningRange, ...]) -> list[str]:
    return [range_.combination.name for range_ in ranges]


@pytest.mark.parametrize(("load", "row"), list(zip(LOADS, ROWS, strict=True)))
def test_the_printed_costs_to_the_last_digit(load: Workload, row: list[str]) -> None:
    assert [f"{kang.join_cost(Combination.of(name), load):.2f}" for name in HEAD[4:]] == row[4:]


def test_the_winners_of_the_table() -> None:
    assert [kang.best_combination(load, kang.COMPARED_BY_KANG).name for load in LOADS] == ["TN", "HT", "HH"]
    assert [kang.best_combination(load).name for load in LOADS] == ["BN", "HT", "HH"]


def test_a_direction_by_hand() -> None:
    """4 leaves of 100 rows below one root; a T-tree of 4 nodes; 7 steps of a binary search in each node."""
    assert kang.direction_cost("list", 400, 10, 3) == pytest.approx(10 * 400 * 3e-4 + 2 * 3 * 1e-4)
    assert kang.direction_cost("hash", 400, 10, 3) == pytest.approx(10 * 10 * 5.5e-4 + 2 * 3 * 7.8e-4)
    assert kang.direction_cost("btree", 400, 10, 3) == pytest.approx(10 * 14 * 2.6e-4 + 2 * 3 * 14 * 2.6e-4)
    assert kang.direction_cost("ttree", 400, 10, 3) == pytest.approx(10 * 8.5 * 2.6e-4 + 2 * 3 * 8.5 * 2.7e-4)


@pytest.mark.parametrize(("rows", "levels"), [(4, 0), (5, 1), (20, 1), (21, 2), (100, 2), (500, 3), (501, 4)])
def test_a_tree_that_is_exactly_full_has_no_level_more(rows: int, levels: int) -> None:
    """Nodes of 4 rows have 5 children, and by logarithms 125 leaves would need 4 levels."""
    assert kang.probe_cost("btree", rows, KangWeights(btree_probe=1, node_rows=4)) == (levels + 1) * 2


@pytest.mark.parametrize(("rows", "touched"), [(0, 7), (1, 7), (100, 7), (101, 7), (200, 7), (201, 8.5)])
def test_a_tree_of_one_node_is_a_binary_search(rows: int, touched: float) -> None:
    assert kang.probe_cost("ttree", rows, KangWeights(ttree_probe=1)) == touched


@given(loads, some_weights)
def test_the_best_of_each_window_is_the_best_of_all_pairs(load: Workload, weights: KangWeights) -> None:
    pairs = [Combination(*pair) for pair in product(kang.FOR_EQUALITY, repeat=2)]
    cheapest = min(kang.join_cost(pair, load, weights) for pair in pairs)
    assert kang.join_cost(kang.best_combination(load, weights=weights), load, weights) == pytest.approx(cheapest)


@pytest.mark.parametrize("rows", [100, 500, 3000, 5000, 9500])
def test_crossovers_in_closed_form(rows: int) -> None:
    assert kang.crossover("list", "hash", rows) == pytest.approx(13.6 / (3 * rows - 55))
    nodes, search = ceil(log2(ceil(rows / 100))), 7
    if nodes:
        hash_and_ttree = (8.1 * nodes + 5.4 * search - 23.7) / (58.9 - 3.9 * nodes - 2.6 * search)
        assert kang.crossover("hash", "ttree", rows) == pytest.approx(hash_and_ttree)


def test_crossovers_as_printed() -> None:
    ratio = kang.crossover("list", "hash", 500)
    assert ratio is not None and f"{ratio:.4f}" == "0.0094" and int(1 / ratio) == 106
    assert kang.crossover("list", "hash", 18) is None  # 54 < 55: a list that short wins at every ratio
    assert kang.crossover("list", "hash", 19) is not None
    assert kang.crossover("hash", "hash", 500) is None


def test_winners_as_one_stream_grows_faster_than_the_other() -> None:
    ranges = kang.winning_ranges(5000, 5000, kang.COMPARED_BY_KANG)
    assert names(ranges) == ["TN", "TH", "HH", "HT", "NT"]
    assert [f"{range_.to_share:.1%}" for range_ in ranges] == ["0.1%", "21.6%", "78.4%", "99.9%", "100.0%"]
    assert names(kang.winning_ranges(5000, 5000)) == ["BN", "BH", "HH", "HB", "NB"]
    assert names(kang.winning_ranges(5000, 5000, kang.FOR_INEQUALITY)) == ["BN", "BB", "NB"]


def test_small_buckets_leave_no_room_for_trees() -> None:
    assert names(kang.winning_ranges(5000, 5000, kang.COMPARED_BY_KANG, KangWeights(bucket_rows=2))) == [
        "HN",
        "HH",
        "NH",
    ]


def test_each_crossover_depends_on_one_window() -> None:
    """A larger A and a smaller B: the paper says that all four move right; by its formulas those of T-trees do not."""
    equal = kang.winning_ranges(5000, 5000, kang.COMPARED_BY_KANG)
    unlike = kang.winning_ranges(9000, 1000, kang.COMPARED_BY_KANG)
    assert names(unlike) == names(equal)
    moves = [after.to_share - before.to_share for before, after in zip(equal[:-1], unlike[:-1], strict=True)]
    assert [move > 0 for move in moves] == [True, False, False, True]


@given(whole, whole, some_weights, st.floats(0.001, 0.999))
def test_winning_ranges_cover_all_shares_with_their_winners(a: int, b: int, weights: KangWeights, share: float) -> None:
    ranges = kang.winning_ranges(a, b, weights=weights)
    assert (ranges[0].from_share, ranges[-1].to_share) == (0, 1)
    range_ = next(range_ for range_ in ranges if share <= range_.to_share)
    load = Workload(a, b, share, 1 - share)
    best = kang.best_combination(load, weights=weights)
    assert kang.join_cost(range_.combination, load, weights) == pytest.approx(kang.join_cost(best, load, weights))


@pytest.mark.parametrize(("first", "second"), [("TN", "TH"), ("TH", "HH"), ("HH", "HT"), ("HT", "NT")])
def test_the_solver_finds_what_the_closed_forms_give(first: str, second: str) -> None:
    closed = {
        range_.combination.name: range_.to_share for range_ in kang.winning_ranges(4000, 6000, kang.COMPARED_BY_KANG)
    }
    found = kang.crossover_share(
        Combination.of(first), Combination.of(second), lambda share: Workload(4000, 6000, share, 1 - share)
    )
    assert found == pytest.approx(closed[first])


def test_the_solver_follows_windows_that_grow_with_their_rate() -> None:
    """Windows of 5 seconds, 1000 rows per second together: the closed form holds for the window that is found."""

    def five_seconds(share: float) -> Workload:
        return Workload(5000 * share, 5000 * (1 - share), 1000 * share, 1000 * (1 - share))

    list_on_b, hash_on_b = Combination.of("HN"), Combination.of("HH")
    share = kang.crossover_share(list_on_b, hash_on_b, five_seconds, high=0.5)
    assert share is not None
    on_b = five_seconds(share).rows_b
    assert share / (1 - share) == pytest.approx(13.6 / (3 * on_b - 55))
    assert kang.crossover_share(list_on_b, hash_on_b, five_seconds, low=0.01, high=0.5) is None
