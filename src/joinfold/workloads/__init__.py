"""Generators of streams, which are seeded and write Parquet.

``generate("auctions", rows=1_000_000, seed=7, directory=Path("data"))`` writes one folder per stream. ``batches``
returns the same rows in memory. Equal arguments give equal bytes.
"""

from joinfold.workloads.catalog import PRESETS, WORKLOADS, Preset, Workload, batches, generate
from joinfold.workloads.synthetic import wang_bursts

__all__ = ["PRESETS", "WORKLOADS", "Preset", "Workload", "batches", "generate", "wang_bursts"]
