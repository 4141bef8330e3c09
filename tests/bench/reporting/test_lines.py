"""Charts of lines: axes with round numbers, everything inside the picture, and text that cannot break the SVG."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold_bench.reporting.lines import (
    LEFT,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    Band,
    Level,
    Line,
    Panel,
    linear_ticks,
    lines_svg,
    log_ticks,
    number_text,
)

SVG = "{http://www.w3.org/2000/svg}"
numbers = st.integers(-(10**9), 10**9).map(lambda thousandths: thousandths / 1000)
points = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8).map(lambda own: tuple(sorted(own)))


@given(numbers, numbers)
def test_linear_ticks_are_few_even_and_around_everything(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = linear_ticks(low, high)
    steps = [later - earlier for earlier, later in pairwise(ticks)]
    assert ticks[0] <= low + 1e-6 * abs(low) and ticks[-1] >= high - 1e-6 * abs(high)
    assert 2 <= len(ticks) <= 8 and min(steps) > 0
    assert max(steps) - min(steps) <= 1e-6 * max(abs(tick) for tick in ticks)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_log_ticks_are_powers_of_ten_around_everything(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = log_ticks(low, high)
    assert ticks[0] <= low * (1 + 1e-6) and ticks[-1] >= high * (1 - 1e-6) and len(ticks) >= 2
    assert all(later == pytest.approx(10 * earlier) for earlier, later in pairwise(ticks))


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (0.25, "0.25"), (10.0, "10"), (12_000.0, "12,000"), (-2_500.0, "-2,500")]
)
def test_numbers_of_an_axis_have_no_needless_digits(number: float, text: str) -> None:
    assert number_text(number) == text


@given(points, points, st.booleans())
def test_everything_is_inside_its_panel(line: tuple, other: tuple, is_log: bool) -> None:
    panel = Panel("p", (Line("l", line, (1.0,) * len(line)), Band("b", other, other)), (Level("v", 3.0),), is_log)
    root = ElementTree.fromstring(lines_svg("t", "x", [panel]))
    (line_,) = root.findall(f"{SVG}polyline") or [None]
    drawn = [] if line_ is None else line_.attrib["points"].split()
    drawn += root.find(f"{SVG}polygon").attrib["points"].split()
    top = float(next(text for text in root.findall(f"{SVG}text") if text.text == "p").attrib["y"]) + 8
    for x, y in (map(float, at.split(",")) for at in drawn):
        assert LEFT - 0.1 <= x <= LEFT + PLOT_WIDTH + 0.1
        assert top - 0.1 <= y <= top + PLOT_HEIGHT + 0.1


def test_higher_values_are_higher_in_the_picture() -> None:
    for is_log in (False, True):
        root = ElementTree.fromstring(lines_svg("t", "x", [Panel("p", (Line("l", ((0, 1), (1, 9))),), is_log=is_log)]))
        (left, low), (right, high) = (
            tuple(map(float, at.split(","))) for at in root.find(f"{SVG}polyline").attrib["points"].split()
        )
        assert left < right and low > high


def test_panels_are_below_each_other_and_name_what_they_draw() -> None:
    panels = [Panel("first", (Line("a & b", ((0, 1),)),)), Panel("second", (Line("c", ((5, 1), (9, 2))),))]
    root = ElementTree.fromstring(lines_svg("Loads <1>", "seconds", panels))
    texts = {text.text: float(text.attrib["y"]) for text in root.findall(f"{SVG}text")}
    assert {"Loads <1>", "seconds", "first", "second", "a & b", "c"} <= set(texts)
    assert texts["first"] < texts["second"] < texts["seconds"] < float(root.attrib["height"])
    assert len(root.findall(f"{SVG}circle")) == 1, "a single point is a dot"


def test_values_that_have_no_logarithm_are_at_the_bottom() -> None:
    root = ElementTree.fromstring(lines_svg("t", "x", [Panel("p", (Line("l", ((0, 0), (1, 5))),), is_log=True)]))
    low, _ = (float(at.split(",")[1]) for at in root.find(f"{SVG}polyline").attrib["points"].split())
    grid = [float(line.attrib["y1"]) for line in root.findall(f"{SVG}line")]
    assert low == max(grid[:2])


def test_a_panel_without_points_is_empty() -> None:
    assert "nothing" in lines_svg("t", "x", [Panel("p", (Line("nothing", ()),)), Panel("q", (), is_log=True)])
