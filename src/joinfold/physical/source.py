"""Where the entries of an input come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamRows:
    """A stream of the query, by its number."""

    stream: int


@dataclass(frozen=True, slots=True)
class ViewOf:
    """The totals of an earlier stage, by its number: a row of a group takes the place of the row before."""

    stage: int


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """One row that is always there: what a query over a single stream is joined with."""


InputSource = StreamRows | ViewOf | ConstantRow
