"""A hash index: the members of a bucket in a chain, in the order of arrival; a probe looks at one bucket.

Keys are ids and may come in any pattern, so a bucket is found from the high bits of key × 2^64 / φ. Those are scaled to
the number of buckets, which need not be a power of two.

The number of buckets doubles when there are more than ``bucket_size`` members for each, and never halves. The chain of
arrival has all members in the order that the chains of buckets need, so they are rebuilt in one walk.
"""

from typing import ClassVar

import numpy as np

from joinfold.kernels.compiling import Arrays, Integers, kernel, part
from joinfold.kernels.hashing import HALF_BITS, scattered
from joinfold.kernels.structures.members import (
    COLUMNS,
    CURSOR,
    DONE,
    KEY,
    LIVE,
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

BUCKET_OLDER, BUCKET_NEWER = COLUMNS, COLUMNS + 1
FIRST, LAST = 0, 1

LOW_HALF = 2**32 - 1
UNLIMITED = np.iinfo(np.int64).max


class Hashed(Members):
    """Members in buckets by key: as many as ``buckets`` says, else enough for ``bucket_size`` members in each."""

    needs_key: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("bucket_size", "buckets")

    def __init__(self, bucket_size: int = 10, buckets: int | None = None) -> None:
        assert bucket_size > 0 and (buckets is None or buckets > 0)
        super().__init__(COLUMNS + 2)
        self.bucket_size = None if buckets is not None else bucket_size
        self.buckets = np.full((buckets or 1, 2), NONE, np.int64)

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return super().bytes_held + self.buckets.nbytes

    def _run(self, rows: Arrays, found: Arrays) -> None:
        room = UNLIMITED if self.bucket_size is None else self.bucket_size * len(self.buckets)
        _run(rows, found, self.members, self.state, self.buckets, room)

    def _make_room(self) -> None:
        self.buckets = np.full((2 * len(self.buckets), 2), NONE, np.int64)
        _fill_buckets(self.members, self.state, self.buckets)


@kernel
def _run(
    row_arrays: Arrays, found_arrays: Arrays, members: Integers, state: Integers, buckets: Integers, room: int
) -> None:
    """Do operations (see ``members``) on buckets int64[B, 2] while there are at most ``room`` members.

    Cost: O(1), for a probe O(members of its bucket).
    """
    rows, found = Rows(*row_arrays), Found(*found_arrays)
    while state[DONE] < rows.kind.size:
        row = state[DONE]
        if rows.kind[row] == PROBE:
            first = buckets[_bucket_of(buckets, rows.key[row]), FIRST]
            probe_chain(members, state, rows, row, found, first, BUCKET_NEWER)
            if state[CURSOR] != NONE:
                return
        elif rows.kind[row] == INSERT:
            if state[LIVE] >= room:
                return
            _append(members, buckets, arrive(members, state, rows, row))
        else:
            _take_out(members, buckets, depart(members, state, rows, row))
        state[DONE] += 1


@part
def _bucket_of(buckets: Integers, key: int) -> int:
    bucket: int = (scattered(key) & LOW_HALF) * buckets.shape[0] >> HALF_BITS
    return bucket


@part
def _append(members: Integers, buckets: Integers, member: int) -> None:
    """Put a member at the new end of its bucket. Cost: O(1)."""
    bucket = _bucket_of(buckets, members[member, KEY])
    last = buckets[bucket, LAST]
    members[member, BUCKET_OLDER] = last
    members[member, BUCKET_NEWER] = NONE
    if last == NONE:
        buckets[bucket, FIRST] = member
    else:
        members[last, BUCKET_NEWER] = member
    buckets[bucket, LAST] = member


@part
def _take_out(members: Integers, buckets: Integers, member: int) -> None:
    """Take a member out of its bucket. Cost: O(1)."""
    older, newer = members[member, BUCKET_OLDER], members[member, BUCKET_NEWER]
    if older == NONE or newer == NONE:
        bucket = _bucket_of(buckets, members[member, KEY])
        if older == NONE:
            buckets[bucket, FIRST] = newer
        if newer == NONE:
            buckets[bucket, LAST] = older
    if older != NONE:
        members[older, BUCKET_NEWER] = newer
    if newer != NONE:
        members[newer, BUCKET_OLDER] = older


@kernel
def _fill_buckets(members: Integers, state: Integers, buckets: Integers) -> None:
    """Put all members into empty buckets, the oldest first. Cost: O(members)."""
    member = state[OLDEST]
    while member != NONE:
        _append(members, buckets, member)
        member = members[member, NEWER]
