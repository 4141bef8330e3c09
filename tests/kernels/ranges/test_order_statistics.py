"""Sums over ranges against a dictionary of payloads, through growth, removal, shared places, wrapping and rounding."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.ranges.order_statistics import FEW, OrderStatistics
from tests.kernels.test_aggregation_set import HALF_WORD, LARGEST, int64s, wrap

Entry = tuple[int, int, int, int, int, int]
"""key, group, code, rows, an integer, a whole double"""
Probe = tuple[int, int, int]
"""key, low, high"""
Sums = dict[tuple[int, int], tuple[list[int], Fraction, float]]
"""of an entry and a group: integers, the double-double, its weight"""

EVERYTHING = (-HALF_WORD, LARGEST)

codes = st.integers(-4, 4) | st.sampled_from([-HALF_WORD, -HALF_WORD + 1, LARGEST - 1, LARGEST])
whole = st.integers(-(2**40), 2**40)
entries = st.tuples(st.integers(0, 3), st.integers(0, 4), codes, st.integers(-1, 2), int64s, whole)
batches = st.lists(entries, max_size=25)
steps = st.lists(st.tuples(batches, st.sampled_from([1, -1]), st.booleans()), max_size=6)
probes = st.lists(st.tuples(st.integers(0, 5), codes, codes), max_size=8)
chunks = st.integers(1, 3) | st.just(65536)


def arrays(batch: Iterable[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    table = [list(column) for column in zip(*batch, strict=True)] or [[]] * 6
    return (
        np.array(table[0], np.int32),
        np.array(table[1], np.int32),
        np.array(table[2], np.int64),
        np.array(table[3:5], np.int64).T,
        np.array([table[5], [0] * len(table[5])], np.float64).T,
    )


def sums_of(held: OrderStatistics, wanted: list[Probe], chunk: int = 65536) -> Sums:
    """All rows that the probes find; every piece but the last is full, and rows come in order."""
    kid, low, high = (np.array([probe[place] for probe in wanted], np.int64) for place in range(3))
    pieces = list(held.ranges(kid.astype(np.int32), low, high, chunk))
    assert all(len(piece.delta) == chunk for piece in pieces[:-1])
    assert all(0 < len(piece.delta) <= chunk for piece in pieces)
    found: Sums = {}
    for piece in pieces:
        assert piece.delta.dtype == np.int64 and piece.group.dtype == np.int32
        columns = (piece.delta, piece.group, piece.ints, piece.dds, piece.weights)
        for delta, group, ints, (hi, lo), (weight,) in zip(*(column.tolist() for column in columns), strict=True):
            assert (delta, group) not in found
            found[delta, group] = (ints, Fraction(hi) + Fraction(lo), weight)
    assert list(found) == sorted(found)
    return found


class Twin:
    """The same as a dictionary of places; sums of whole doubles are integers and exact."""

    def __init__(self) -> None:
        self.payloads: dict[tuple[int, int, int], list[int]] = {}

    def update(self, batch: Iterable[Entry], sign: int) -> None:
        for key, group, code, *payload in batch:
            leaf = self.payloads.setdefault((key, group, code), [0, 0, 0, 0])
            for column, value in enumerate((*payload, abs(payload[2]))):
                leaf[column] += sign * value
            if leaf[0] == 0:
                del self.payloads[key, group, code]

    def sums_of(self, wanted: list[Probe]) -> Sums:
        totals: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for delta, (key, low, high) in enumerate(wanted):
            for (owner, group, code), payload in self.payloads.items():
                if owner == key and low <= code <= high:
                    for column, value in enumerate(payload):
                        totals[delta, group][column] += value
        return {
            row: ([rows, wrap(value)], Fraction(total), float(weight))
            for row, (rows, value, total, weight) in totals.items()
            if rows != 0
        }

    def largest_sum(self) -> int:
        """The largest |Σ integers| over any range of places, without wrapping."""
        segments: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (key, group, _), payload in sorted(self.payloads.items()):
            segments[key, group].append(payload[1])
        return max(
            (
                abs(sum(values[begin:end]))
                for values in segments.values()
                for begin in range(len(values))
                for end in range(begin + 1, len(values) + 1)
            ),
            default=0,
        )


@given(steps, probes, chunks)
def test_ranges_are_those_of_a_dictionary(
    changes: list[tuple[list[Entry], int, bool]], wanted: list[Probe], chunk: int
) -> None:
    held, twin = OrderStatistics(2, 1), Twin()
    wanted = [*wanted, *((key, *EVERYTHING) for key in range(5))]
    seen = 0
    for batch, sign, placed in changes:
        kid, gid, code, ints, dds = arrays(batch)
        if placed:
            held.place(kid, gid, code)
        held.update(kid, gid, code, ints, dds, sign)
        twin.update(batch, sign)
        seen = max([seen, *(group + 1 for _, group, *_ in batch)])
        assert sums_of(held, wanted, chunk) == twin.sums_of(wanted)
        assert held.live_entries == len(twin.payloads) and held.groups == seen


@given(st.data(), chunks)
def test_a_window_that_empties_in_any_order_and_fills_again(data: st.DataObject, chunk: int) -> None:
    held, twin = OrderStatistics(2, 1), Twin()
    window = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(1, 2), whole, whole), max_size=20))
    wanted = [(key, low, high) for key in range(3) for low in range(3) for high in range(-1, 4)]
    for _ in range(2):
        held.place(*arrays(window)[:3])
        for entry in window:
            held.update(*arrays([entry]), 1)
            twin.update([entry], 1)
        for entry in data.draw(st.permutations(window)):
            assert sums_of(held, wanted, chunk) == twin.sums_of(wanted)
            held.update(*arrays([entry]), -1)
            twin.update([entry], -1)
        assert held.live_entries == 0 and sums_of(held, wanted) == {}
        assert not held.has_drifted


def test_long_segments_and_keys_with_many_groups() -> None:
    rng = np.random.default_rng(5)
    held, twin = OrderStatistics(2, 1), Twin()
    window: list[list[Entry]] = []
    for step in range(12):
        columns = (rng.integers(0, bound, 300) for bound in (2, 1 + 40 * (step % 2), 100, 2, 99, 99))
        key, group, code, rows, value, real = (column.tolist() for column in columns)
        rows = [many + 1 for many in rows]
        window.append(list(zip(key, group, code, rows, value, real, strict=True)))
        held.update(*arrays(window[-1]), 1)
        twin.update(window[-1], 1)
        if len(window) > 5:
            leaving = window.pop(0)
            held.update(*arrays(leaving), -1)
            twin.update(leaving, -1)
        bounds = np.sort(rng.integers(-5, 105, (20, 2)))
        wanted = [(place % 3, low, high) for place, (low, high) in enumerate(bounds.tolist())]
        expected = twin.sums_of(wanted)
        assert sums_of(held, wanted, 7) == expected and len(expected) > 12


def test_a_range_is_inclusive_and_may_be_empty() -> None:
    held = OrderStatistics(2, 1)
    held.update(*arrays([(0, 0, code, 1, code % 7, 0) for code in (-HALF_WORD, -1, 5, LARGEST)]), 1)
    cases = {
        (-1, 5): 2, (0, 4): 0, (5, -1): 0, EVERYTHING: 4, (-HALF_WORD, -HALF_WORD): 1, (LARGEST, LARGEST): 1,
        (-HALF_WORD + 1, LARGEST - 1): 2, (LARGEST, -HALF_WORD): 0, (6, LARGEST): 1,
    }  # fmt: skip
    found = sums_of(held, [(0, *bounds) for bounds in cases], 1)
    assert {case: found[entry, 0][0][0] if (entry, 0) in found else 0 for entry, case in enumerate(cases)} == cases


giants = st.sampled_from([1e300, -1e300, 1e17, 1e-300, 0.1])


@given(st.data())
def test_giants_at_other_places_leave_nothing_behind(data: st.DataObject) -> None:
    """Whole numbers and giants at places of their own: sums without giants are exact, before and after these leave."""
    values = data.draw(st.lists(giants | st.integers(-(2**50), 2**50).map(float), max_size=12))
    is_giant = [not value.is_integer() or abs(value) > 2**50 for value in values]
    held, zero = OrderStatistics(1, 1), np.zeros(1, np.int32)

    def change(code: int, sign: int) -> None:
        payload = np.ones((1, 1), np.int64), np.array([[values[code], 0.0]])
        held.update(zero, zero, np.array([code]), *payload, sign)

    def check(alive: set[int]) -> None:
        for low in range(len(values)):
            for high in range(low, len(values)):
                inside = sorted(alive & set(range(low, high + 1)))
                if not any(is_giant[code] for code in inside):
                    truth = Fraction(sum(Fraction(values[code]) for code in inside))
                    weight = sum(abs(values[code]) for code in inside)
                    expected = {(0, 0): ([len(inside)], truth, weight)} if inside else {}
                    assert sums_of(held, [(0, low, high)]) == expected

    for code in data.draw(st.permutations(range(len(values)))):
        change(code, 1)
    check(set(range(len(values))))
    for code in (code for code in range(len(values)) if is_giant[code]):
        change(code, -1)
    check({code for code in range(len(values)) if not is_giant[code]})
    assert not held.has_drifted


def drifted_after(changes: list[tuple[float, int]], moving: bool) -> tuple[bool, Fraction | None]:
    """Whether it has drifted by doubles that come and go at one place, which may move, and the sum there."""
    held, zero = OrderStatistics(1, 1), np.zeros(1, np.int32)
    for step, (value, sign) in enumerate(changes, 1):
        if moving:
            held.place(zero, zero, np.array([-step]))
        held.update(zero, zero, np.zeros(1, np.int64), np.ones((1, 1), np.int64), np.array([[value, 0.0]]), sign)
    found = list(held.ranges(zero, np.zeros(1, np.int64), np.zeros(1, np.int64)))
    if not found or not np.isfinite(found[0].dds).all():
        return held.has_drifted, None
    return held.has_drifted, sum(map(Fraction, found[0].dds[0].tolist()), Fraction(0))


@pytest.mark.parametrize("moving", [False, True])
def test_a_giant_at_the_same_place_is_noticed(moving: bool) -> None:
    """What it took with it cannot be known, only that it did."""
    arrive, leave = [(1e40, 1), (1e18, 1), (0.1, 1)], [(1e18, -1), (1e40, -1)]
    assert drifted_after(arrive, moving)[0] is False
    assert drifted_after(arrive + leave, moving)[0] is True
    assert drifted_after([*arrive, *leave, (0.1, -1)], moving) == (False, None)
    assert drifted_after([*arrive, *leave, (0.1, -1), (0.3, 1)], moving) == (False, Fraction(0.3))
    assert drifted_after([*arrive, *leave, (0.1, -1), (0.3, 1), (0.3, -1)], moving) == (False, None)
    assert drifted_after([*arrive, (1e18, -1), (-1e40, 1)], moving)[0] is False  # they are still there
    assert drifted_after([(1e308, 1), (1e308, 1), (1e308, -1)], moving) == (True, None)


@pytest.mark.parametrize("moving", [False, True])
def test_what_needs_no_rounding_is_never_in_doubt(moving: bool) -> None:
    assert drifted_after([(0.0, 1), (5.0, 1), (5.0, -1)], moving) == (False, 0)
    assert drifted_after([(0.0, 1), (0.1, 1), (0.3, 1), (0.1, -1), (0.3, -1)], moving) == (False, 0)
    assert drifted_after([(1e16, 1), (1.0, 1), (1e16, -1)], moving) == (False, 1)


doubles = st.tuples(st.integers(-(2**53), 2**53), st.integers(-300, 300) | st.integers(-60, 60)).map(
    lambda parts: parts[0] * 2.0 ** parts[1]
)


@given(st.data())
def test_what_has_not_drifted_is_right(data: st.DataObject) -> None:
    """Doubles of any size come and go at one place; the truth is the sum of Fractions."""
    values = data.draw(st.lists(doubles, max_size=8))
    changes = [(value, 1) for value in values]
    leaving = data.draw(st.permutations(values))
    changes += [(value, -1) for value in leaving]
    for many in range(len(changes)):
        has_drifted, found = drifted_after(changes[:many], moving=False)
        there = values[:many] if many <= len(values) else leaving[many - len(values) :]
        if there and not has_drifted:
            assert found is not None
            assert abs(found - sum(map(Fraction, there))) <= Fraction(1e-9) * sum(abs(Fraction(x)) for x in there)


@given(st.lists(st.tuples(st.lists(entries, max_size=12), st.sampled_from([1, -1])), max_size=5))
def test_below_the_largest_magnitude_nothing_has_wrapped(changes: list[tuple[list[Entry], int]]) -> None:
    held, twin, most, all_that_came = OrderStatistics(2, 1), Twin(), 0, 0
    for batch, sign in changes:
        held.update(*arrays(batch), sign)
        twin.update(batch, sign)
        codes = sorted({code for _, _, code in twin.payloads})
        sums_of(held, [(key, low, high) for key in range(4) for low in codes for high in codes])
        most = max(most, twin.largest_sum())
        all_that_came += sum(abs(entry[4]) for entry in batch)
        assert min(most, LARGEST) <= held.largest_magnitude[1] <= min(all_that_came, LARGEST)


def test_a_range_may_wrap_where_no_node_does() -> None:
    held, zeros = OrderStatistics(2, 0), np.zeros(4, np.int32)
    ints = np.array([[1, -LARGEST + 1], [1, LARGEST - 1], [1, LARGEST - 1], [1, -LARGEST + 1]])
    held.update(zeros, zeros, np.arange(4), ints, np.zeros((4, 0)), 1)
    assert held.largest_magnitude.tolist() == [4, LARGEST - 1]
    (piece,) = held.ranges(zeros[:1], np.array([1]), np.array([2]))
    assert piece.ints.tolist() == [[2, -4]] and held.largest_magnitude.tolist() == [4, LARGEST]


def test_places_that_wait_are_built_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilt = []
    original = OrderStatistics._rebuild
    monkeypatch.setattr(
        OrderStatistics, "_rebuild", lambda held, *new: rebuilt.append(len(new[0])) or original(held, *new)
    )
    held = OrderStatistics(2, 1)
    first = [(0, 0, code, 1, 1, 1) for code in range(-5, 5)]
    second = [(0, group, code, 1, 1, 1) for code in range(20) for group in range(2)]
    held.place(*arrays(first)[:3])
    held.place(*arrays(second + second)[:3])
    for entry in first + second:
        held.update(*arrays([entry]), 1)
    assert rebuilt == [10, 70]  # the second time with repetitions
    held.update(*arrays(first + second), -1)
    held.place(*arrays(first)[:3])
    held.update(*arrays([(1, 0, 0, 1, 1, 1)]), 1)  # leaves the places away that nobody announced again
    held.update(*arrays(first), 1)
    assert rebuilt == [10, 70, 1]
    held.update(*arrays(second), 1)
    assert rebuilt == [10, 70, 1, 35] and held.live_entries == 1 + 45


def test_memory_follows_the_window() -> None:
    held, sizes = OrderStatistics(2, 1), []
    batches = [[(step % 7, step % 3, 1000 * step + code, 1, 1, 1) for code in range(200)] for step in range(60)]
    for step, batch in enumerate(batches):
        held.update(*arrays(batch), 1)
        if step >= 10:
            held.update(*arrays(batches[step - 10]), -1)
        sizes.append(held.bytes_held)
    assert max(sizes[30:]) <= max(sizes[:30]) and held.live_entries == 2000
    for batch in batches[-10:]:
        held.update(*arrays(batch), -1)
    assert held.live_entries == 0 and held.bytes_held <= sizes[-1] * FEW / 1500


def test_what_enters_and_leaves_at_once_leaves_no_memory_behind() -> None:
    held = OrderStatistics(2, 1)
    everything = arrays([(0, 0, code, 1, 1, 1) for code in range(5 * FEW)])
    held.place(*everything[:3])
    held.update(*everything, 1)
    full = held.bytes_held
    held.update(*everything, -1)
    assert held.live_entries == 0 and held.bytes_held < full / 100


def test_a_negative_id_is_our_mistake() -> None:
    minus, zero, code = np.array([-1], np.int32), np.zeros(1, np.int32), np.zeros(1, np.int64)
    held = OrderStatistics(1, 0)
    for kid, gid in ((minus, zero), (zero, minus)):
        with pytest.raises(AssertionError, match="ids begin at 0"):
            held.update(kid, gid, code, np.ones((1, 1), np.int64), np.zeros((1, 0)), 1)
        with pytest.raises(AssertionError, match="ids begin at 0"):
            held.place(kid, gid, code)


def test_arrays_that_may_not_be_written_and_those_that_are_not_contiguous_do() -> None:
    held = OrderStatistics(1, 0)
    kid, gid = np.array([3, 9, 3, 9], np.int32)[::2], np.array([1, 2], np.int32)
    gid.flags.writeable = False
    held.update(kid, gid, np.array([4, 0, 6, 0])[::2], np.ones((1, 2), np.int64).T, np.zeros((2, 0)), 1)
    (piece,) = held.ranges(kid, np.array([5, 0, 0])[::2], np.array([9, 0, 4])[::2])
    assert piece.delta.tolist() == [0, 1] and piece.group.tolist() == [2, 1] and piece.ints.tolist() == [[1], [1]]
    assert piece.dds.shape == (2, 0) and piece.weights.shape == (2, 0)
