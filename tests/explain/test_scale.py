"""Scales: which time stands in which column, exactly or rounded down."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joinfold.explain.scale import LINE, ROOM, Scale
from joinfold.window import Grid


@given(
    origin=st.integers(-(10**6), 10**6),
    span=st.integers(1, 10**12),
    cell=st.integers(1, 10**4),
    grid=st.builds(Grid, st.integers(0, 10**6), st.integers(1, 10**12)),
    unit=st.sampled_from([None, "rows"]),
)
def test_columns_show_what_falls_into_them(origin: int, span: int, cell: int, grid: Grid, unit: str | None) -> None:
    scale = Scale.fitting(origin, origin + span, cell, unit)
    line = scale.hits((grid,), "x")
    assert len(line) <= ROOM + 1
    if span // grid.period_us < 10**4:
        marks = scale.marks((at, "x") for at in grid.between(origin, origin + span + 1))
        assert line.rstrip() == marks
    labels, ticks = scale.axis()
    assert len(ticks) <= ROOM + 1 and ticks.startswith("|") and labels.split()[0] == str(origin if unit else 0)
    assert 2 <= len(labels.split()) <= ticks.count("|") + 1 and len(labels) <= LINE


@example(cells=ROOM, cell=3, origin=0)
@example(cells=ROOM + 1, cell=3, origin=0)
@given(cells=st.integers(1, 3 * ROOM), cell=st.integers(1, 10**7), origin=st.integers(0, 10**9))
def test_a_scale_is_exact_as_long_as_every_cell_has_a_character(cells: int, cell: int, origin: int) -> None:
    scale = Scale.fitting(origin, origin + cells * cell, cell, "rows")
    assert scale.is_exact == (cells <= ROOM)
    assert scale.column(scale.origin) == 0 and scale.column(scale.end) <= ROOM
    if scale.is_exact:
        edges = [origin + number * cell for number in range(cells + 1)]
        assert [scale.column(edge) for edge in edges] == [number * scale.chars for number in range(cells + 1)]
        assert scale.note() is None
    else:
        assert scale.note() == f"a character is {scale.per} rows, edges are rounded down"


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (lambda scale: scale.bar(2, 6), "      [-----------)"),
        (lambda scale: scale.bar(0, 2, "<>"), "<----->"),
        (lambda scale: scale.pieces(Grid(0, 4)), "|-----------|"),
        (lambda scale: scale.marks([(0, "a"), (6, "b"), (6, "c")]), "a                 c"),
        (lambda scale: scale.hits((Grid(2, 4),), "#"), "      #           #"),
        (lambda scale: scale.axis(), ("0     2     4     6  rows", "|     |     |     |")),
    ],
)
def test_what_is_drawn_on_a_small_scale(drawn: Callable[[Scale], object], expected: object) -> None:
    assert drawn(Scale(0, 6, chars=6, per=2, cell=2, unit="rows")) == expected


def test_pieces_that_are_too_small_are_not_drawn() -> None:
    scale = Scale(0, 600, chars=1, per=10, cell=1, unit="rows")
    assert scale.pieces(Grid(0, 9)) is None and scale.pieces(Grid(0, 10)) is not None


def test_time_is_told_from_the_origin_on() -> None:
    scale = Scale.fitting(1_735_689_600_000_000, 1_735_689_600_000_000 + 4 * 60_000_000, 60_000_000)
    assert scale.note() == "0 is 2025-01-01 00:00:00"
    assert scale.axis()[0].split() == ["0", "1", "2", "3", "4", "MINUTE"]
