"""The header of a batch of rows. Every bucket gets it, so all buckets find the same watermark."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from joinfold.operators.entries import Integers
from joinfold.operators.packing.sample_statistics import SampleStatistics


@dataclass(slots=True)
class Header:
    """What every bucket learns of a batch of rows: ``rows`` of the stream, the largest time, the cells that have a row.

    ``cells`` count whether filters remove the row or not. ``keyless_cells`` and ``keyless_counts`` have, by cell, the
    rows that pass the filters and that no entry counts: those with a NULL in their key, ON TRIGGER also those before a
    landmark begins and, where the stream is joined with relations, all rows. ``timeless`` counts the rows that pass the
    filters and have no time, ``ahead`` those that pass the filters and lie ahead of the micro-batch; ``first_ahead_us``
    is the smallest time of rows that lie ahead. ``counts_entries`` is false where entries do not tell how many rows are
    late: with relations, and ON ARRIVAL. ``sample`` has the sample statistics of the batch, if it was sampled. ``load``
    is what SHED has to know of it, None without SHED. ``clock_us`` is the time of the micro-batch, None unless a stream
    can be idle.
    """

    rows: int
    largest_us: int | None
    cells: Integers
    keyless_cells: Integers
    keyless_counts: Integers
    timeless: int
    ahead: int
    first_ahead_us: int | None
    counts_entries: bool
    sample: SampleStatistics | None
    load: "Load | None" = None
    clock_us: int | None = None

    def facts(self) -> dict[str, Any]:
        """The header as JSON; it travels with the entries of a blob."""
        return {
            "rows": self.rows,
            "largest_us": self.largest_us,
            "cells": self.cells.tolist(),
            "keyless_cells": self.keyless_cells.tolist(),
            "keyless_counts": self.keyless_counts.tolist(),
            "timeless": self.timeless,
            "ahead": self.ahead,
            "first_ahead_us": self.first_ahead_us,
            "counts_entries": self.counts_entries,
            "sample": None if self.sample is None else self.sample.text(),
            "load": None if self.load is None else asdict(self.load),
            "clock_us": self.clock_us,
        }

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> "Header":
        """The inverse of `facts`."""
        arrays = (np.array(facts[name], np.int64) for name in ("cells", "keyless_cells", "keyless_counts"))
        cells, keyless_cells, keyless_counts = arrays
        return cls(
            facts["rows"],
            facts["largest_us"],
            cells,
            keyless_cells,
            keyless_counts,
            facts["timeless"],
            facts["ahead"],
            facts["first_ahead_us"],
            facts["counts_entries"],
            SampleStatistics.of_text(facts["sample"]) if facts["sample"] else None,
            None if facts["load"] is None else Load(**facts["load"]),
            facts["clock_us"],
        )


@dataclass(frozen=True, slots=True)
class Load:
    """What a batch of a stream costs: the rows and the bytes of its entries, and how many entries there are.

    ``last_cell`` is the largest cell of an entry, None without entries. ``heavy`` has the heaviest keys: draw, rows and
    entries of each; ``smallest`` are the smallest draws, of keys or, in a plain join, of partitions. ``clock_us`` is
    the time of the micro-batch, None if no budget is in wall-clock time.
    """

    rows: int
    entries: int
    size_bytes: int
    last_cell: int | None
    heavy: list[tuple[int, int, int]]
    smallest: list[int]
    clock_us: int | None


NOTHING_KEYLESS: dict[str, Any] = {"keyless_cells": [], "keyless_counts": []}
"""For all buckets but bucket 0, which alone counts these rows."""
