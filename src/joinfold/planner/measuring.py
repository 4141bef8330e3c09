"""What a running bucket tells of its streams, from what PACK has seen on the way and from what its windows hold.

How many combinations conditions let through is counted in the bucket itself: those that its totals are made of, among
all with equal keys. To count these takes a look at every entry, so it is done now and then, at first more often.

    key        1    2    3
    rows of a  2    5    1          combinations with equal keys: 2·3 + 5·0 + 1·4 = 10
    rows of b  3    0    4          of which live in the totals: 4 ──▶ 0.4
"""

from math import prod

import numpy as np

from joinfold.kernels.grouping import group_rows
from joinfold.operators.bucket import Bucket
from joinfold.operators.entries import Entries
from joinfold.operators.fold import Fold
from joinfold.planner.chaining import has_one_key
from joinfold.planner.statistics import Statistics, StreamStatistics

COUNTED_EVERY = 4  # micro-batches
ENOUGH = 100.0  # combinations, for a share of them


def measured_statistics(bucket: Bucket) -> Statistics | None:
    """What is measured; None until every stream has had two micro-batches, and one that was looked at."""
    streams = []
    for stream in range(bucket.layout.streams):
        known = bucket.observed.figures(stream)
        if known is None:
            return None
        streams.append(
            StreamStatistics(
                known.rate,
                known.keys,
                known.groups,
                max(known.entries, known.keys, known.groups),
                known.passes,
                known.skew,
                known.disorder,
                origin="measured",
            )
        )
    return Statistics(tuple(streams), _selectivity(bucket))


def _selectivity(bucket: Bucket) -> float:
    """The share of combinations with equal keys that the totals are made of; as assumed where nothing tells."""
    combining, observed = bucket.layout.combining, bucket.observed
    if not (combining.ranges or combining.conditions):
        return 1.0
    batches = max(observed.batches)
    if batches >= observed.counted_at + min(observed.counted_at, COUNTED_EVERY):
        observed.selectivity, observed.counted_at = _share(bucket), batches
    return Statistics(()).selectivity if observed.selectivity is None else observed.selectivity


def _share(bucket: Bucket) -> float | None:
    layout = bucket.layout
    if not isinstance(bucket, Fold) or layout.is_plain or layout.on_arrival or layout.views or not has_one_key(layout):
        return None
    found = [cells.between(*bucket.contents[feed]) for cells, feed in zip(bucket.cells, layout.feeds, strict=True)]
    inside = [entries for entries in found if entries is not None]
    possible = equal_combinations(inside) if len(inside) == len(found) else 0.0
    if possible < ENOUGH:
        return None
    if bucket.moment.applied is not None:
        bucket.live.windows.settle(bucket.moment.applied)  # PC has no totals before, where windows were made anew
    live = float(bucket.live.windows.totals.totals.ints[:, 0].sum())
    return min(max(live, 0.5) / possible, 1.0)


def equal_combinations(inputs: list[Entries]) -> float:
    """How many combinations of rows have equal keys, or how many there are without any."""
    rows = [entries.integers[:, 0].astype(np.float64) for entries in inputs]
    if not inputs[0].parts.shape[1]:
        return prod(float(own.sum()) for own in rows)
    keys, _ = group_rows(np.concatenate([entries.parts for entries in inputs]).T.astype(np.int64))
    ends = np.cumsum([len(own) for own in rows])
    sums = [
        np.bincount(keys[end - len(own) : end], own, minlength=int(keys.max()) + 1)
        for own, end in zip(rows, ends.tolist(), strict=True)
    ]
    return float(np.prod(sums, axis=0).sum())
