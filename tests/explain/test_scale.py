"""Scales: which time stands in which column, exactly or rounded down."""

from hypothesis import given
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
