"""What the windows would hold if nothing were shed: rows, entries and bytes of all cells that are still needed.

    cells      ├───────┼────┼──┼──┼─┤      one part per micro-batch; older neighbours are merged
    needed          ├───────────────┤      parts before it are dropped

Headers tell it, so every bucket knows the load of all buckets together.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class LoadPart:
    """The entries of some micro-batches, up to a cell."""

    last_cell: int
    rows: int
    entries: int
    size_bytes: int

    def __add__(self, later: "LoadPart") -> "LoadPart":
        return LoadPart(
            max(self.last_cell, later.last_cell),
            self.rows + later.rows,
            self.entries + later.entries,
            self.size_bytes + later.size_bytes,
        )

    def at_most(self, rows: float) -> "LoadPart":
        """The same load, or the share of it that has only this many rows."""
        if self.rows <= rows:
            return self
        share = rows / self.rows
        return LoadPart(self.last_cell, *(int(share * own) for own in (self.rows, self.entries, self.size_bytes)))


@dataclass(slots=True)
class LiveLoad:
    """The parts of each stream, oldest first."""

    parts: dict[int, list[LoadPart]] = field(default_factory=dict)

    def see(self, stream: int, part: LoadPart) -> None:
        """Adds the entries of a micro-batch of a stream."""
        parts = self.parts.setdefault(stream, [])
        parts.append(part)
        if len(parts) > MOST_PARTS:
            merged = [first + second for first, second in zip(parts[:-1:2], parts[1::2], strict=True)]
            self.parts[stream] = merged + parts[2 * len(merged) :]

    def forget(self, first_cells: Mapping[int, int]) -> None:
        """Drops the parts whose cells are no longer needed."""
        for stream, parts in self.parts.items():
            self.parts[stream] = [part for part in parts if part.last_cell >= first_cells[stream]]

    def last_cells(self) -> dict[int, int]:
        """The largest cell of each stream that has entries."""
        return {stream: max(part.last_cell for part in parts) for stream, parts in self.parts.items() if parts}

    def of(self, stream: int) -> LoadPart:
        """The load of one stream."""
        return sum(self.parts.get(stream, []), LoadPart(0, 0, 0, 0))

    @property
    def total(self) -> LoadPart:
        """The load of all streams together."""
        return sum((part for parts in self.parts.values() for part in parts), LoadPart(0, 0, 0, 0))

    def facts(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The parts as they are stored, by the names of the streams."""
        return {names[stream]: [list(astuple(part)) for part in parts] for stream, parts in self.parts.items()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], names: tuple[str, ...]) -> "LiveLoad":
        """The inverse of `facts`."""
        return cls({names.index(name): [LoadPart(*part) for part in parts] for name, parts in facts.items()})
