"""Every function with every kind of arguments: columns, and constants beside a column."""

import random

import pytest

from joinfold.columnar.evaluate import COMPUTE, LAZY
from joinfold.logical.expressions import Call, Column, Expression, Literal
from joinfold.logical.functions import FUNCTIONS, TRUNCATION_UNITS
from joinfold.types import INT, STRING, TIMESTAMP, VOID, DataType
from tests.columnar.oracle import ZONES, assert_agrees, edges, sample_rows
from tests.dialect.generated import CALLS

ROWS = 40
TEXT = Column("a", "text", STRING)
TEXTS = [{("a", "text"): text} for text in [None, *edges(STRING)]]


def test_the_tables_have_every_function() -> None:
    assert {*COMPUTE, *LAZY} == set(FUNCTIONS)
    assert not set(COMPUTE) & set(LAZY)


def calls(name: str, constants: bool) -> list[Call]:
    """Calls of the function with columns of two inputs; with ``constants``, all arguments but one are constants."""
    draws = random.Random(name)
    found = []
    for types in CALLS[name]:
        arguments: list[Expression] = [argument(place, type_) for place, type_ in enumerate(types)]
        if constants and len(types) > 1:
            kept = draws.randrange(len(types)) if name not in ("like", "date_trunc") else 0
            for place, type_ in enumerate(types):
                if place != kept and type_ != VOID:
                    arguments[place] = Literal(draws.choice([None, *edges(type_)]), type_)
        if name == "date_trunc":
            arguments[0] = Literal(draws.choice(TRUNCATION_UNITS).lower(), STRING)
        found.append(Call(name, tuple(arguments)))
    return found


def argument(place: int, type_: DataType) -> Expression:
    return Literal(None, VOID) if type_ == VOID else Column("ab"[place % 2], f"c{place}", type_)


@pytest.mark.parametrize("constants", [False, True], ids=["columns", "constants"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_errors_are_those_of_the_reference(name: str, constants: bool) -> None:
    compared = 0
    for seed, call in enumerate(calls(name, constants)):
        columns = [part for part in call.arguments if isinstance(part, Column)]
        compared += assert_agrees(call, sample_rows(columns, ROWS, seed), ZONES[seed % len(ZONES)])
    assert compared > 0


@pytest.mark.parametrize("unit", TRUNCATION_UNITS)
@pytest.mark.parametrize("zone", ZONES)
def test_every_unit_begins_where_the_reference_says(unit: str, zone: str) -> None:
    instant = Column("a", "c", TIMESTAMP)
    assert_agrees(Call("date_trunc", (Literal(unit, STRING), instant)), sample_rows([instant], 60, 1), zone)


TEXT_CONSTANTS = ["", "x", "日", "%x", "_tra%", "a\\_b", "%\\%", "%\\\\", "\\\\.%", "\\", "a\\b", "%日_", "É", "\n"]
POSITIONS = [-99, -3, -1, 0, 1, 2, 3, 99, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize(
    "name", ["like", "instr", "contains", "startswith", "endswith", "||", "=", "<", "in", "greatest"]
)
def test_text_beside_every_constant(name: str) -> None:
    for constant in TEXT_CONSTANTS:
        assert_agrees(Call(name, (TEXT, Literal(constant, STRING))), TEXTS)
        assert_agrees(Call(name, (Literal("日x", STRING), Literal(constant, STRING))), TEXTS[:2])


def test_pieces_of_text_at_every_constant_position() -> None:
    for start in POSITIONS:
        for call in (
            Call("substring", (TEXT, Literal(start, INT))),
            Call("left", (TEXT, Literal(start, INT))),
            Call("right", (TEXT, Literal(start, INT))),
            *(Call("substring", (TEXT, Literal(start, INT), Literal(length, INT))) for length in POSITIONS),
        ):
            assert assert_agrees(call, TEXTS) == len(TEXTS)


def test_replacing_constants() -> None:
    for search in TEXT_CONSTANTS:
        assert_agrees(Call("replace", (TEXT, Literal(search, STRING), Literal("<é>", STRING))), TEXTS)
