"""Small tables, as text and as HTML."""

import re
from html import unescape

import pytest

from joinfold.explain.tables import Table


def test_tables_are_in_columns() -> None:
    table = Table("Words", ("word", "n"), (("a", "1"), ("long", "1,000")), marked=1, notes=("Enough.",))
    assert str(table) == "Words\n  word      n\n  a         1\n▶ long  1,000\n  Enough."


def test_the_page_has_the_same_cells_in_the_same_order_and_escapes_them() -> None:
    table = Table("a < b", ("word", "n"), (("x & y", "1"), ("z", "2")), marked=1, notes=("<i>",))
    page = table.to_html()
    assert [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page)] == [
        *("word", "n", "x & y", "1", "z", "2")
    ]
    assert page.count('class="amount"') == 3 and page.count('class="marked"') == 1
    assert '<tr class="marked"><td>z</td>' in page
    assert "<h2>a &lt; b</h2>" in page and "<p>&lt;i&gt;</p>" in page


def test_every_row_has_a_cell_for_every_column() -> None:
    with pytest.raises(AssertionError):
        Table("Words", ("word", "n"), (("a",),))


def test_a_table_without_rows_has_its_header() -> None:
    assert str(Table("Words", ("word", "n"), ())) == "Words\n  word  n"
