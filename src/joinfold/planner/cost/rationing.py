"""How a plain join that sheds is expected to divide its budgets among its streams.

It is the division that buckets make when the query runs (`shedding.allocation`), with expected rates and windows. So
structures are chosen for the windows as they will be, and for the rows that will probe them. What KEEP UP will shed is
not known beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from joinfold.logical.shedding import AllTo, HoldBytes, HoldRows, Process
from joinfold.physical.shedding import PairRationing
from joinfold.shedding.allocation import AllToOne, Demand, Share, allocate


@dataclass(frozen=True, slots=True)
class ExpectedStream:
    """A stream: its name, rows per second, rows in its window, and the bytes of a row there."""

    name: str
    rate: float
    rows: float
    row_bytes: float


def expected_shares(shedding: PairRationing, streams: Sequence[ExpectedStream]) -> tuple[Share, ...]:
    """The share of each stream in the budgets."""
    probes: float | None = None
    room: float | None = None
    sizes = [1.0] * len(streams)
    for budget in shedding.budgets:
        match budget:
            case Process(rows_per_second=most):
                probes = most
            case HoldRows(rows=most):
                room = most
            case HoldBytes(size_bytes=most):
                room, sizes = most, [stream.row_bytes for stream in streams]
    demands = [
        Demand(stream.rate, stream.rows, shedding.least_rows_per_second, shedding.least_rows, size)
        for stream, size in zip(streams, sizes, strict=True)
    ]
    if room is not None:  # bytes may be too few for what each stream gets at least
        room = max(room, sum(min(own.least_rows, own.rows) * own.row_size for own in demands))
    favour = shedding.favour
    if isinstance(favour, AllTo):
        names = [stream.name for stream in streams]
        return allocate(demands, probes, room, AllToOne(names.index(favour.alias)))
    return allocate(demands, probes, room, favour)
