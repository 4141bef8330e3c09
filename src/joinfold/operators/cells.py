"""The entries of an input by cell, and which cells come and go when a window moves."""

from bisect import bisect_left, insort

from joinfold.operators.entries import Entries


def cells_gone(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window no longer holds; all of them where it goes back."""
    return (before[0], min(now[0], before[1])) if now[0] >= before[0] else before


def cells_new(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cells that a window holds and did not hold before."""
    return (max(now[0], before[1]), now[1]) if now[0] >= before[0] else now


class Cells:
    """The entries of an input's cells, in order of the cells."""

    def __init__(self) -> None:
        self.entries: dict[int, list[Entries]] = {}
        self.order: list[int] = []

    def __len__(self) -> int:
        return len(self.order)

    def add(self, cell: int, entries: Entries) -> None:
        """Puts entries into a cell."""
        if cell not in self.entries:
            insort(self.order, cell)
        self.entries.setdefault(cell, []).append(entries)

    @property
    def held(self) -> int:
        """How many entries there are."""
        return sum(map(len, self.all()))

    def all(self) -> list[Entries]:
        """The entries of all cells, in order."""
        return [entries for cell in self.order for entries in self.entries[cell]]

    def replace(self, entries: list[Entries]) -> None:
        """Puts others in the places of all entries."""
        others = iter(entries)
        for cell in self.order:
            self.entries[cell] = [next(others) for _ in self.entries[cell]]

    def between(self, first: int, end: int) -> list[int]:
        """The cells from first to end, exclusive, that have entries."""
        return self.order[bisect_left(self.order, first) : bisect_left(self.order, end)]

    def drop_before(self, first: int) -> None:
        """Forgets the cells before this one."""
        gone = bisect_left(self.order, first)
        for cell in self.order[:gone]:
            del self.entries[cell]
        del self.order[:gone]
