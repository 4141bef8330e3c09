"""The chain of arrival against a list of members, and how a structure is run chunk by chunk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.compiling import Arrays
from joinfold.kernels.structures.listed import Listed
from joinfold.kernels.structures.members import (
    ABSENT,
    CODE,
    DONE,
    FOUND,
    KEY,
    LIVE,
    NEWEST,
    OLDER,
    OLDEST,
    TOUCHED,
    Members,
    Rows,
    arrive,
    depart,
)
from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, REMOVE

from .model import operations
from .shapes import chain

FULL_AFTER = 3


@given(st.lists(st.tuples(st.sampled_from([INSERT, INSERT, EXPIRE, REMOVE]), st.integers(0, 9)), max_size=40))
def test_members_come_and_go_as_in_a_list(changes: list[tuple[int, int]]) -> None:
    held, twin, moves = Listed(), list[int](), 0
    held._cover(10)
    for kind, member in changes:
        if kind == INSERT and member not in twin:
            rows = Rows(*(np.array([value]) for value in (np.int8(kind), member + 100, -member, 0, member)))
            assert arrive(held.members, held.state, rows, 0) == member
            assert held.members[member, [KEY, CODE]].tolist() == [member + 100, -member]
            twin.append(member)
        elif (kind == EXPIRE and twin) or (kind == REMOVE and member in twin):
            rows = Rows(*(np.array([value]) for value in (np.int8(kind), 0, 0, 0, member)))
            gone = twin[0] if kind == EXPIRE else member
            assert depart(held.members, held.state, rows, 0) == gone
            assert held.members[gone, OLDER] == ABSENT
            assert held.members[gone, [KEY, CODE]].tolist() == [gone + 100, -gone], "known until the number is reused"
            twin.remove(gone)
        else:
            continue
        moves += 1
        assert chain(held, OLDEST, NEWEST) == twin
        assert (held.state[LIVE], held.state[TOUCHED]) == (len(held), moves) == (len(twin), held.touched)


class Counting(Members):
    """Inserts nothing but counts calls, and is full after every few operations."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.rooms = 0, 0

    def _run(self, rows: Arrays, found: Arrays) -> None:
        self.calls += 1
        kinds, probe = Rows(*rows).kind, found[0]
        while self.state[DONE] < len(kinds):
            if kinds[self.state[DONE]] == PROBE:
                if self.state[FOUND] == len(probe):
                    return
                probe[self.state[FOUND]] = found[1][self.state[FOUND]] = self.state[DONE]
                self.state[FOUND] += 1
            elif self.state[LIVE] == FULL_AFTER * (1 + self.rooms):
                return
            else:
                self.state[LIVE] += 1
            self.state[DONE] += 1

    def _make_room(self) -> None:
        self.rooms += 1


@given(st.lists(st.sampled_from([INSERT, PROBE]), max_size=40), st.integers(1, 5))
def test_a_kernel_is_called_again_after_each_full_chunk_and_each_time_that_room_is_made(
    kinds: list[int], chunk: int
) -> None:
    held = Counting()
    chunks = list(held.matches(operations([(kind, 0, 0, 0, 0) for kind in kinds]), chunk))
    found = [row for matches in chunks for row in matches.probe.tolist()]
    assert found == [row for row, kind in enumerate(kinds) if kind == PROBE]
    assert all(0 < len(matches) <= chunk for matches in chunks)
    assert held.state[LIVE] == kinds.count(INSERT) <= FULL_AFTER * (1 + held.rooms)
    assert held.rooms == max(0, -(-kinds.count(INSERT) // FULL_AFTER) - 1)


def test_a_structure_that_stops_for_room_must_be_able_to_make_some() -> None:
    held = Counting()
    held._make_room = lambda: Members._make_room(held)
    with pytest.raises(AssertionError, match="can make some"):
        held.apply(operations([(INSERT, 0, 0, 0, 0)] * (FULL_AFTER + 1)))


def test_rows_of_members_double() -> None:
    held = Listed()
    sizes = []
    for member in range(100):
        held.apply(operations([(INSERT, 0, 0, 0, member)]))
        sizes.append(len(held.members))
    assert sorted(set(sizes)) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert held.bytes_held == held.members.nbytes + held.state.nbytes
