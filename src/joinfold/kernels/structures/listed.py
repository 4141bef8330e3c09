"""No index: a probe looks at every member, in the order of arrival (Kang's nested loops)."""

from joinfold.kernels.compiling import Integers, kernel, part
from joinfold.kernels.structures.members import (
    CODE,
    CURSOR,
    DONE,
    FOUND,
    KEY,
    NEWER,
    NONE,
    OLDEST,
    TOUCHED,
    Members,
    Rows,
    arrive,
    depart,
)
from joinfold.kernels.structures.operations import INSERT, PROBE, Kinds


class Listed(Members):
    """Members that are only in the chain of arrival."""

    def _run(self, rows: Rows, probe: Integers, member: Integers) -> None:
        _run(*rows, self.members, self.state, probe, member)


@kernel
def _run(
    kind: Kinds,
    key: Integers,
    low: Integers,
    high: Integers,
    member: Integers,
    members: Integers,
    state: Integers,
    probes: Integers,
    found: Integers,
) -> None:
    """Do operations (see ``members``). Cost: O(1), O(members) for a probe."""
    while state[DONE] < kind.size:
        row = state[DONE]
        if kind[row] == PROBE:
            _probe(members, state, row, key[row], low[row], high[row], probes, found)
            if state[CURSOR] != NONE:
                return
        elif kind[row] == INSERT:
            arrive(members, state, member[row], key[row], low[row])
        else:
            depart(members, state, kind[row], member[row])
        state[DONE] += 1


@part
def _probe(
    members: Integers,
    state: Integers,
    row: int,
    key: int,
    low: int,
    high: int,
    probes: Integers,
    found: Integers,
) -> None:
    """Write matches from the cursor on, while there is place."""
    cursor = state[OLDEST] if state[CURSOR] == NONE else state[CURSOR]
    count, visited = state[FOUND], 0
    while cursor != NONE and count < found.size:
        if members[cursor, KEY] == key and low <= members[cursor, CODE] <= high:
            probes[count] = row
            found[count] = cursor
            count += 1
        cursor = members[cursor, NEWER]
        visited += 1
    state[CURSOR] = cursor
    state[FOUND] = count
    state[TOUCHED] += visited
