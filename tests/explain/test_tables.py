"""Small tables, as text and as HTML."""

from joinfold.explain.tables import Table


def test_tables_are_in_columns() -> None:
    table = Table("Words", ("word", "n"), (("a", "1"), ("long", "1,000")), marked=1, notes=("Enough.",))
    assert str(table) == "Words\n  word      n\n  a         1\n▶ long  1,000\n  Enough."
