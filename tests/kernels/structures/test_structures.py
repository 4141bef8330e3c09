"""Every structure against a dictionary: any operations, with nodes and chunks so small that all their edges are met."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from joinfold.kernels.structures import STRUCTURES
from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, REMOVE, Structure

from .model import Model, found, operations, sliding_window
from .shapes import check

SMALL: dict[str, list[dict[str, int]]] = {
    "hash": [{"bucket_size": 1}, {"bucket_size": 2}, {"buckets": 1}, {"buckets": 3}],
    "btree": [{"order": 3}, {"order": 4}, {"order": 5}],
    "ttree": [{"node_size": 2}, {"node_size": 3}, {"node_size": 4}, {"node_size": 7}],
}
MAKERS: dict[str, Callable[[], Structure]] = {
    " ".join([name, *(f"{parameter}={value}" for parameter, value in parameters.items())]): partial(
        structure, **parameters
    )
    for name, structure in STRUCTURES.items()
    for parameters in [{}, *SMALL.get(name, [])]
}

every_structure = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())

keys = st.integers(0, 3)
codes = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1])


class Window(RuleBasedStateMachine):
    """Operations are collected and then run in one call, as many as there happen to be."""

    def __init__(self, make: Callable[[], Structure]) -> None:
        super().__init__()
        self.structure = make()
        self.model = Model()

    @rule(rows=st.lists(st.tuples(keys, codes), min_size=1, max_size=16))
    def insert(self, rows: list[tuple[int, int]]) -> None:
        for key, code in rows:
            self.model.insert(key, code)

    @precondition(lambda self: self.model.members)
    @rule(many=st.integers(1, 10))
    def expire(self, many: int) -> None:
        for _ in range(min(many, len(self.model.members))):
            self.model.expire()

    @precondition(lambda self: self.model.members)
    @rule(choices=st.lists(st.integers(0, 1000), min_size=1, max_size=10))
    def remove(self, choices: list[int]) -> None:
        for choice in choices[: len(self.model.members)]:
            members = list(self.model.members)
            self.model.remove(members[choice % len(members)])

    @rule(key=keys)
    def probe_key(self, key: int) -> None:
        self.model.probe(key, -(2**63), 2**63 - 1)

    @rule(key=keys, low=codes, high=codes)
    def probe_range(self, key: int, low: int, high: int) -> None:
        self.model.probe(key, low, high)

    @rule(chunk=st.integers(1, 3))
    def run(self, chunk: int) -> None:
        work, expected = self.model.take()
        assert found(self.structure, work, chunk) == expected
        check(self.structure, self.model.members)

    def teardown(self) -> None:
        self.run(3)


@every_structure
def test_any_operations_find_what_the_model_finds(make: Callable[[], Structure]) -> None:
    run_state_machine_as_test(lambda: Window(make))


@every_structure
def test_thousands_of_operations_in_one_call(make: Callable[[], Structure]) -> None:
    """The window fills, stays and empties, several times: trees grow and shrink by whole levels."""
    structure, model, rng = make(), Model(), np.random.default_rng(5)
    for cycle in range(3):
        for many, growth in ((700, 0.8), (600, 0.5), (700, 0.1)):
            for _ in range(many):
                if rng.random() < 0.3:
                    low = int(rng.integers(0, 100))
                    model.probe(int(rng.integers(0, 12)), low, low + int(rng.integers(-5, 60)))
                elif rng.random() < growth or not model.members:
                    model.insert(int(rng.integers(0, 12)), int(rng.integers(0, 100)))
                elif rng.random() < 0.5:
                    model.expire()
                else:
                    members = list(model.members)
                    model.remove(members[int(rng.integers(0, len(members)))])
        work, expected = model.take()
        assert len(expected) > 1000
        assert found(structure, work, 65536 if cycle else 100) == expected
        check(structure, model.members)


@every_structure
def test_shapes_after_every_few_operations(make: Callable[[], Structure]) -> None:
    """Small windows whose least, largest or any member leaves: each way in which a tree can lose its shape, often."""
    rng = np.random.default_rng(11)
    for _ in range(25):
        structure, model, span = make(), Model(), int(rng.choice([3, 1000]))
        for growth in (0.9, 0.4, 0.7, 0.2, 0.6, 0.1):
            for _ in range(40):
                if rng.random() < growth or not model.members:
                    model.insert(int(rng.integers(0, 2)), int(rng.integers(0, span)))
                else:
                    in_order = sorted(model.members, key=lambda member: (*model.members[member], member))
                    model.remove(in_order[int(rng.choice([0, rng.integers(0, len(in_order)), -1]))])
                if rng.random() < 0.5:
                    model.probe(0, 0, span // 2)
                    work, expected = model.take()
                    assert found(structure, work, 4) == expected
                    check(structure, model.members)


@every_structure
@pytest.mark.parametrize("direction", [1, -1])
def test_codes_that_rise_or_fall_and_leave_in_either_order(make: Callable[[], Structure], direction: int) -> None:
    """One edge of a tree does all the growing, and one all the shrinking: every rotation of one kind."""
    for oldest_first in (True, False):
        structure, model = make(), Model()
        for code in range(300):
            model.insert(0, direction * code)
        work, _ = model.take()
        assert len(structure.apply(work)) == 0
        check(structure, model.members)
        while model.members:
            for _ in range(10):
                if oldest_first:
                    model.expire()
                else:
                    model.remove(max(model.members))
            model.probe(0, -150, 150)
            work, expected = model.take()
            assert found(structure, work, 7) == expected
            check(structure, model.members)


@every_structure
def test_memory_follows_the_window(make: Callable[[], Structure]) -> None:
    structure, rows = make(), list(sliding_window(12_000, 200, seed=3))
    held = []
    for start in range(0, len(rows), 100):
        structure.apply(operations(rows[start : start + 100]))
        held.append(structure.bytes_held)
    assert len(structure) == 200
    assert 0 < held[-1] == held[len(held) // 2]


@every_structure
def test_no_operations_and_probes_of_nothing(make: Callable[[], Structure]) -> None:
    structure = make()
    assert list(structure.matches(operations([]))) == []
    assert list(structure.matches(operations([(PROBE, 0, 0, 0, 0), (PROBE, 1, -5, 5, 0)]))) == []
    assert (len(structure), structure.oldest) == (0, -1)


@every_structure
def test_what_is_our_own_mistake_is_said(make: Callable[[], Structure]) -> None:
    there = [(INSERT, 0, 0, 0, 0), (INSERT, 0, 0, 0, 1)]
    with pytest.raises(AssertionError, match="cannot be inserted"):
        make().apply(operations([*there, (INSERT, 5, 5, 5, 1)]))
    for gone in ([(EXPIRE, 0, 0, 0, 0)] * 3, [(REMOVE, 0, 0, 0, 1)] * 2, [(REMOVE, 0, 0, 0, 1000)]):
        with pytest.raises(AssertionError, match="cannot leave"):
            make().apply(operations([*there, *gone]))
    with pytest.raises(AssertionError, match="from 0"):
        make().apply(operations([(INSERT, 0, 0, 0, -1)]))
    structure = make()
    next(structure.matches(operations([*there, (PROBE, 0, 0, 0, 0)]), chunk=1))
    with pytest.raises(AssertionError, match="to the end"):
        structure.apply(operations(there))


def test_what_a_probe_looks_at() -> None:
    """1000 members, 10 of each key: all of them, those of a bucket, or a path and the matches."""
    rows = [(INSERT, member % 100, member, 0, member) for member in range(1000)]
    looked_at = {}
    for name in STRUCTURES:
        structure = STRUCTURES[name]()
        structure.apply(operations(rows))
        before = structure.touched
        assert len(structure.apply(operations([(PROBE, 7, 0, 10_000, 0)]))) == 10
        looked_at[name] = structure.touched - before
    assert looked_at["list"] == 1000
    assert 10 <= looked_at["hash"] <= 60
    assert 11 < looked_at["btree"] <= 11 + 14
    assert 11 < looked_at["ttree"] <= 11 + 14


def test_every_parameter_is_tried_small() -> None:
    for name, structure in STRUCTURES.items():
        assert set(structure.parameters) == {parameter for small in SMALL.get(name, []) for parameter in small}
