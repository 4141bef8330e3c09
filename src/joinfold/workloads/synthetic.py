"""Streams a, b, … of (ts, key, g, v), with all parameters of the papers' experiments.

If keys are uniform, two rows of different streams match with probability 1/keys. This is the selectivity of Kang, Wang
and Tran, which may be given instead of ``keys``. ``zipf`` makes some keys more frequent, ``bursts`` makes the rate vary
from second to second, and disorder delays a share of the rows. All columns are independent.

R1 and R0 are the streams of joinfold's speed targets. ``bursts=wang_bursts()`` is Fig 4 of Wang.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.workloads.arrival import START_US, Clock, in_arrival_order
from joinfold.workloads.checks import (
    require_disorder,
    require_not_negative,
    require_positive,
    require_share,
    require_whole_number,
)
from joinfold.workloads.draws import ROWS_PER_BLOCK, Block, blocks, share_out
from joinfold.workloads.tables import TIMESTAMP, stream_schema, table_of

STREAM_NAMES = "abcdefghijklmnopqrstuvwxyz"
VALUES = 100
DEFAULT_ROWS_PER_SECOND = 10_000
DEFAULT_KEYS = 10_000
SELECTIVITY_TOLERANCE = 0.01
SCHEMA = stream_schema(ts=TIMESTAMP, key=pa.int64(), g=pa.int64(), v=pa.int64())


@dataclass(frozen=True, slots=True)
class SyntheticParameters:
    """The parameters of the papers' experiments.

    ``rows_per_second``: rows per second of event time, for all streams or one number per stream (default 10,000).
    ``seconds``: the length of the streams, instead of a number of rows.
    ``keys`` or ``selectivity``: the number of distinct keys (default 10,000), or the probability 1/keys of a match.
    ``bursts``: the numbers of rows in second 0, 1, … of every stream, repeated; replaces ``rows_per_second``.
    """

    streams: int = 2
    rows_per_second: float | tuple[float, ...] | None = None
    seconds: float | None = None
    keys: int | None = None
    selectivity: float | None = None
    groups: int = 100
    zipf: float = 0.0
    bursts: tuple[float, ...] = ()
    disorder_share: float = 0.0
    disorder_depth_seconds: float = 0.0
    start_us: int = START_US

    def __post_init__(self) -> None:
        require_whole_number("streams", self.streams, minimum=2)
        if self.streams > len(STREAM_NAMES):
            raise UsageError(f"streams must be at most {len(STREAM_NAMES)}, not {self.streams}")
        if self.seconds is not None:
            require_positive("seconds", self.seconds)
        require_whole_number("groups", self.groups)
        require_not_negative("zipf", self.zipf)
        require_disorder(self.disorder_share, self.disorder_depth_seconds)
        require_whole_number("start_us", self.start_us, minimum=0)
        self._check_rate()
        self._check_keys()

    def _check_rate(self) -> None:
        if isinstance(self.rows_per_second, tuple):
            if len(self.rows_per_second) != self.streams:
                raise UsageError(
                    f"rows_per_second has {len(self.rows_per_second)} numbers for {self.streams} streams",
                    "give one number for all streams, or one for each.",
                )
            for rate in self.rows_per_second:
                require_positive("rows_per_second", rate)
        elif self.rows_per_second is not None:
            require_positive("rows_per_second", self.rows_per_second)
        if not isinstance(self.bursts, tuple):
            raise UsageError(f"bursts must be a tuple of numbers, not {self.bursts!r}")
        for rate in self.bursts:
            require_not_negative("bursts", rate)
        if self.bursts and sum(self.bursts) == 0:
            raise UsageError("bursts must be above 0 in at least one second")
        if self.bursts and self.rows_per_second is not None:
            raise UsageError(
                "give rows_per_second or bursts, not both", "bursts has the number of rows in each second."
            )

    def _check_keys(self) -> None:
        if self.keys is not None:
            require_whole_number("keys", self.keys)
        if self.selectivity is None:
            return
        if self.keys is not None:
            raise UsageError("give keys or selectivity, not both", "selectivity is 1/keys.")
        require_share("selectivity", self.selectivity)
        require_positive("selectivity", self.selectivity)
        if self.zipf:
            raise UsageError("selectivity needs uniform keys, but zipf is given", "give keys instead of selectivity.")
        reached = 1 / round(1 / self.selectivity)
        if abs(reached - self.selectivity) > SELECTIVITY_TOLERANCE * self.selectivity:
            raise UsageError(
                f"selectivity {self.selectivity} is not 1/keys for a whole number of keys",
                f"the nearest is {reached:.4g}.",
            )

    @property
    def distinct_keys(self) -> int:
        """The number of distinct keys, from ``keys`` or ``selectivity``."""
        if self.selectivity is not None:
            return round(1 / self.selectivity)
        return DEFAULT_KEYS if self.keys is None else int(self.keys)

    @property
    def clocks(self) -> dict[str, Clock]:
        """The clock of each stream, by name."""
        rate = DEFAULT_ROWS_PER_SECOND if self.rows_per_second is None else self.rows_per_second
        if self.bursts:
            profiles = [self.bursts] * self.streams
        elif isinstance(rate, tuple):
            profiles = [(each,) for each in rate]
        else:
            profiles = [(rate,)] * self.streams
        names = STREAM_NAMES[: self.streams]
        return {name: Clock(profile, self.start_us) for name, profile in zip(names, profiles, strict=True)}


def synthetic_schemas(parameters: SyntheticParameters) -> dict[str, pa.Schema]:
    """The schemas of streams a, b, …, which are the same."""
    return dict.fromkeys(parameters.clocks, SCHEMA)


def synthetic_rows(parameters: SyntheticParameters) -> int | None:
    """The number of rows of all streams in ``seconds``; None if the length is not given in seconds."""
    if parameters.seconds is None:
        return None
    return sum(clock.rows_within(parameters.seconds) for clock in parameters.clocks.values())


def synthetic_tables(rows: int, seed: int, parameters: SyntheticParameters) -> Iterator[dict[str, pa.Table]]:
    """The rows of all streams, block by block, in the order of arrival."""
    clocks = parameters.clocks
    weights = {stream: sum(clock.profile) for stream, clock in clocks.items()}
    counts = share_out(rows, weights)
    sizes = {stream: max(1, size) for stream, size in share_out(ROWS_PER_BLOCK, weights).items()}
    happening = (
        {stream: _table(block, clocks[stream], parameters) for stream, block in step.items()}
        for step in blocks(seed, counts, sizes)
    )
    yield from in_arrival_order(
        happening,
        seed=seed,
        share=parameters.disorder_share,
        depth_seconds=parameters.disorder_depth_seconds,
    )


def _table(block: Block, clock: Clock, parameters: SyntheticParameters) -> pa.Table:
    return table_of(
        SCHEMA,
        ts=clock.scattered_us(block),
        key=block.zipf("key", parameters.distinct_keys, parameters.zipf),
        g=block.whole_numbers("g", parameters.groups),
        v=block.whole_numbers("v", VALUES),
    )


def wang_bursts(
    steady_seconds: int = 20, burst_seconds: int = 5, bytes_per_second: float = 500, row_bytes: int = 18
) -> tuple[int, ...]:
    """The numbers of rows per second in Wang's Fig 4: a steady rate, then bytes_per_second/i² in second i = 1, 2, ….

    >>> wang_bursts(steady_seconds=2)
    (28, 28, 28, 7, 3, 2, 1)
    """
    steady = [round(bytes_per_second / row_bytes)] * steady_seconds
    falling = [round(bytes_per_second / second**2 / row_bytes) for second in range(1, burst_seconds + 1)]
    return (*steady, *falling)


R1 = SyntheticParameters(rows_per_second=10_000, seconds=200, keys=10_000, groups=100)
R0 = SyntheticParameters(rows_per_second=1_000, seconds=200, keys=1_000, groups=100)
