"""A branch office and the backbone behind it: who sends how much to whom, seen at two places.

Hosts are popular by a Zipf law, as sources and as destinations. Packet n of the branch crosses to the
backbone with probability ``shared``: then packet n of the backbone has its source, destination and bytes, and
`A.src = B.src AND A.dest = B.dest` finds the pair (and, popular hosts being popular, others). The rest of the
backbone is traffic that the branch never saw.

The backbone makes its copies by drawing the branch's columns again, which are pure functions of their names.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.workloads.arrival import START_US, Clock
from joinfold.workloads.checks import (
    require_not_negative,
    require_positive,
    require_share,
    require_whole_number,
)
from joinfold.workloads.draws import ROWS_PER_BLOCK, Block, Whole, blocks, share_out
from joinfold.workloads.tables import TIMESTAMP, pick, stream_schema, table_of

SCHEMA = stream_schema(src=pa.string(), dest=pa.string(), ts=TIMESTAMP, bytes=pa.int64())
STREAMS = ("backbone", "branch")
MOST_HOSTS = 2**24
ADDRESS_STEP = 10_368_889
"""Odd, so that i · step mod 2^24 is another address for every host; about 0.618 · 2^24, to scatter them."""

PACKET_BYTES = np.array([40, 52, 64, 128, 256, 576, 1_024, 1_500, 1_500, 1_500], dtype=np.int64)
"""The sizes that packets have, as often as they are listed: acknowledgements and full frames abound."""


@dataclass(frozen=True, slots=True)
class PacketParameters:
    """The network.

    ``rows_per_second``: packets per second of event time at each of the two places.
    ``shared``: the share of the branch's packets that the backbone sees too.
    ``zipf``: the exponent of the hosts' popularity; 0 makes them equal.
    """

    rows_per_second: float = 10_000
    hosts: int = 10_000
    zipf: float = 1.0
    shared: float = 0.3
    start_us: int = START_US

    def __post_init__(self) -> None:
        require_positive("rows_per_second", self.rows_per_second)
        require_whole_number("hosts", self.hosts, minimum=2)
        if self.hosts > MOST_HOSTS:
            raise UsageError(f"hosts must be at most {MOST_HOSTS}, the size of 10.0.0.0/8, not {self.hosts}")
        require_not_negative("zipf", self.zipf)
        require_share("shared", self.shared)
        require_whole_number("start_us", self.start_us, minimum=0)

    @property
    def addresses(self) -> pa.Array:
        """The hosts' addresses in 10.0.0.0/8, the most popular first, all different."""
        numbers = (np.arange(1, self.hosts + 1, dtype=np.int64) * ADDRESS_STEP) % MOST_HOSTS
        return pa.array([f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in numbers.tolist()], pa.string())

    @property
    def clock(self) -> Clock:
        """The clock of either stream."""
        return Clock((self.rows_per_second,), self.start_us)


def packet_schemas(parameters: PacketParameters) -> dict[str, pa.Schema]:
    """backbone and branch, which are alike."""
    return dict.fromkeys(STREAMS, SCHEMA)


def packet_tables(rows: int, seed: int, parameters: PacketParameters) -> Iterator[dict[str, pa.Table]]:
    """Both streams side by side, block by block, in event order."""
    counts = share_out(rows, dict.fromkeys(STREAMS, 1.0))
    addresses = parameters.addresses
    for step in blocks(seed, counts, dict.fromkeys(STREAMS, ROWS_PER_BLOCK // 2)):
        packets = {stream: _packets(block, parameters) for stream, block in step.items()}
        backbone = step["backbone"]
        crossing = backbone.chosen("crossing", parameters.shared)
        seen_at_branch = _packets(replace(backbone, stream="branch"), parameters)
        packets["backbone"] = tuple(
            np.where(crossing, theirs, own) for theirs, own in zip(seen_at_branch, packets["backbone"], strict=True)
        )
        yield {
            stream: table_of(
                SCHEMA,
                src=pick(addresses, sources),
                dest=pick(addresses, destinations),
                ts=parameters.clock.scattered_us(step[stream]),
                bytes=sizes,
            )
            for stream, (sources, destinations, sizes) in packets.items()
        }


def _packets(block: Block, parameters: PacketParameters) -> tuple[Whole, ...]:
    """Sources, destinations (never the source itself) and bytes."""
    sources = block.zipf("src", parameters.hosts, parameters.zipf)
    destinations = block.zipf("dest", parameters.hosts, parameters.zipf)
    destinations = np.where(destinations == sources, (destinations + 1) % parameters.hosts, destinations)
    return sources, destinations, PACKET_BYTES[block.whole_numbers("bytes", len(PACKET_BYTES))]
