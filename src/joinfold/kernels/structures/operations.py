"""What is asked of a structure: a sequence of operations, and the matches that its probes find.

A structure indexes the *members* of one window. A member is a number that the caller gives; numbers are dense, and used
again after their member has gone. A member has a key (the equality part of a join, 0 where there is none) and a code
(the part that an inequality or a band compares, 0 where there is none).

Operations are rows of arrays. They are done in their order and within one compiled call, so the interpreter takes no
part in what a structure costs::

    kind      INSERT          PROBE                        EXPIRE               REMOVE
    key       of the member   of the members wanted
    low       its code        their least code
    high                      their largest code
    member    its number                                                        its number
                                                           the oldest leaves    any one leaves

Columns that are empty in this table are not read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.compiling import Ids, Integers

INSERT, PROBE, EXPIRE, REMOVE = 0, 1, 2, 3

CHUNK = 65536

Kinds: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Operations:
    """A sequence of operations: kind int8[n], key int32[n], low, high and member int64[n]."""

    kind: Kinds
    key: Ids
    low: Integers
    high: Integers
    member: Integers

    def __post_init__(self) -> None:
        lengths = {len(column) for column in (self.kind, self.key, self.low, self.high, self.member)}
        assert len(lengths) == 1, "columns of one length"

    def __len__(self) -> int:
        return len(self.kind)

    def largest_member(self) -> int:
        """The largest number of a member that an operation names, −1 if none does. Cost: O(n)."""
        named = self.member[(self.kind == INSERT) | (self.kind == REMOVE)]
        assert named.min(initial=0) >= 0, "members are numbered from 0"
        return int(named.max(initial=-1))


@dataclass(frozen=True, slots=True)
class Matches:
    """What probes found: the row of the operation, int64[m] and ascending, and a member that it matches, int64[m]."""

    probe: Integers
    member: Integers

    def __len__(self) -> int:
        return len(self.probe)


class Structure(Protocol):
    """The members of a window, so arranged that probes find theirs.

    ``needs_key`` says that only joins with an equality can be served; ``parameters`` are the names of what can be set.
    """

    needs_key: ClassVar[bool]
    parameters: ClassVar[tuple[str, ...]]

    def __init__(self, **parameters: int) -> None: ...

    def matches(self, operations: Operations, chunk: int = CHUNK) -> Iterator[Matches]:
        """Do the operations; what their probes find, in chunks of 1 to ``chunk``. Must be read to the end.

        A probe finds the members of its key with low ≤ code ≤ high, each once, in an order that depends on nothing
        but the operations. An operation on what is not there, or an insertion of what is, is our own mistake.
        """
        ...

    def apply(self, operations: Operations) -> Matches:
        """Do the operations; all that their probes find."""
        ...

    def __len__(self) -> int: ...

    @property
    def oldest(self) -> int:
        """The member that arrived first of those that are there, −1 if there is none. Cost: O(1)."""
        ...

    @property
    def touched(self) -> int:
        """How many members and records of nodes were looked at so far, plus one for each member that came or went."""
        ...

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        ...
