"""Combinations that probing finds, from whichever input it begins, are those of loops over all rows."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.batches import together
from joinfold.operators.entries import Entries, Integers
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.members import Members
from joinfold.operators.windows.probing import IndexedWindow, KeyIds, Prober
from joinfold.physical.choice import Index
from joinfold.planner.forcing import Plan
from tests.operators.runs import Row, packed_entries
from tests.operators.windows.moving import joined, rows

WHERE: dict[str, tuple[str, Callable[..., bool]]] = {
    "a chain of keys": ("a.k = b.k AND b.w = c.w", lambda a, b, c: a["k"] == b["k"] and b["w"] == c["w"]),
    "a key and a range": (
        "a.k = b.k AND c.v BETWEEN a.v - a.w AND a.v + a.w",
        lambda a, b, c: a["k"] == b["k"] and abs(a["v"] - c["v"]) <= a["w"],
    ),
    "a condition of all": (
        "a.k = b.k AND b.k = c.k AND a.v + b.v < c.w",
        lambda a, b, c: a["k"] == b["k"] == c["k"] and a["v"] + b["v"] < c["w"],
    ),
    "two ranges": ("a.v < b.v AND b.v <= c.v", lambda a, b, c: a["v"] < b["v"] <= c["v"]),
    "nothing": ("a.v + b.v = c.v", lambda a, b, c: a["v"] + b["v"] == c["v"]),
}
PLANS = {
    name: joined("COUNT(*) AS n", where, "", Plan(order=tuple("bca")), "abc") for name, (where, _) in WHERE.items()
}
DENSE: list[Row] = [{"ts": 0, "k": 0, "g": "x", "v": v, "w": w, "d": 0.0} for v in range(-2, 3) for w in (0, 2)]
INDEXES = [Index("list"), Index("btree", (("order", 4),))]


class Probed:
    """The windows of three inputs, each row of which is known by its slot."""

    def __init__(self, name: str, held: tuple[list[Row], ...], index: Index) -> None:
        self.plan = PLANS[name]
        self.vocabulary = Vocabulary(self.plan.body, by_class=True)
        self.prober = Prober(self.plan.choice.order, self.vocabulary, "UTC")
        self.windows = [
            IndexedWindow(
                spec,
                ordinal,
                Members(len(spec.keys), spec.integer_columns, 0, 0, merged=False, by_leave=False),
                index,
                self.prober.asked(ordinal),
            )
            for ordinal, spec in enumerate(self.plan.body.inputs)
        ]
        self.entries = [self.read(ordinal, own) for ordinal, own in enumerate(held)]
        self.row_of = [self.insert(ordinal) for ordinal in range(3)]

    def read(self, ordinal: int, own: list[Row]) -> Entries:
        """An entry for each row: they are told apart by their times."""
        parts = [packed_entries(self.plan, ordinal, [row]) for row in own] or [packed_entries(self.plan, ordinal, [])]
        batch = parts[0] if len(parts) == 1 else together(parts)
        return self.vocabulary.entries_of(ordinal, batch)

    def insert(self, ordinal: int) -> dict[int, int]:
        slots = self.windows[ordinal].members.enter(
            self.entries[ordinal], np.zeros(len(self.entries[ordinal]), np.int64)
        )
        self.change(INSERT, ordinal, slots)
        return {slot: row for row, slot in enumerate(slots.tolist())}

    def change(self, kind: int, ordinal: int, slots: Integers) -> None:
        self.windows[ordinal].change(kind, slots, self.prober.keys, self.vocabulary)

    def found(self, first: int) -> list[tuple[int, ...]]:
        """The rows of each input in all combinations, from the entries of one."""
        start = self.prober.start(first, self.entries[first])
        combinations = []
        for chunk in self.prober.combinations(first, start, self.windows):
            columns = [
                chunk.delta.tolist()
                if ordinal == first
                else [self.row_of[ordinal][slot] for slot in chunk.slots[ordinal]]
                for ordinal in range(3)
            ]
            combinations += list(zip(*columns, strict=True))
        return sorted(combinations)


@pytest.mark.parametrize("name", WHERE)
@pytest.mark.parametrize("first", range(3))
@given(held=st.tuples(rows, rows, rows), index=st.sampled_from(INDEXES))
@example(held=(DENSE, DENSE, DENSE), index=INDEXES[1])
def test_every_combination_is_found_once(name: str, first: int, held: tuple[list[Row], ...], index: Index) -> None:
    probed, matches = Probed(name, held, index), WHERE[name][1]
    numbered = [list(enumerate(own)) for own in held]
    expected = [tuple(number for number, _ in own) for own in product(*numbered) if matches(*(row for _, row in own))]
    assert probed.found(first) == sorted(expected)
    other = (first + 1) % 3
    gone = np.array([slot for slot, row in probed.row_of[other].items() if row % 2 == 0], np.int64)
    probed.change(REMOVE, other, gone)
    assert probed.found(first) == sorted(own for own in expected if own[other] % 2)


@given(parts=st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=8))
def test_a_key_of_several_classes_has_one_id(parts: list[tuple[int, int, int]]) -> None:
    keys, known = KeyIds(3), dict[tuple[int, int, int], int]()
    columns = [np.array([own[at] for own in parts], np.int32) for at in range(3)]
    for own, found in zip(parts, keys.of(columns, len(parts)).tolist(), strict=True):
        assert known.setdefault(own, found) == found
    assert len(set(known.values())) == len(known) == len(keys)


def test_no_key_is_one_key() -> None:
    keys = KeyIds(0)
    assert keys.of([], 3).tolist() == [0, 0, 0] and len(keys) == 0
    alone = np.array([5, 7], np.int32)
    assert KeyIds(1).of([alone], 2).tolist() == [5, 7]  # the ids of one class are ids already


def test_memory_and_looks_are_those_of_members_and_structures() -> None:
    row = {"ts": 0, "k": 1, "g": "x", "v": 1, "w": 1, "d": 0.0}
    probed = Probed("a chain of keys", ([row], [row], [row]), Index("list"))
    touched = [window.touched for window in probed.windows]
    assert probed.found(0) == [(0, 0, 0)]
    assert [window.touched - before for window, before in zip(probed.windows, touched, strict=True)] == [0, 1, 1]
    assert all(window.bytes_held > window.members.bytes_held for window in probed.windows)
    assert probed.prober.given == 0  # the classes that are asked for together are one
