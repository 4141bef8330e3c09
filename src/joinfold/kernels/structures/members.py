"""The members of a window in the order of their arrival: what every structure has, and how each one is run.

A row of ``members`` int64[room, columns] belongs to each number of a member::

    KEY   CODE   OLDER   NEWER   columns of the structure
                   │       └───▶ the member that arrived next, NONE if it is the newest
                   └───────────▶ the one before, NONE if it is the oldest, ABSENT if the member is not there

``state`` int64[STATES] has the ends of this chain, the counters, and where a kernel stopped.

A kernel does operations until it has filled a chunk with matches, even in the middle of a probe, or until its structure
has no room; ``Members.matches`` hands the chunk on, or makes room, and calls it again. The loop of every kernel is::

    while state[DONE] < rows.kind.size:
        row = state[DONE]
        if rows.kind[row] == PROBE:
            write matches from the cursor on, while there is place
            if state[CURSOR] != NONE:
                return
        elif rows.kind[row] == INSERT:
            if there is no room:
                return
            insert(…, arrive(members, state, rows, row))
        else:
            remove(…, depart(members, state, rows, row))
        state[DONE] += 1

It stands in each structure. A shared loop would get the structure's functions as arguments: numba then either cannot
cache the kernel or takes two to three times as long to compile a tree.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Integers, part, readable
from joinfold.kernels.structures.operations import CHUNK, EXPIRE, Kinds, Matches, Operations

KEY, CODE, OLDER, NEWER = 0, 1, 2, 3
COLUMNS = 4
NONE, ABSENT = -1, -2

OLDEST, NEWEST, LIVE, TOUCHED = 0, 1, 2, 3
DONE = 4  # operations that are done
FOUND = 5  # matches that are written
CURSOR, POSITION = 6, 7  # where the probe under way goes on (a member or a node), NONE if none is; the place in a node
ROOT, LEVELS = 8, 9  # of trees
STATES = 10


class Rows(NamedTuple):
    """The columns of n operations, as kernels read them."""

    kind: Kinds  # [n]
    key: Integers  # [n]
    low: Integers  # [n]
    high: Integers  # [n]
    member: Integers  # [n]


class Found(NamedTuple):
    """A chunk of matches, to be written."""

    probe: Integers  # [chunk]: the row of the operation
    member: Integers  # [chunk]


class Members(ABC):
    """The chain of arrival. A structure adds ``_run`` and, if it can be full, ``_make_room``.

    Memory follows the largest number of members that was ever there at once; none is given back.
    """

    needs_key: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, columns: int = COLUMNS) -> None:
        self.members = np.empty((0, columns), np.int64)
        self.state = np.zeros(STATES, np.int64)
        self.state[[OLDEST, NEWEST, CURSOR]] = NONE
        self._running = False

    def __len__(self) -> int:
        return int(self.state[LIVE])

    @property
    def oldest(self) -> int:
        """The member that arrived first of those that are there, −1 if there is none. Cost: O(1)."""
        return int(self.state[OLDEST])

    @property
    def touched(self) -> int:
        """How many members and records of nodes were looked at so far, plus one for each member that came or went."""
        return int(self.state[TOUCHED])

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.members.nbytes + self.state.nbytes

    def matches(self, operations: Operations, chunk: int = CHUNK) -> Iterator[Matches]:
        """Do the operations; what their probes find, in chunks of 1 to ``chunk``. Must be read to the end.

        Memory: O(chunk), however many a single probe finds.
        """
        assert chunk > 0
        assert not self._running, "the matches of the operations before were not read to the end"
        self._running = True
        self._cover(operations.largest_member() + 1)
        rows = (
            readable(operations.kind, np.int8),
            readable(operations.key, np.int64),  # as in members, so that no kernel is compiled twice
            readable(operations.low, np.int64),
            readable(operations.high, np.int64),
            readable(operations.member, np.int64),
        )
        chunks = probe, member = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
        self.state[DONE] = 0
        while self.state[DONE] < len(operations):
            self.state[FOUND] = 0
            self._run(rows, chunks)
            found = int(self.state[FOUND])
            if found > 0:
                yield Matches(probe[:found].copy(), member[:found].copy())
            if found < chunk and self.state[DONE] < len(operations):
                self._make_room()
        self._running = False

    def apply(self, operations: Operations) -> Matches:
        """Do the operations; all that their probes find."""
        found = [Matches(np.empty(0, np.int64), np.empty(0, np.int64)), *self.matches(operations)]
        return Matches(
            np.concatenate([matches.probe for matches in found]), np.concatenate([matches.member for matches in found])
        )

    @abstractmethod
    def _run(self, rows: Arrays, found: Arrays) -> None:
        """Do operations from state[DONE] on, and write what they match behind the state[FOUND] that are written.

        If there is still place for matches and not all is done, then there was no room.
        """

    def _make_room(self) -> None:
        """Make sure that the next operation has room."""
        raise AssertionError("a structure that stops for room can make some")

    def _cover(self, members: int) -> None:
        """Have a row for each of so many members. Cost: O(1), seldom O(members): room doubles."""
        if members > len(self.members):
            longer = np.empty((max(members, 2 * len(self.members)), self.members.shape[1]), np.int64)
            longer[: len(self.members)] = self.members
            longer[len(self.members) :, OLDER] = ABSENT
            self.members = longer


@part
def probe_chain(members: Integers, state: Integers, rows: Rows, row: int, found: Found, first: int, newer: int) -> None:
    """Look at a chain of members, from the cursor or its first on, and write matches while there is place.

    ``newer`` is the column with the next member of the chain. Cost: O(members of the chain).
    """
    key, low, high = rows.key[row], rows.low[row], rows.high[row]
    cursor = first if state[CURSOR] == NONE else state[CURSOR]
    count, visited = state[FOUND], 0
    while cursor != NONE and count < found.member.size:
        if members[cursor, KEY] == key and low <= members[cursor, CODE] <= high:
            found.probe[count] = row
            found.member[count] = cursor
            count += 1
        cursor = members[cursor, newer]
        visited += 1
    state[CURSOR] = cursor
    state[FOUND] = count
    state[TOUCHED] += visited


@part
def arrive(members: Integers, state: Integers, rows: Rows, row: int) -> int:
    """Put the member of an insertion at the new end of the chain; which it was. Cost: O(1)."""
    member: int = rows.member[row]
    assert members[member, OLDER] == ABSENT, "a member that is there cannot be inserted"
    newest = state[NEWEST]
    members[member, KEY] = rows.key[row]
    members[member, CODE] = rows.low[row]
    members[member, OLDER] = newest
    members[member, NEWER] = NONE
    if newest == NONE:
        state[OLDEST] = member
    else:
        members[newest, NEWER] = member
    state[NEWEST] = member
    state[LIVE] += 1
    state[TOUCHED] += 1
    return member


@part
def depart(members: Integers, state: Integers, rows: Rows, row: int) -> int:
    """Take out of the chain the oldest member (EXPIRE) or the one that is named; which it was. Cost: O(1).

    Its key and code stay until another one has its number.
    """
    member: int = state[OLDEST] if rows.kind[row] == EXPIRE else rows.member[row]
    assert member != NONE and members[member, OLDER] != ABSENT, "a member that is not there cannot leave"
    older, newer = members[member, OLDER], members[member, NEWER]
    if older == NONE:
        state[OLDEST] = newer
    else:
        members[older, NEWER] = newer
    if newer == NONE:
        state[NEWEST] = older
    else:
        members[newer, OLDER] = older
    members[member, OLDER] = ABSENT
    state[LIVE] -= 1
    state[TOUCHED] += 1
    return member
