"""Where the entries of an input come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamRows:
    """A stream of the query, by its number."""

    stream: int


@dataclass(frozen=True, slots=True)
class ViewOf:
    """The view of an earlier stage, by the number of the stage. A new row of a group replaces the row before."""

    stage: int


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """One row that never changes. A query over a single stream is joined with it."""


InputSource = StreamRows | ViewOf | ConstantRow
