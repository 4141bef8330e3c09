"""What a structure must do, said with a dictionary: members by arrival, and every probe looks at all of them."""

from collections.abc import Iterator

import numpy as np

from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, REMOVE, Operations, Structure

Row = tuple[int, int, int, int, int]
"""kind, key, low, high, member"""

UNREAD = 77  # stands where a structure must not look


class Model:
    """Collects operations and what they must find."""

    def __init__(self) -> None:
        self.members: dict[int, tuple[int, int]] = {}
        self.rows: list[Row] = []
        self.expected: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._numbers = 0

    def insert(self, key: int, code: int) -> int:
        if self._free:
            member = self._free.pop()
        else:
            member, self._numbers = self._numbers, self._numbers + 1
        self.members[member] = (key, code)
        self.rows.append((INSERT, key, code, UNREAD, member))
        return member

    def expire(self) -> None:
        self._forget(next(iter(self.members)))
        self.rows.append((EXPIRE, UNREAD, UNREAD, UNREAD, -UNREAD))

    def remove(self, member: int) -> None:
        self._forget(member)
        self.rows.append((REMOVE, UNREAD, UNREAD, UNREAD, member))

    def _forget(self, member: int) -> None:
        del self.members[member]
        self._free.append(member)

    def probe(self, key: int, low: int, high: int) -> int:
        found = [member for member, (other, code) in self.members.items() if other == key and low <= code <= high]
        self.expected += [(len(self.rows), member) for member in found]
        self.rows.append((PROBE, key, low, high, -UNREAD))
        return len(found)

    def take(self) -> tuple[Operations, list[tuple[int, int]]]:
        """The operations since the last call, and all (row, member) that match, sorted."""
        taken = operations(self.rows), sorted(self.expected)
        self.rows, self.expected = [], []
        return taken


def operations(rows: list[Row]) -> Operations:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    return Operations(*(np.array(column, dtype) for column, dtype in zip(columns, "bilql", strict=True)))


def found(structure: Structure, work: Operations, chunk: int) -> list[tuple[int, int]]:
    """All (row, member) that match, sorted; the chunks are as large as they may be, and their rows ascend."""
    chunks = list(structure.matches(work, chunk))
    assert all(0 < len(matches) <= chunk for matches in chunks)
    pairs = [pair for matches in chunks for pair in zip(matches.probe.tolist(), matches.member.tolist(), strict=True)]
    assert [row for row, _ in pairs] == sorted(row for row, _ in pairs)
    return sorted(pairs)


def sliding_window(rows: int, window: int, seed: int) -> Iterator[Row]:
    """Members that arrive one by one, each taking the number of the one that has just left."""
    rng = np.random.default_rng(seed)
    for row, (key, code) in enumerate(zip(rng.integers(0, 50, rows), rng.integers(0, 1000, rows), strict=True)):
        if row >= window:
            yield (EXPIRE, 0, 0, 0, 0)
        yield (INSERT, int(key), int(code), 0, row % window)
