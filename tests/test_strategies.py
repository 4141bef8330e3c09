"""The strategies follow the table of aggregates: a new entry is drawn with arguments that it accepts."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import find

from joinfold.algebra import AGGREGATES
from joinfold.types import BOOLEAN, DataType
from tests import strategies

Types = tuple[DataType, ...]


@dataclass(frozen=True)
class Entry:
    """The part of an aggregate that the strategy uses."""

    arities: tuple[int, ...]
    takes: Callable[[DataType], bool]

    def accepts(self, types: Types) -> bool:
        return len(types) in self.arities and all(map(self.takes, types))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry((1,), lambda type_: type_ == BOOLEAN), {("boolean",)}),
        (Entry((1,), lambda type_: type_.is_integer), {("integer",)}),
        (Entry((2,), lambda type_: type_.is_numeric), {("number", "number")}),
        (Entry((0,), lambda type_: True), {()}),
    ],
    ids=["booleans", "integers", "pairs of numbers", "rows"],
)
def test_arguments_are_those_that_an_entry_accepts(
    entry: Entry, expected: set[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(strategies.AGGREGATES, "made_up", entry)  # type: ignore[arg-type]
    assert set(strategies.kinds_taken.__wrapped__("made_up")) == expected


def test_two_arguments_of_any_order_may_differ_in_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.AGGREGATES, "made_up", Entry((2,), lambda type_: type_.is_ordered))  # type: ignore[arg-type]
    assert {("number", "text"), ("text", "number"), ("boolean", "time")} <= set(
        strategies.kinds_taken.__wrapped__("made_up")
    )


def test_an_entry_without_arguments_to_draw_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.AGGREGATES, "made_up", Entry((1,), lambda type_: False))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="no argument for MADE_UP: add a kind to KINDS"):
        strategies.kinds_taken.__wrapped__("made_up")


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_entry_is_drawn(name: str) -> None:
    drawn = find(
        strategies.aggregates(["a", "b"]),
        lambda text: text.startswith(f"{name.upper()}("),
    )
    assert drawn
