"""Wang, Li, Zhang and Guo 2006: what it costs to keep the aggregate of a join up to date at every arrival.

The engine does not use this model (see `literature`).

Two windows of α and β rows, hashed into M buckets, are joined with selectivity σ. A row arrives on A, and the rows of
SetA and SetB expire. Three methods then compute the answer. They differ in what they keep:

    PC   the pairs                       time  (α + β + β/M + σαβ)·C
    IC   one value; joins the rows       time  (α + β + β/M + |SetA|·β/M + |SetB|·α/M + |SetA|·|SetB|)·C
         that come and those that go
    TC   a charge on each row, which     time  (2α + 2β + β/M)·C
         leaves with the row

The term α + β is a visit of every row: one pass finds the expired rows, and TC adds the charges in a second pass. A
chain in order of expiry and a running total avoid both passes, and only the cost of *joining* remains. The paper prints
no formula for PC. Ours finds expired rows as the other methods do, and aggregates all pairs again.

In space, only PC pays for the pairs:

    PC   α·sizeA + β·sizeB + σαβ·sizePair
    IC   (α + |SetA|)·sizeA + (β + |SetB|)·sizeB
    TC   α·(sizeA + sizeCharge) + β·(sizeB + sizeCharge)

Over m streams, MPC keeps Πwᵢ·Πσⱼ combinations, with one σ for each of the m − 1 joins, and MTC a charge on each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, assert_never

Method = Literal["pc", "ic", "tc"]
Upkeep = Literal["scan", "chain"]


@dataclass(frozen=True, slots=True)
class Workload:
    """The windows at an arrival on A: α, β, |SetA| and |SetB| in rows.

    At steady rates one row expires on each side, which is the default. If a stream becomes n times as slow as it was, n
    rows expire with each of its arrivals.
    """

    rows_a: float
    rows_b: float
    selectivity: float
    buckets: int
    expired_a: float = 1.0
    expired_b: float = 1.0

    def __post_init__(self) -> None:
        assert min(self.rows_a, self.rows_b, self.expired_a, self.expired_b) >= 0
        assert 0 <= self.selectivity <= 1 and self.buckets >= 1

    @property
    def mirrored(self) -> "Workload":
        """The workload of an arrival on B, with A and B exchanged."""
        return replace(self, rows_a=self.rows_b, rows_b=self.rows_a, expired_a=self.expired_b, expired_b=self.expired_a)

    @property
    def pairs(self) -> float:
        """σαβ, the size of the join."""
        return self.selectivity * self.rows_a * self.rows_b


@dataclass(frozen=True, slots=True)
class WangWeights:
    """C, the cost of visiting a row, and sizes in bytes. The sizes are the paper's; it gives no value for C."""

    visit: float = 1.0
    row_bytes_a: float = 18
    row_bytes_b: float = 18
    pair_bytes: float = 4
    charge_bytes: float = 4


PRINTED = WangWeights()


def time_per_arrival(method: Method, load: Workload, upkeep: Upkeep = "scan", weights: WangWeights = PRINTED) -> float:
    """The cost of one arrival on A. Upkeep ``scan`` is the paper's; ``chain`` uses expiry chains and running totals."""
    visited = joined_rows(method, load)
    if upkeep == "scan":
        visited += scanned_rows(method, load)
    return visited * weights.visit


def time_per_second(
    method: Method,
    load: Workload,
    rate_a: float,
    rate_b: float,
    upkeep: Upkeep = "scan",
    weights: WangWeights = PRINTED,
) -> float:
    """The cost of all arrivals of a second, on both streams."""
    on_a = rate_a * time_per_arrival(method, load, upkeep, weights)
    return on_a + rate_b * time_per_arrival(method, load.mirrored, upkeep, weights)


def scanned_rows(method: Method, load: Workload) -> float:
    """The rows that are visited to find expired rows and, by TC, to add the charges."""
    passes = 2 if method == "tc" else 1
    return passes * (load.rows_a + load.rows_b)


def joined_rows(method: Method, load: Workload) -> float:
    """The rows that are visited because they may join, and for PC the pairs."""
    bucket_a, bucket_b = load.rows_a / load.buckets, load.rows_b / load.buckets
    match method:
        case "pc":
            return bucket_b + load.pairs
        case "ic":
            expiring = load.expired_a * bucket_b + load.expired_b * bucket_a + load.expired_a * load.expired_b
            return bucket_b + expiring
        case "tc":
            return bucket_b
        case _:
            assert_never(method)


def space_bytes(method: Method, load: Workload, weights: WangWeights = PRINTED) -> float:
    """The bytes that are kept between arrivals; for IC also the expired rows while it joins them."""
    rows = load.rows_a * weights.row_bytes_a + load.rows_b * weights.row_bytes_b
    match method:
        case "pc":
            return rows + load.pairs * weights.pair_bytes
        case "ic":
            return rows + load.expired_a * weights.row_bytes_a + load.expired_b * weights.row_bytes_b
        case "tc":
            return rows + (load.rows_a + load.rows_b) * weights.charge_bytes
        case _:
            assert_never(method)


@dataclass(frozen=True, slots=True)
class ManyStreams:
    """The windows of m streams in rows, the bytes of their rows, and the selectivities of the m − 1 joins."""

    window_rows: tuple[float, ...]
    selectivities: tuple[float, ...]
    row_bytes: tuple[float, ...]

    def __post_init__(self) -> None:
        assert len(self.window_rows) == len(self.row_bytes) == len(self.selectivities) + 1 >= 2

    @property
    def combinations(self) -> float:
        """The size of the join. With w rows in each window, it grows with m if and only if σ·w > 1."""
        return prod(self.window_rows) * prod(self.selectivities)


def mpc_space_bytes(streams: ManyStreams, combination_bytes: float = PRINTED.pair_bytes) -> float:
    """The bytes of the windows and of every combination of the join."""
    return _windows_bytes(streams.window_rows, streams.row_bytes) + streams.combinations * combination_bytes


def mtc_space_bytes(streams: ManyStreams, charge_bytes: float = PRINTED.charge_bytes) -> float:
    """The bytes of the windows with a charge on each row. They do not depend on the number of combinations."""
    return _windows_bytes(streams.window_rows, [size + charge_bytes for size in streams.row_bytes])


def _windows_bytes(window_rows: Sequence[float], row_bytes: Sequence[float]) -> float:
    return sum(rows * size for rows, size in zip(window_rows, row_bytes, strict=True))
