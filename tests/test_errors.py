"""An error shows its position in the query: one line, cut to a readable width, with carets below the characters."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EXCERPT_WIDTH, JoinfoldError, QueryError, Span, UnknownNameError, suggestion


def excerpt(marked: str) -> str:
    """The excerpt of a text for the span between « and »."""
    start, end = marked.index("«"), marked.index("»") - 1
    return "\n".join(Span(marked.replace("«", "").replace("»", ""), start, end).excerpt())


def test_a_short_line_is_shown_whole() -> None:
    assert excerpt("SELECT «x» FROM s") == "  SELECT x FROM s\n         ^"


def test_a_later_line_begins_with_dots_and_loses_its_indentation() -> None:
    assert excerpt("SELECT x\n    FROM «some» s\nWHERE y") == "  … FROM some s\n         ^^^^"
    assert excerpt("\n\n    SELECT «x»\nFROM s") == "  SELECT x\n         ^"


def test_a_span_of_several_lines_is_marked_on_its_first_line() -> None:
    assert excerpt("SELECT «x +\n  y» FROM s") == "  SELECT x +\n         ^^^"


def test_a_span_after_the_end_has_a_caret() -> None:
    assert excerpt("SELECT«»") == "  SELECT\n        ^"
    assert "\n".join(Span("SELECT", 6, 7).excerpt()) == "  SELECT\n        ^"


def test_tabs_are_one_column_wide() -> None:
    assert excerpt("SELECT\t«x»\tFROM s") == "  SELECT x FROM s\n         ^"


def test_carriage_returns_are_not_shown() -> None:
    assert excerpt("SELECT x\r\nFROM «s»\r\nWHERE y") == "  … FROM s\n         ^"


@pytest.mark.parametrize(
    ("text", "width"),
    [("東京", 4), ("ｆ", 2), ("e\u0301", 1), ("🔥", 2), ("a\u200b", 1), ("é", 1), ("ไม่", 2)],
)
def test_carets_are_as_wide_as_the_marked_text(text: str, width: int) -> None:
    _, carets = excerpt(f"x = «{text}» y").split("\n")
    assert carets == " " * 6 + "^" * width
    _, carets = excerpt(f"x = {text} «y»").split("\n")
    assert carets == " " * (7 + width) + "^"


WORDS = " ".join(f"word{i:02}" for i in range(40))


def test_a_long_line_is_cut_at_words_on_both_sides() -> None:
    assert excerpt(WORDS.replace("word20", "«word20»")) == (
        "  … word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 …\n"
        "                                       ^^^^^^"
    )
    assert excerpt(WORDS.replace("word00", "«word00»")) == (
        "  word00 word01 word02 word03 word04 word05 word06 word07 word08 word09 word10 …\n  ^^^^^^"
    )
    assert excerpt(WORDS.replace("word39", "«word39»")) == (
        "  … word30 word31 word32 word33 word34 word35 word36 word37 word38 word39\n" + " " * 67 + "^^^^^^"
    )


def test_a_long_span_is_marked_as_far_as_it_is_shown() -> None:
    line, carets = excerpt(f"x «{WORDS}» y").split("\n")
    assert line.endswith(" …") and len(carets) == len(line.removesuffix(" …"))


def test_a_long_word_is_cut_to_the_width() -> None:
    line, carets = excerpt("x" * 500 + "«y»" + "z" * 500).split("\n")
    assert len(line) <= EXCERPT_WIDTH + 6
    assert line[carets.index("^")] == "y"


@given(st.text("ab \n\t", max_size=200), st.text("ab \n\t", max_size=200), st.integers(1, 300))
def test_the_first_caret_is_below_the_first_character(before: str, after: str, length: int) -> None:
    line, carets = Span(f"{before}X{after}", len(before), len(before) + length).excerpt()
    assert len(line) <= EXCERPT_WIDTH + 6
    assert set(carets.strip()) == {"^"}
    assert line[carets.index("^")] == "X"


def test_a_report_has_a_message_a_position_and_a_hint() -> None:
    error = QueryError("unknown column 'z'", Span("SELECT z", 7, 8), "did you mean 'y'?")
    assert error.report() == "QueryError: unknown column 'z'\n  SELECT z\n         ^\nHint: did you mean 'y'?"
    assert str(error) == error.report().removeprefix("QueryError: ")
    assert JoinfoldError("no").report() == "JoinfoldError: no"


def test_an_unknown_name_is_reported_as_a_query_error() -> None:
    error = UnknownNameError("column 'celcius'", "celcius", ["ts", "celsius"], None)
    assert error.report() == "QueryError: unknown column 'celcius'\nHint: did you mean 'celsius'? It has: ts, celsius."
    error = UnknownNameError("stream 'x'", "x", [], None, owner="The session")
    assert error.report() == "QueryError: unknown stream 'x'\nHint: the session has none yet."


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("celcius", "celsius"),
        ("CELSIUS", "celsius"),
        ("loc", "location"),
        ("temperatur", "Temperature"),
        ("median", None),
        ("x", None),
        ("", None),
    ],
)
def test_suggestions(name: str, near: str | None) -> None:
    assert suggestion(name, ["celsius", "location", "Temperature", "min", "xy"]) == near


def test_errors_can_be_pickled() -> None:
    """Spark pickles the errors of its workers."""
    span = Span("SELECT", 0, 6)
    for error in (QueryError("no", span, "yes"), UnknownNameError("input 'a'", "a", ["ab"], span)):
        assert pickle.loads(pickle.dumps(error)).report() == error.report()
