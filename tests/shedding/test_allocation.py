"""The figures of the paper, and the laws of a division: budgets, floors, needs, and that no other gives more."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.errors import UsageError
from joinfold.logical.shedding import Favour
from joinfold.shedding.allocation import GAIN_TO_CHANGE, AllToOne, Demand, Share, allocate, combined, output_rate

FIGURE_5 = (Demand(probes=800, rows=100), Demand(probes=200, rows=200))
FIGURE_6 = (Demand(probes=10, rows=1000), Demand(probes=50, rows=1000))
FIGURE_7 = (Demand(probes=10, rows=100), Demand(probes=10, rows=100))
A, B = AllToOne(0), AllToOne(1)

amounts = st.one_of(st.integers(0, 5), st.integers(1, 20_000)).map(float)
floors = st.integers(0, 10).map(float)
demand = st.builds(Demand, amounts, amounts, floors, floors)
favours = st.one_of(
    st.sampled_from(["most pairs", "rates", "inverse rates", "windows", "equal"]), st.just(A), st.just(B)
)
budgets = st.one_of(st.none(), st.integers(50, 20_000).map(float))


def some(least: int, most: int) -> st.SearchStrategy[list[Demand]]:
    return st.lists(demand, min_size=least, max_size=most)


def granted(demands: Sequence[Demand], shares: Sequence[Share]) -> tuple[list[float], list[float]]:
    both = list(zip(demands, shares, strict=True))
    return [d.probes * share.probes for d, share in both], [d.rows * share.rows for d, share in both]


# --- the paper ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("favour", "expected"),
    [(A, 200), ("rates", 180), ("equal", 150), ("windows", 400 / 3), (B, 100), ("most pairs", 200)],
)
def test_figure_5_divides_100_probes(favour: Favour | AllToOne, expected: float) -> None:
    assert output_rate(FIGURE_5, allocate(FIGURE_5, 100, None, favour), 0.01) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("favour", "expected"),
    [(A, 250), ("inverse rates", 650 / 3), ("equal", 150), ("rates", 250 / 3), (B, 50), ("most pairs", 250)],
)
def test_figure_6_divides_room_for_1000_rows(favour: Favour | AllToOne, expected: float) -> None:
    assert output_rate(FIGURE_6, allocate(FIGURE_6, None, 1000, favour), min(0.005, 0.01)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("of_probes", "of_room", "expected"), [(B, A, 10), (A, B, 10), ("equal", "equal", 5), (A, A, 0), (B, B, 0)]
)
def test_figure_7_divides_10_probes_and_room_for_100_rows(
    of_probes: Favour | AllToOne, of_room: Favour | AllToOne, expected: float
) -> None:
    probes, room = allocate(FIGURE_7, 10, None, of_probes), allocate(FIGURE_7, None, 100, of_room)
    shares = [Share(a.probes, b.rows) for a, b in zip(probes, room, strict=True)]
    assert output_rate(FIGURE_7, shares, 0.01) == pytest.approx(expected)
    if of_probes == of_room:
        assert allocate(FIGURE_7, 10, 100, of_probes) == tuple(shares)


def test_figure_7_most_pairs_gives_one_the_probes_and_the_other_the_room() -> None:
    shares = allocate(FIGURE_7, 10, 100, "most pairs")
    assert output_rate(FIGURE_7, shares, 0.01) == pytest.approx(10)  # σμM
    assert {shares[0], shares[1]} == {Share(1, 0), Share(0, 1)}


def test_a_floor_for_each_stream() -> None:
    """The larger window B is probed by A, which gets all but the ten that are B's."""
    a, b = Demand(300, 500, least_probes=10), Demand(300, 1000, least_probes=10)
    assert granted((a, b), allocate((a, b), 100, None, "most pairs"))[0] == pytest.approx([90, 10])
    a, b = Demand(300, 500), Demand(400, 1000, least_rows=200)
    assert granted((a, b), allocate((a, b), None, 600, "most pairs"))[1] == pytest.approx([400, 200])


def test_what_a_stream_cannot_use_goes_to_the_other() -> None:
    a, b = Demand(30, 500), Demand(300, 1000)
    assert granted((a, b), allocate((a, b), 100, None, "most pairs"))[0] == pytest.approx([30, 70])
    assert granted((a, b), allocate((a, b), 100, None, "equal"))[0] == pytest.approx([30, 70])
    assert granted((a, b), allocate((a, b), 100, None, B))[0] == pytest.approx([0, 100])
    assert granted((a, b), allocate((a, b), 310, None, B))[0] == pytest.approx([10, 300])


def test_a_floor_never_exceeds_what_a_stream_needs() -> None:
    a, b = Demand(30, 500), Demand(5, 1000, least_probes=40)
    assert granted((a, b), allocate((a, b), 33, None, "most pairs"))[0] == pytest.approx([28, 5])


def test_floors_that_exceed_the_budget_are_refused() -> None:
    a, b = Demand(800, 100, least_probes=60), Demand(200, 200, least_probes=50)
    with pytest.raises(UsageError, match="at least 60, 50 probes per second, together more than the budget of 100"):
        allocate((a, b), 100, None, "most pairs")
    with pytest.raises(UsageError, match="at least 3, 5 rows, together more than the budget of 7"):
        allocate((Demand(1, 3, least_rows=9), Demand(1, 50, least_rows=5)), None, 7, "equal")


def test_a_stream_that_brings_nothing_comes_first_by_inverse_rates() -> None:
    idle, slow, fast = Demand(0, 40), Demand(1, 100), Demand(3, 100)
    assert granted((idle, slow, fast), allocate((idle, slow, fast), None, 60, "inverse rates"))[1] == pytest.approx(
        [40, 10, 10]
    )


# --- laws of every division -----------------------------------------------------------------------------------------


@given(some(1, 5), budgets, budgets, favours)
def test_budgets_floors_and_needs_hold(
    demands: list[Demand], probes: float | None, rows: float | None, favour: Favour | AllToOne
) -> None:
    shares = allocate(demands, probes, rows, favour)
    assert all(0 <= share.probes <= 1 and 0 <= share.rows <= 1 for share in shares)
    q, h = granted(demands, shares)
    for budget, parts, needs, least in (
        (probes, q, [d.probes for d in demands], [d.least_probes for d in demands]),
        (rows, h, [d.rows for d in demands], [d.least_rows for d in demands]),
    ):
        for part, need, floor in zip(parts, needs, least, strict=True):
            assert part >= min(floor, need) - 1e-6
        available = sum(needs) if budget is None else min(budget, sum(needs))
        assert sum(parts) == pytest.approx(available)


@given(some(1, 5), favours)
def test_a_budget_that_is_not_exceeded_changes_nothing(demands: list[Demand], favour: Favour | AllToOne) -> None:
    probes, rows = sum(d.probes for d in demands), sum(d.rows for d in demands)
    assert set(allocate(demands, probes, rows, favour)) == {Share()}
    assert set(allocate(demands, None, None, favour)) == {Share()}


@given(some(1, 5), st.integers(50, 20_000), st.sampled_from(["rates", "windows", "equal"]))
def test_streams_between_floor_and_need_get_in_proportion(demands: list[Demand], probes: int, favour: Favour) -> None:
    """There is a level t: a stream that could get more has at least t of its weight, one above its floor at most t."""
    assume(probes < sum(d.probes for d in demands))
    weights = {
        "rates": [d.probes for d in demands],
        "windows": [d.rows for d in demands],
        "equal": [1.0] * len(demands),
    }
    parts, _ = granted(demands, allocate(demands, probes, None, favour))
    known = [(part, weight, d) for part, weight, d in zip(parts, weights[favour], demands, strict=True) if weight]
    could_get_more = [part / weight for part, weight, d in known if part < d.probes - 1e-6]
    above_floor = [part / weight for part, weight, d in known if part > d.least_probes + 1e-6]
    if could_get_more and above_floor:
        assert max(above_floor) <= min(could_get_more) * (1 + 1e-6) + 1e-9


# --- most pairs -----------------------------------------------------------------------------------------------------


@given(some(2, 2), budgets, budgets, st.floats(0, 1), st.floats(0, 1))
def test_no_other_division_among_two_gives_more(
    demands: list[Demand], probes: float | None, rows: float | None, part_of_probes: float, part_of_rows: float
) -> None:
    best = combined(*granted(demands, allocate(demands, probes, rows, "most pairs")))
    q = two_parts(probes, [(d.probes, d.least_probes) for d in demands], part_of_probes)
    h = two_parts(rows, [(d.rows, d.least_rows) for d in demands], part_of_rows)
    assert combined(q, h) <= best * (1 + 1e-9) + 1e-9


def two_parts(budget: float | None, demands: list[tuple[float, float]], part: float) -> list[float]:
    """Any division of a budget between two streams: ``part`` says how far A is between the least and the most."""
    (need_a, floor_a), (need_b, floor_b) = demands
    total = need_a + need_b if budget is None else min(budget, need_a + need_b)
    low = max(min(floor_a, need_a), total - need_b)
    high = min(need_a, total - min(floor_b, need_b))
    of_a = low + part * (high - low)
    return [of_a, total - of_a]


@given(some(2, 5), st.integers(50, 20_000), st.floats(1e-6, 0.5), st.booleans())
def test_no_transfer_of_room_gives_more(demands: list[Demand], rows: int, part: float, of_probes_too: bool) -> None:
    probes = sum(d.probes for d in demands) / 3 + 50 if of_probes_too else None
    q, h = granted(demands, allocate(demands, probes, rows, "most pairs"))
    best = combined(q, h)
    for i, j in permutations(range(len(demands)), 2):
        room = min(h[i] - min(demands[i].least_rows, demands[i].rows), demands[j].rows - h[j])
        other = list(h)
        other[i], other[j] = h[i] - part * room, h[j] + part * room
        assert combined(q, other) <= best * (1 + 1e-6) + 1e-6


@given(some(2, 5), st.integers(50, 20_000), st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
def test_no_other_division_of_room_gives_more(demands: list[Demand], rows: int, weights: list[float]) -> None:
    """Room alone: the best is the best of all, not only of those near it."""
    demands = [Demand(d.probes, d.rows) for d in demands]
    q, h = granted(demands, allocate(demands, None, rows, "most pairs"))
    total = sum(weights[: len(demands)])
    other = [min(rows * weight / total, d.rows) for weight, d in zip(weights, demands, strict=False)]
    assert combined(q, other) <= combined(q, h) * (1 + 1e-6) + 1e-6


@given(some(2, 5), st.integers(50, 20_000))
def test_no_order_of_probes_gives_more(demands: list[Demand], probes: int) -> None:
    q, h = granted(demands, allocate(demands, probes, None, "most pairs"))
    best = combined(q, h)
    for order in permutations(range(len(demands))):
        assert combined(in_order(demands, probes, order), h) <= best * (1 + 1e-9) + 1e-9


@given(some(3, 3), st.integers(50, 20_000), st.integers(50, 20_000))
def test_three_streams_short_of_both_get_the_best_of_all_orders(demands: list[Demand], probes: int, rows: int) -> None:
    """The best probes are those of some order; with the probes fixed, the division of the room is the best of all."""
    demands = [Demand(d.probes, d.rows) for d in demands]
    best = combined(*granted(demands, allocate(demands, probes, rows, "most pairs")))
    for order in permutations(range(3)):
        q = in_order(demands, probes, order)
        fixed = [Demand(rate, d.rows) for rate, d in zip(q, demands, strict=True)]
        of_this_order = combined(*granted(fixed, allocate(fixed, None, rows, "most pairs")))
        assert of_this_order <= best * (1 + 1e-6) + 1e-6


def in_order(demands: Sequence[Demand], probes: float, order: Sequence[int]) -> list[float]:
    """Floors first, then as much as each can use, in this order."""
    parts = [min(d.least_probes, d.probes) for d in demands]
    for i in order:
        parts[i] = min(demands[i].probes, parts[i] + max(probes - sum(parts), 0))
    return parts


@given(some(2, 2), st.integers(50, 20_000))
def test_the_rules_of_thumb(demands: list[Demand], total: int) -> None:
    """Probes go to the stream that meets the larger window, room to the window of the slower stream."""
    a, b = (Demand(d.probes, d.rows) for d in demands)
    q, _ = granted((a, b), allocate((a, b), total, None, "most pairs"))
    _, h = granted((a, b), allocate((a, b), None, total, "most pairs"))
    if a.rows != b.rows:
        first = 0 if b.rows > a.rows else 1
        assert q[first] == pytest.approx(min((a, b)[first].probes, total))
    if a.probes != b.probes:
        first = 0 if a.probes < b.probes else 1
        assert h[first] == pytest.approx(min((a, b)[first].rows, total))


@given(some(2, 4), st.lists(st.sampled_from([0.5, 1.0, 3.0, 7.0]), min_size=4, max_size=4), budgets, budgets)
def test_rows_of_other_sizes(
    demands: list[Demand], sizes: list[float], probes: float | None, room: float | None
) -> None:
    """Sizes that are all alike change nothing but the unit, and of unlike ones no transfer of room gives more."""
    demands = [replace(d, least_rows=0.0) for d in demands]
    alike = [replace(d, row_size=4.0) for d in demands]
    one, other = (
        combined(*granted(some_demands, allocate(some_demands, probes, total, "most pairs")))
        for some_demands, total in ((demands, room), (alike, None if room is None else 4 * room))
    )
    assert one == pytest.approx(other)
    unlike = [replace(d, row_size=size) for d, size in zip(demands, sizes, strict=False)]
    for favour in ("most pairs", "equal", "windows"):
        q, h = granted(unlike, allocate(unlike, probes, room, favour))
        used = sum(rows * d.row_size for rows, d in zip(h, unlike, strict=True))
        needed = sum(d.rows * d.row_size for d in unlike)
        assert used == pytest.approx(needed if room is None else min(room, needed))
    q, h = granted(unlike, allocate(unlike, probes, room, "most pairs"))
    for i, j in permutations(range(len(unlike)), 2):
        moved = 0.01 * min(h[i] * unlike[i].row_size, (unlike[j].rows - h[j]) * unlike[j].row_size)
        changed = list(h)
        changed[i], changed[j] = h[i] - moved / unlike[i].row_size, h[j] + moved / unlike[j].row_size
        assert combined(q, changed) <= combined(q, h) * (1 + 1e-6) + 1e-6


def test_a_division_stays_until_another_gives_clearly_more() -> None:
    a, b = Demand(100, 1000), Demand(101, 1000)
    first = allocate((a, b), None, 500, "most pairs")
    assert [share.rows for share in first] == [0.5, 0]
    nearly, clearly = Demand(99 * GAIN_TO_CHANGE, 1000), Demand(103 * GAIN_TO_CHANGE, 1000)
    assert allocate((nearly, b), None, 400, "most pairs", before=first) == (Share(1, 0.4), Share(1, 0))
    assert allocate((clearly, b), None, 400, "most pairs", before=first) == (Share(1, 0), Share(1, 0.4))
    assert allocate((clearly, b), None, 400, "most pairs", before=(Share(), Share())) == (Share(1, 0), Share(1, 0.4))


@given(some(2, 4), budgets, budgets, some(2, 4))
def test_keeping_a_division_costs_little(
    demands: list[Demand], probes: float | None, rows: float | None, earlier: list[Demand]
) -> None:
    assume(len(earlier) == len(demands))
    before = allocate(earlier, 60, 60, "most pairs")
    kept = combined(*granted(demands, allocate(demands, probes, rows, "most pairs", before)))
    best = combined(*granted(demands, allocate(demands, probes, rows, "most pairs")))
    assert best <= kept * GAIN_TO_CHANGE * (1 + 1e-9) + 1e-9
