"""No index: a probe looks at every member, in the order of arrival (Kang's nested loops)."""

from joinfold.kernels.compiling import Arrays, Integers, kernel
from joinfold.kernels.structures.members import (
    CURSOR,
    DONE,
    NEWER,
    NONE,
    OLDEST,
    Found,
    Members,
    Rows,
    arrive,
    depart,
    probe_chain,
)
from joinfold.kernels.structures.operations import INSERT, PROBE


class Listed(Members):
    """Members that are only in the chain of arrival."""

    def _run(self, rows: Arrays, found: Arrays) -> None:
        _run(rows, found, self.members, self.state)


@kernel
def _run(row_arrays: Arrays, found_arrays: Arrays, members: Integers, state: Integers) -> None:
    """Do operations (see ``members``). Cost: O(1), O(members) for a probe."""
    rows, found = Rows(*row_arrays), Found(*found_arrays)
    while state[DONE] < rows.kind.size:
        row = state[DONE]
        if rows.kind[row] == PROBE:
            probe_chain(members, state, rows, row, found, state[OLDEST], NEWER)
            if state[CURSOR] != NONE:
                return
        elif rows.kind[row] == INSERT:
            arrive(members, state, rows, row)
        else:
            depart(members, state, rows, row)
        state[DONE] += 1
