"""The machine without Spark: frames by the reference's own evaluation, then PACK, FOLD and MERGE as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.operators.arrivals import ArrivalFold, at_arrivals, pack_arrivals
from joinfold.operators.changes import changes
from joinfold.operators.fold import Fold
from joinfold.operators.merge import merge
from joinfold.operators.pack import pack
from joinfold.planner.plan import Frame, PhysicalPlan
from joinfold.reference.evaluate import Context, evaluate, is_true
from joinfold.reference.naive import differ
from joinfold.reference.rows import Row, from_arrow

Rows = Sequence[Row]


def frame_batch(frame: Frame, rows: Rows) -> pa.RecordBatch:
    """What Spark would hand to PACK."""
    contexts = [Context({frame.input.alias: row}).wide() for row in rows]
    time = frame.input.source.time
    assert time is not None
    columns = {"ts": pa.array([row[time] for row in rows], pa.timestamp("us", tz="UTC"))}
    if frame.keep is not None:
        columns["keep"] = pa.array([is_true(frame.keep, context) for context in contexts], pa.bool_())
    for name, expression in frame.columns:
        values = [evaluate(expression, context) for context in contexts]
        columns[name] = pa.array(values, arrow_type(expression.type))
    return pa.RecordBatch.from_pydict(columns)


class Machine:
    """A plan on some buckets, fed with micro-batches."""

    def __init__(self, plan: PhysicalPlan, buckets: int = 2) -> None:
        self.plan = plan
        self.labels = tuple(range(buckets))
        kind = ArrivalFold if plan.layout.on_arrival else Fold
        self.folds = [kind(plan.layout, number) for number in self.labels]

    def feed(self, data: Mapping[str, Rows]) -> list[list[tuple[int, pa.RecordBatch]]]:
        """Takes in a micro-batch; gives back what each bucket has to store."""
        blobs: list[list[bytes]] = [[] for _ in self.labels]
        for place, frame in enumerate(self.plan.frames):
            rows = data.get(frame.input.source.name, [])
            if rows:
                packing = pack_arrivals if self.plan.layout.on_arrival else pack
                for label, blob in packing(self.plan.layout, place, self.labels, frame_batch(frame, rows)):
                    blobs[label].append(blob)
        return [fold.absorb(mine) for fold, mine in zip(self.folds, blobs, strict=True)]

    def answer(self, to_the_end: bool = False) -> list[tuple[Any, ...]]:
        noted = [fold.answer(to_the_end) for fold in self.folds]
        parts = [part.rows for part in noted if part.rows is not None]
        if not parts:
            return []
        finished = merge(self.plan.layout, parts)
        if self.plan.query.changes:
            finished = changes(finished, noted[0].numbers, noted[0].before)
        if noted[0].arrivals is not None:
            finished = at_arrivals(finished, noted[0].arrivals)
        rows = from_arrow(pa.Table.from_batches([finished]))
        return self._changed(rows) if self.plan.query.changes else self._selected(rows)

    @property
    def late(self) -> dict[str, int]:
        return {
            frame.input.alias: sum(fold.moment.late[place] for fold in self.folds)
            for place, frame in enumerate(self.plan.frames)
        }

    def _selected(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        shown = [(self._when(row), self._output(row, "")) for row in rows]
        return [(*when, *output) for when, output in shown if output is not None]

    @staticmethod
    def _when(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("instant", "arrival") if name in row)

    def _changed(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        """What Spark makes of was and now, in Python."""
        result: list[tuple[Any, ...]] = []
        for row in rows:
            old = self._output(row, "old_") if row["was"] else None
            new = self._output(row, "") if row["now"] else None
            if old is None and new is not None:
                result.append((*self._when(row), "insert", *new))
            elif old is not None and new is None:
                result.append((*self._when(row), "delete", *old))
            elif old is not None and new is not None and any(map(differ, old, new)):
                result.append((*self._when(row), "update", *new))
        return result

    def _output(self, row: Row, prefix: str) -> tuple[Any, ...] | None:
        query, plan = self.plan.query, self.plan
        names = []
        for column in plan.groups:
            before = len(plan.layout.inputs[0].groups) if column.place == 1 else 0
            names.append(f"g{before + column.index}")
        aggregates = [row[f"{prefix}a{place}"] for place in range(len(query.aggregates))]
        context = Context(groups=[row[name] for name in names], aggregates=aggregates)
        if not is_true(query.having, context):
            return None
        return tuple(evaluate(output.expression, context) for output in query.outputs)
