"""The members of a window: a queue, whose sums are watched for how far they may have drifted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import END
from joinfold.operators.windows.members import Members
from tests.operators.made import entries, pieces

lengths = st.lists(st.integers(1, 4), min_size=12, max_size=12)


@given(values=st.lists(st.sampled_from([1e20, -1e20, 0.5, 3.0]), min_size=1, max_size=12), enter=lengths, leave=lengths)
def test_a_sum_weighs_what_its_entries_do(values: list[float], enter: list[int], leave: list[int]) -> None:
    """Whichever of them enter and leave together."""
    members = Members(1, 1, 1, 0, merged=True, by_leave=False)
    everything = entries(list(range(len(values))), 1, values)
    for part in pieces(everything, enter):
        members.enter(part, np.full(len(part), END))
    left = 0
    for part in pieces(everything, leave):
        assert members.payload.drift is not None
        weight, turnover = members.payload.drift[0]
        assert abs(weight - np.abs(values[left:]).sum()) <= turnover * 2.0**-51
        left += len(part)
        assert len(members) == 1
        members.leave(part)
    assert len(members) == 0


@given(enter=lengths, leave=lengths, ahead=st.integers(1, 3))
def test_a_window_is_a_queue_however_entries_come_together(enter: list[int], leave: list[int], ahead: int) -> None:
    members = Members(1, 1, 0, 0, merged=False, by_leave=False)
    come, gone = (pieces(entries(list(range(12))), own) for own in (enter, leave))
    inside = 0
    for part in gone:
        while come and inside < len(part) + ahead:
            members.enter(come[0], come[0].cells + 5)
            inside += len(come.pop(0))
        slots = members.leave(part)
        assert members.cells[slots].tolist() == part.cells.tolist()
        assert (members.leaves[slots] == part.cells + 5).all()
        inside -= len(part)
    assert inside == len(members) == 0
