"""Several folds, one after another: each but the last makes a view, which is an input of a later one.

    bid ─────────────────────────────────────────┐
    auction ──▶ FOLD by seller ──▶ view by auction ──▶ FOLD by auction ──▶ MERGE
    person  ──┘

A view is made of the totals of a fold: one row for each group that has changed, at every instant of the query. All
folds learn of the rows of all streams, so all of them find the same watermark and answer at the same instants.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from joinfold.operators.arrivals import pack_arrivals
from joinfold.operators.bucket import Noted
from joinfold.operators.codec import encode
from joinfold.operators.layout import FoldLayout
from joinfold.operators.pack import by_bucket, cut, order_of, pack_rows
from joinfold.operators.values import present

ORIGIN = "made_by"  # the bucket that a row of a view comes from: each has its own part of a group
_NO_ENTRIES = pa.RecordBatch.from_pydict({"cell": pa.array([], pa.int64())})


def pack_for(
    folds: Sequence[FoldLayout],
    stream: int,
    labels: tuple[int, ...],
    batch: pa.RecordBatch,
    by_row: bool = False,
    number: int = 0,
) -> Iterator[tuple[int, int, bytes]]:
    """The blobs of a batch of a stream's rows: fold, bucket label, blob. Folds without the stream get its pulse.

    ``number`` is that of the batch in its task.
    """
    if folds[0].on_arrival:
        yield from ((0, label, blob) for label, blob in pack_arrivals(folds[0], stream, labels, batch, number))
        return
    own = next(number for number, layout in enumerate(folds) if stream in layout.feeds and not layout.is_numbering)
    rows = cut(folds[own], stream, batch)
    entries, pulse = pack_rows(folds[own], stream, rows, by_row, number)
    facts = pulse.facts()
    heartbeat = encode(_NO_ENTRIES, facts) if len(folds) > 1 else b""
    for fold, layout in enumerate(folds):
        if fold == own:
            yield from ((own, label, blob) for label, blob in by_bucket(layout, stream, labels, entries, facts))
        elif layout.is_numbering and stream in layout.feeds:  # one bucket numbers a stream
            number = stream % len(labels)
            yield fold, labels[number], encode(order_of(rows), facts)
            yield from ((fold, label, heartbeat) for label in labels if label != labels[number])
        else:
            yield from ((fold, label, heartbeat) for label in labels)


def pass_on(
    folds: Sequence[FoldLayout], fold: int, bucket: int, labels: tuple[int, ...], noted: Noted
) -> Iterator[tuple[int, int, bytes]]:
    """What a bucket has noted for later folds: fold, bucket label, blob. Cuts go to all, a view to its reader."""
    for stream, cuts in noted.cuts.items():
        blob = encode(cuts, {"feed": stream, "cuts": True})
        readers = [later for later in range(fold + 1, len(folds)) if not folds[later].partition]
        yield from ((later, label, blob) for later in readers for label in labels)
    if noted.rows is None:
        return
    layout = folds[fold]
    feed = layout.streams + fold
    reader = next(number for number, later in enumerate(folds) if feed in later.feeds)
    rows = noted.rows if layout.partition else view_rows(layout, bucket, noted.rows)
    rows = _with_keys(folds[reader], feed, rows)
    yield from ((reader, label, blob) for label, blob in by_bucket(folds[reader], feed, labels, rows, {"feed": feed}))


def view_rows(layout: FoldLayout, bucket: int, noted: pa.RecordBatch) -> pa.RecordBatch:
    """Noted totals as entries of a view: groups under the names of their columns."""
    names = {f"g{number}": name for number, name in enumerate(group_names(layout))}
    columns = {names.get(name, name): column for name, column in zip(noted.schema.names, noted.columns, strict=True)}
    columns["cell"] = columns.pop("instant")
    columns[ORIGIN] = pa.array(np.full(noted.num_rows, bucket, np.int64))
    return pa.RecordBatch.from_pydict(columns)


def _with_keys(reader: FoldLayout, feed: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a view that can be joined: NULL equals nothing, also not the NULL of another view."""
    for name in reader.input_of(feed).keys:
        there = present(rows.column(name))
        rows = rows if there is None else rows.filter(pa.array(there))
    return rows


def group_names(layout: FoldLayout) -> list[str]:
    """The columns that totals are grouped by, in their order."""
    return [name for side in layout.places for name in side.groups]
