"""Plots: which lines there are, which columns can be drawn, and that a picture comes out."""

import sys
from datetime import UTC, datetime
from math import isnan
from typing import Any

import pyarrow as pa
import pytest

from joinfold import SetupError, UsageError
from joinfold.runtime.showing.plot import MOST_LINES, check_columns, lines_of, plot_of, require_matplotlib

SCHEMA = pa.schema(
    [("instant", pa.timestamp("us", "UTC")), ("g", pa.string()), ("n", pa.int64()), ("x", pa.decimal128(10, 2))]
)


def table(*rows: tuple[int, str | None, int | None]) -> pa.Table:
    made = [{"instant": datetime(2025, 1, 1, 0, 0, at, tzinfo=UTC), "g": g, "n": n} for at, g, n in rows]
    return pa.Table.from_pylist(made, SCHEMA)


def values(line: tuple[list[Any], list[float]]) -> list[float | None]:
    return [None if isnan(value) else value for value in line[1]]


def test_each_value_of_by_is_a_line() -> None:
    lines = lines_of(table((1, "x", 5), (1, None, 7), (2, "x", None), (3, "x", 9)), ["instant"], "n", "g")
    assert {name: values(line) for name, line in lines.items()} == {"x": [5.0, None, 9.0], "NULL": [7.0]}


def test_without_by_there_is_one_line() -> None:
    assert list(lines_of(table((1, "x", 5), (2, "y", 6)), ["instant"], "n", None)) == ["n"]


def test_a_group_that_vanished_has_a_gap() -> None:
    changes = table((1, "x", 5), (2, "x", 5)).append_column("change", pa.array(["insert", "delete"]))
    assert values(lines_of(changes, ["instant"], "n", "g")["x"]) == [5.0, None]


def test_of_many_lines_the_largest_are_drawn() -> None:
    plot = plot_of(table(*((1, f"g{number:02}", number) for number in range(30))), ["instant"], "n", "g")
    (axes,) = plot.figure.axes
    assert [line.get_label() for line in axes.lines] == [f"g{number}" for number in range(20, 30)]
    assert str(plot) == f"n over instant, by {MOST_LINES} of 30 values of g"


def test_a_picture_comes_out_also_without_answers() -> None:
    for answers in (table(), table((1, "x", 5))):
        bundle = plot_of(answers, ["instant"], "n", "g")._repr_mimebundle_()
        assert bundle["image/png"].startswith(b"\x89PNG") and bundle["text/plain"] == "n over instant, by g"


@pytest.mark.parametrize(
    ("column", "by", "told"),
    [
        ("m", None, "the answers have no column 'm'\nHint: the answers have: instant, g, n, x."),
        ("n", "gg", "the answers have no column 'gg'\nHint: the answers have: instant, g, n, x."),
        ("instan", None, "the answers have no column 'instan'\nHint: did you mean 'instant'? The answers have: "),
        ("g", None, "the column 'g' is string, and only numbers can be drawn\nHint: they are: n, x."),
    ],
)
def test_columns_that_cannot_be_drawn(column: str, by: str | None, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_columns(SCHEMA, column, by)
    assert str(caught.value).startswith(told)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SetupError, match=r"a plot needs matplotlib\nHint: pip install 'joinfold\[notebook\]'."):
        require_matplotlib()
