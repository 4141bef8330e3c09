"""Operations as arrays: columns of one length, and the members that they name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, REMOVE, Matches, Operations

from .model import operations

kinds = st.sampled_from([INSERT, PROBE, EXPIRE, REMOVE])


@given(st.lists(st.tuples(kinds, st.integers(0, 99)), max_size=20))
def test_only_insertions_and_removals_name_a_member(rows: list[tuple[int, int]]) -> None:
    named = [member for kind, member in rows if kind in (INSERT, REMOVE)]
    work = operations([(kind, 0, 0, 0, member if kind in (INSERT, REMOVE) else 10**6) for kind, member in rows])
    assert len(work) == len(rows)
    assert work.largest_member() == max(named, default=-1)


def test_members_are_numbered_from_0() -> None:
    with pytest.raises(AssertionError, match="from 0"):
        operations([(REMOVE, 0, 0, 0, -1)]).largest_member()
    assert operations([(PROBE, 0, 0, 0, -1), (EXPIRE, 0, 0, 0, -1)]).largest_member() == -1


@pytest.mark.parametrize("column", range(5))
def test_columns_of_different_lengths_are_our_mistake(column: int) -> None:
    columns = [np.zeros(3 if place != column else 2, np.int64) for place in range(5)]
    with pytest.raises(AssertionError, match="one length"):
        Operations(*columns)


def test_matches_are_as_many_as_their_rows() -> None:
    assert len(Matches(np.arange(3), np.arange(3))) == 3
