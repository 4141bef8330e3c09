"""Every formula of window.py against the definition, as drawings or instant by instant."""

import re
from collections.abc import Callable
from math import gcd
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import UsageError
from joinfold.timetext import LONGEST_US, UNITS_US, timestamp_us
from joinfold.window import (
    Continuous,
    Grid,
    Landmark,
    PartitionedRows,
    RangeByRows,
    Rows,
    Sliding,
    Window,
    common,
    earlier_neighbour,
    last_of,
    merge,
    next_of,
    slot,
    subwindows_of,
    windows_of,
)

TimeWindow = Sliding | Continuous | Landmark

SECOND, MINUTE = UNITS_US["SECOND"], UNITS_US["MINUTE"]

lengths = st.integers(1, 9)
starts = st.none() | st.integers(-20, 20)
times = st.integers(-30, 30)
slidings = st.builds(Sliding, lengths, lengths, starts)
time_windows = slidings | st.builds(Continuous, lengths) | st.builds(Landmark, starts)
grids = st.builds(Grid, st.integers(-20, 20), st.integers(1, 12))
panes = steps = st.integers(1, 9)
HORIZON = range(-60, 61)  # every stay of the windows and times above lies inside, but for a landmark's end


# A character is a microsecond, `|` is instant 0, `'` are the other moves; `at` draws the content of the
# window at that instant, `stay` the instants at which it holds the row.
DRAWINGS = [
    (
        Sliding(6, 4),
        """
        time            '   |   '   '   '
        rows             ab    cd
        at -1     [-----)                   holds
        at 0          [-----)               holds a b
        at 3          [-----)               holds a b
        at 4              [-----)           holds b c
        at 7              [-----)           holds b c
        at 8                  [-----)       holds c d
        stay a              [===)
        stay b              [=======)
        stay c                  [=======)
        stay d                      [===)
        """,
    ),
    (
        Sliding(6, 4, start_us=-1),
        """
        time           '   '|  '   '   '
        rows            ab    cd
        at -2    [-----)                    holds
        at -1        [-----)                holds a b
        at 2         [-----)                holds a b
        at 3             [-----)            holds b c
        at 7                 [-----)        holds c d
        stay a             [===)
        stay b             [=======)
        stay c                 [=======)
        stay d                     [===)
        """,
    ),
    (
        Sliding(4, 4, start_us=6),
        """
        time          '   ' | '   '   '
        rows             ab  cd
        at -3     [---)                     holds
        at -2         [---)                 holds a
        at 1          [---)                 holds a
        at 2              [---)             holds b c
        at 6                  [---)         holds d
        stay a            [===)
        stay b                [===)
        stay c                [===)
        stay d                    [===)
        """,
    ),
    (
        Sliding(2, 5),
        """
        time           '    |    '    '
        rows             abcd   e
        at -1        [-)                    holds
        at 0              [-)               holds b c
        at 4              [-)               holds b c
        at 5                   [-)          holds e
        stay a                              never
        stay b              [====)
        stay c              [====)
        stay d                              never
        stay e                   [====)
        """,
    ),
    (
        Continuous(4),
        """
        time                |
        rows             a  bc
        at -3        [---)                  holds
        at -2         [---)                 holds a
        at 1             [---)              holds a b
        at 2              [---)             holds b c
        stay a            [===)
        stay b               [===)
        stay c                [===)
        """,
    ),
    (
        Landmark(from_us=-2),
        """
        time                |
        rows             ab  c
        at -1             [)                holds b
        at 1              [--)              holds b
        at 2              [---)             holds b c
        stay a                              never
        stay b             [=============
        stay c                [==========
        """,
    ),
]


@pytest.mark.parametrize(("window", "drawing"), DRAWINGS)
def test_a_window_is_as_drawn(window: TimeWindow, drawing: str) -> None:
    time, rows, *lines = dedent(drawing).strip("\n").splitlines()
    zero = time.index("|")
    ts = {name: rows.index(name, len("rows")) - zero for name in "abcde" if name in rows}

    def instant(line: str, bracket: str) -> int | None:
        return line.index(bracket) - zero if bracket in line else None

    for line in lines:
        lo, hi = instant(line, "["), instant(line, ")")
        match line.split():
            case ["at", t, _, "holds", *held]:
                assert window.bounds(int(t)) == (lo, hi), line
                assert [name for name in ts if holds(window, ts[name], int(t))] == held, line
            case ["stay", name, *_]:
                assert window.entry(ts[name]) == lo, line
                assert lo is None or window.leave(ts[name]) == hi, line
            case _:
                raise AssertionError(f"not a line of a drawing: {line}")


def holds(window: TimeWindow, ts: int, t: int) -> bool:
    """The definition, literally; the last move is found by stepping back, not by division."""
    match window:
        case Sliding(size_us, slide_us, start_us):
            end = t
            while (end - (start_us or 0)) % slide_us:
                end -= 1
            return end - size_us <= ts < end
        case Continuous(size_us):
            return t - size_us <= ts < t
        case Landmark(from_us):
            return ts < t and (from_us is None or ts >= from_us)


@given(time_windows, times, times)
def test_bounds_are_the_content(window: TimeWindow, ts: int, t: int) -> None:
    lo, hi = window.bounds(t)
    assert ((lo is None or lo <= ts) and ts < hi) == holds(window, ts, t)


@given(time_windows, times)
def test_a_stay_is_one_interval_from_entry_to_leave(window: TimeWindow, ts: int) -> None:
    stay = [t for t in HORIZON if holds(window, ts, t)]
    entry, leave = window.entry(ts), window.leave(ts)
    if entry is None:
        assert stay == []
    else:
        assert stay == list(range(entry, HORIZON.stop if leave is None else leave))


@given(slidings, times)
def test_a_row_without_an_entry_has_an_empty_stay(window: Sliding, ts: int) -> None:
    """Code on arrays relies on this, because arrays have no None."""
    assert (window.entry(ts) is None) == (window.moves.next(ts) == window.leave(ts))


@given(slidings, times, times)
def test_rows_of_a_subwindow_are_held_together(window: Sliding, ts: int, other: int) -> None:
    if window.subwindow(ts) == window.subwindow(other):
        assert abs(ts - other) < window.subwindow_us
        assert (window.entry(ts), window.leave(ts)) == (window.entry(other), window.leave(other))


@given(slidings, times)
def test_a_window_is_panes_subwindows_and_moves_by_step(window: Sliding, t: int) -> None:
    lo, hi = window.bounds(t)
    content = [window.subwindow(ts) for ts in range(lo, hi)]
    first = content[0]
    assert content == sorted([*range(first, first + window.panes)] * window.subwindow_us)
    assert window.subwindow(lo + window.slide_us) == first + window.step
    assert gcd(window.panes, window.step) == 1
    assert window.subwindow(window.moves.phase_us) == 0


@given(slidings | st.builds(Continuous, lengths), st.lists(times, min_size=1))
def test_arrays_are_the_same_element_by_element(window: Sliding | Continuous, values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    lo, hi = window.bounds(array)
    assert list(zip(lo.tolist(), hi.tolist(), strict=True)) == [window.bounds(t) for t in values]
    assert window.leave(array).tolist() == [window.leave(ts) for ts in values]
    if isinstance(window, Sliding):
        assert window.moves.last(array).tolist() == [window.moves.last(t) for t in values]
        assert window.moves.next(array).tolist() == [window.moves.next(t) for t in values]
        assert window.subwindow(array).tolist() == [window.subwindow(ts) for ts in values]
    else:
        assert window.entry(array).tolist() == [window.entry(ts) for ts in values]


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31"])
def test_arrays_do_not_overflow_at_the_ends_of_the_calendar(text: str) -> None:
    window, ts = Sliding(LONGEST_US, LONGEST_US - 1, timestamp_us("9999-12-31")), timestamp_us(text)
    assert window.leave(np.array([ts])).tolist() == [window.leave(ts)]
    assert [bound.tolist() for bound in window.bounds(np.array([ts]))] == [[bound] for bound in window.bounds(ts)]


# --- Window ids ----------------------------------------------------------------------------------

# `#` is a sub-window of the window, `.` one that is not; the columns are the sub-windows 1, 2, …
WINDOW_IDS = [
    (3, 2, ["###......", "..###....", "....###..", "......###", "........#"]),
    (3, 1, ["###...", ".###..", "..###.", "...###", "....##", ".....#"]),
    (2, 2, ["##....", "..##..", "....##"]),
    (2, 3, ["##.......", "...##....", "......##."]),  # k > n: sub-windows 3, 6 and 9 are in no window
]


@pytest.mark.parametrize(("panes", "step", "drawing"), WINDOW_IDS)
def test_window_ids_are_as_drawn(panes: int, step: int, drawing: list[str]) -> None:
    for wid, line in enumerate(drawing):
        inside = subwindows_of(wid, panes, step)
        assert line == "".join("#" if number in inside else "." for number in range(1, len(line) + 1))
    for number, column in enumerate(zip(*drawing, strict=True), start=1):
        assert [wid for wid, mark in enumerate(column) if mark == "#"] == list(windows_of(number, panes, step))


def test_the_upper_bound_is_not_the_printed_one() -> None:
    """Du's printed bound includes window 1, which begins at sub-window 3."""
    assert windows_of(2, panes=3, step=2) == range(1)
    assert subwindows_of(1, panes=3, step=2) == range(3, 6)


@given(st.integers(-5, 60), panes, steps)
def test_windows_of_is_membership(number: int, panes: int, step: int) -> None:
    holding = [wid for wid in range(70) if wid * step < number <= wid * step + panes]
    assert list(windows_of(number, panes, step)) == holding
    assert [wid for wid in range(70) if number in subwindows_of(wid, panes, step)] == holding


@given(st.integers(1, 60), panes, steps)
def test_slots_and_neighbours_name_the_same_subwindow(number: int, panes: int, step: int) -> None:
    windows = windows_of(number, panes, step)
    for wid in windows:
        place = slot(number, wid, panes, step)
        assert place == (number - wid * step - 1) % panes
        assert subwindows_of(wid, panes, step)[place] == number
        neighbour = earlier_neighbour(wid, place, panes, step)
        if wid - 1 in windows:
            assert neighbour == (wid - 1, slot(number, wid - 1, panes, step))
        else:
            assert neighbour is None


def test_a_subwindow_has_no_slot_in_a_window_that_does_not_hold_it() -> None:
    with pytest.raises(AssertionError):
        slot(2, wid=1, panes=3, step=2)


# --- Grids ---------------------------------------------------------------------------------------


def on(grid: Grid, t: int) -> bool:
    return (t - grid.phase_us) % grid.period_us == 0


@given(grids, times, times)
def test_a_grid_counts_its_instants(grid: Grid, t: int, other: int) -> None:
    instants = [instant for instant in HORIZON if on(grid, instant)]
    assert grid.last(t) == max(instant for instant in instants if instant <= t)
    assert grid.next(t) == min(instant for instant in instants if instant > t)
    assert list(grid.between(t, other)) == [instant for instant in instants if t <= instant < other]


def test_grids_with_the_same_instants_are_equal() -> None:
    assert Grid(7, 5) == Grid(2, 5) == Grid(-3, 5)


@given(st.lists(grids, min_size=1, max_size=4), times, times)
def test_a_union_of_grids_is_ordered_and_distinct(some: list[Grid], t: int, other: int) -> None:
    instants = [instant for instant in HORIZON if any(on(grid, instant) for grid in some)]
    assert merge(some, t, other) == [instant for instant in instants if t <= instant < other]
    assert last_of(some, t) == max(instant for instant in instants if instant <= t)
    assert next_of(some, t) == min(instant for instant in instants if instant > t)


@given(st.lists(grids, max_size=3))
def test_the_common_grid_is_the_intersection(some: list[Grid]) -> None:
    """1728 = 12³ instants contain a whole cycle of any three periods up to 12."""
    meeting = [t for t in range(-1728, 1728) if all(on(grid, t) for grid in some)]
    met = common(some)
    assert meeting == ([] if met is None else list(met.between(-1728, 1728)))


def test_common_moves_are_as_drawn() -> None:
    fours = "x...x...x...x...x...x..."
    sixes = "..x.....x.....x.....x..."
    odd__ = "...x.....x.....x.....x.."  # never on an even instant
    meet_ = "........x...........x..."

    def grid(line: str) -> Grid:
        first, second, *_ = (t for t, mark in enumerate(line) if mark == "x")
        return Grid(first, second - first)

    assert common([grid(fours), grid(sixes)]) == grid(meet_)
    assert common([grid(fours), grid(odd__)]) is None
    assert common([grid(fours), grid(sixes), grid(odd__)]) is None
    assert common([]) == Grid(0, 1)


def test_common_is_exact_beyond_int64() -> None:
    """The refusal of such a query shows the number, so it must be right."""
    a, b = Grid(1, 10**10 + 19), Grid(0, 10**10 + 33)
    met = common([a, b])
    assert met is not None
    assert met.period_us == (10**10 + 19) * (10**10 + 33) > 2**63
    assert on(a, met.phase_us)
    assert on(b, met.phase_us)


# --- Construction and text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "sql"),
    [
        (Sliding(10 * MINUTE, MINUTE), "[10 MINUTE SLIDE 1 MINUTE]"),
        (
            Sliding(10 * MINUTE, MINUTE, timestamp_us("2025-01-01 00:00:07")),
            "[10 MINUTE SLIDE 1 MINUTE START TIMESTAMP '2025-01-01 00:00:07']",
        ),
        (Sliding(9 * SECOND, SECOND, 0), "[9 SECOND SLIDE 1 SECOND START TIMESTAMP '1970-01-01 00:00:00']"),
        (Sliding(10 * MINUTE, 10 * MINUTE), "[TUMBLE 10 MINUTE]"),
        (Sliding(MINUTE, MINUTE, -1), "[TUMBLE 1 MINUTE START TIMESTAMP '1969-12-31 23:59:59.999999']"),
        (Continuous(10 * MINUTE), "[RANGE 10 MINUTE]"),
        (Rows(5), "[ROWS 5]"),
        (Rows(5000, 1000), "[ROWS 5000 SLIDE 1000]"),
        (PartitionedRows(("k", "j"), 3), "[PARTITION BY k, j ROWS 3]"),
        (
            PartitionedRows(("_k1", "a b", "ö", "1st", "a`b"), 3),
            "[PARTITION BY _k1, `a b`, `ö`, `1st`, `a``b` ROWS 3]",
        ),
        (RangeByRows(5 * MINUTE, 1000), "[RANGE 5 MINUTE SLIDE 1000 ROWS]"),
        (Landmark(), "[UNBOUNDED]"),
        (Landmark(timestamp_us("2025-01-01")), "[FROM TIMESTAMP '2025-01-01 00:00:00']"),
    ],
)
def test_a_window_prints_as_the_grammar_writes_it(window: Window, sql: str) -> None:
    assert window.to_sql() == sql


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Sliding(MINUTE, 0), "a window's slide must be positive, not 0 SECOND"),
        (lambda: Sliding(-5 * SECOND, MINUTE), "a window's size must be positive, not -5 SECOND"),
        (lambda: Sliding(MINUTE, LONGEST_US + 1), "a window's slide is too large"),
        (lambda: Sliding(MINUTE, MINUTE, 2**62), "outside the years 1 to 9999"),
        (lambda: Continuous(0), "a window's size must be positive, not 0 SECOND"),
        (lambda: Rows(0), "a window's size must be positive, not 0 ROWS"),
        (lambda: Rows(5, 0), "a window's slide must be positive, not 0 ROWS"),
        (lambda: Rows(2**63), "a window's size is too large: 9223372036854775808 ROWS"),
        (lambda: PartitionedRows((), 3), "PARTITION BY needs at least one column"),
        (lambda: PartitionedRows(("k",), 0), "a window's size must be positive, not 0 ROWS"),
        (lambda: RangeByRows(0, 5), "a window's size must be positive, not 0 SECOND"),
        (lambda: RangeByRows(MINUTE, -1), "a window's slide must be positive, not -1 ROWS"),
        (lambda: Landmark(-(2**62)), "outside the years 1 to 9999"),
        (lambda: Grid(0, 0), "a period must be positive, not 0 SECOND"),
    ],
)
def test_a_window_that_cannot_be_is_refused_in_plain_words(build: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        build()
