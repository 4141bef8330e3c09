"""A branch that a row does not take cannot fail on that row; a branch that it takes fails as it would alone."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.columnar import evaluate, is_true
from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal
from joinfold.types import BOOLEAN, INT, STRING, VOID

TEXT = Column("a", "text", STRING)
NUMBER = Cast(TEXT, INT)  # fails for a text that is not a number
IS_DIGITS = Call("like", (TEXT, Literal("1%", STRING)))
IS_POSITIVE = Call(">", (NUMBER, Literal(0, INT)))
NULL = Literal(None, VOID)


def values(expression: Expression, texts: list[str | None]) -> list[object]:
    array: pa.Array = evaluate(expression, {("a", "text"): pa.array(texts, pa.string())}, len(texts))
    return list(array.to_pylist())


def test_a_branch_of_case_sees_only_the_rows_that_take_it() -> None:
    case = Case(((IS_DIGITS, NUMBER), (Call("is null", (TEXT,)), Literal(-1, INT))), NULL, INT)
    assert values(case, ["12", "word", None, "1"]) == [12, None, -1, 1]


def test_a_condition_of_case_sees_only_the_rows_that_are_left() -> None:
    case = Case(((Call("not", (IS_DIGITS,)), Literal("word", STRING)), (IS_POSITIVE, TEXT)), NULL, STRING)
    assert values(case, ["x", "12", None]) == ["word", "12", None]


def test_and_stops_at_false_and_or_at_true() -> None:
    assert values(Call("and", (IS_DIGITS, IS_POSITIVE)), ["word", "12", None]) == [False, True, None]
    either = Call("or", (Call("not", (IS_DIGITS,)), IS_POSITIVE))
    assert values(either, ["word", "12", None]) == [True, True, None]


def test_and_and_or_go_on_after_null() -> None:
    unknown = Cast(NULL, BOOLEAN)
    assert values(Call("and", (unknown, IS_DIGITS)), ["word", "12"]) == [False, None]
    assert values(Call("or", (unknown, IS_DIGITS)), ["word", "12"]) == [None, True]
    with pytest.raises(EvaluationError):
        values(Call("and", (unknown, IS_POSITIVE)), ["word"])


def test_coalesce_stops_at_the_first_value() -> None:
    first = Case(((Call("not", (IS_DIGITS,)), Literal(0, INT)),), NULL, INT)
    assert values(Call("coalesce", (first, NUMBER)), ["word", "12", "x"]) == [0, 12, 0]


@pytest.mark.parametrize(
    "expression",
    [
        Case(((IS_DIGITS, TEXT),), Cast(NUMBER, STRING), STRING),
        Call("and", (Call("not", (IS_DIGITS,)), IS_POSITIVE)),
        Call("or", (IS_DIGITS, IS_POSITIVE)),
        Call("coalesce", (Case(((IS_DIGITS, Literal(0, INT)),), NULL, INT), NUMBER)),
    ],
    ids=["case", "and", "or", "coalesce"],
)
def test_what_is_taken_fails(expression: Expression) -> None:
    assert len(values(expression, ["1", "12"])) == 2
    with pytest.raises(EvaluationError, match="'word' is not a number"):
        values(expression, ["1", "word"])


def test_selections_within_selections_find_their_rows() -> None:
    inner = Case(((Call("=", (TEXT, Literal("1", STRING))), Literal("one", STRING)),), TEXT, STRING)
    outer = Case(((IS_DIGITS, Case(((Call("is null", (TEXT,)), NULL),), inner, STRING)),), Literal("-", STRING), STRING)
    assert values(outer, ["x", "1", "12", None, "1", "y", "13"]) == ["-", "one", "12", "-", "one", "-", "13"]


def test_is_true_takes_null_for_false() -> None:
    found = is_true(IS_DIGITS, {("a", "text"): pa.array(["1", None, "x"])}, 3)
    assert found.dtype == np.bool_ and found.tolist() == [True, False, False]


def test_no_rows_have_no_values_and_do_not_fail() -> None:
    assert values(NUMBER, []) == []
    assert values(Case(((IS_DIGITS, NUMBER),), Literal(0, INT), INT), []) == []
    assert is_true(IS_DIGITS, {("a", "text"): pa.array([], pa.string())}, 0).tolist() == []
