"""Network packets seen at a branch office and on the backbone: source, destination and size.

The popularity of hosts, as sources and as destinations, follows a Zipf distribution. With probability ``shared``,
packet n of the branch is also on the backbone: packet n of the backbone then has the same source, destination and
bytes. `A.src = B.src AND A.dest = B.dest` finds this pair, and also other pairs of popular hosts. The other packets of
the backbone were never at the branch.

The backbone copies a packet by drawing the columns of the branch again, which are pure functions of their names.
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
"""Odd, so that i · step mod 2^24 is different for every host i; about 0.618 · 2^24, to scatter the addresses."""

PACKET_BYTES = np.array([40, 52, 64, 128, 256, 576, 1_024, 1_500, 1_500, 1_500], dtype=np.int64)
"""The sizes of packets, each with the frequency with which it is listed: small and full packets are frequent."""


@dataclass(frozen=True, slots=True)
class PacketParameters:
    """The parameters of the network.

    ``rows_per_second``: packets per second of event time in each of the two streams.
    ``shared``: the share of the branch's packets that are also on the backbone.
    ``zipf``: the exponent of the popularity of hosts; with 0 all hosts are equally popular.
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
    """The schemas of backbone and branch, which are the same."""
    return dict.fromkeys(STREAMS, SCHEMA)


def packet_tables(rows: int, seed: int, parameters: PacketParameters) -> Iterator[dict[str, pa.Table]]:
    """The rows of both streams, block by block, in the order of event time."""
    counts = share_out(rows, dict.fromkeys(STREAMS, 1.0))
    addresses = parameters.addresses
    for step in blocks(seed, counts, dict.fromkeys(STREAMS, ROWS_PER_BLOCK // 2)):
        packets = {stream: _packets(block, parameters) for stream, block in step.items()}
        backbone = step["backbone"]
        crossing = backbone.chosen("crossing", parameters.shared)
        seen_at_branch = _packets(replace(backbone, stream="branch"), parameters)
        packets["backbone"] = tuple(
            np.where(crossing, branch, other) for branch, other in zip(seen_at_branch, packets["backbone"], strict=True)
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
    """Sources, destinations (always different from the source) and bytes."""
    sources = block.zipf("src", parameters.hosts, parameters.zipf)
    destinations = block.zipf("dest", parameters.hosts, parameters.zipf)
    destinations = np.where(destinations == sources, (destinations + 1) % parameters.hosts, destinations)
    return sources, destinations, PACKET_BYTES[block.whole_numbers("bytes", len(PACKET_BYTES))]
