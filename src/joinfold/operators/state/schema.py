"""What a stage stores, column by column: names say what columns mean, so state is read by meaning.

Nothing that a plan chooses is in here: method, structures, early aggregation and the order of probing may change under
the state. What must agree are the kind of the stage, the windows of its streams, the rule of answering, and into how
many buckets it was divided.
"""

from dataclasses import asdict
from typing import Any

from joinfold.errors import EvaluationError
from joinfold.physical.column_names import (
    BATCH,
    CELL,
    COPIES,
    EQUAL,
    KEEP,
    MOVED,
    NUMBER,
    ORIGIN,
    ROW,
    TURN,
)
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Pipeline
from joinfold.physical.source import StreamRows
from joinfold.physical.stage import (
    FoldAtArrivals,
    FoldAtInstants,
    JoinAsFound,
    JoinAtMoves,
    LastRowsPerKey,
    NumberRows,
    StatefulStage,
    inputs_of,
)
from joinfold.physical.stored import ArrivalsOf, BoundariesOf, EntriesOf, Inside, OrderOf, Stored, Waiting
from joinfold.physical.timing import AsFound, AtArrivals, AtCandidates, AtTriggers, ByWindowId, EmissionRule

_KINDS: dict[type[StatefulStage], str] = {
    NumberRows: "row numbers",
    LastRowsPerKey: "last rows of each key",
    FoldAtInstants: "fold at instants",
    FoldAtArrivals: "fold at arrivals",
    JoinAsFound: "join on entry",  # as it was called when the first checkpoints were written
    JoinAtMoves: "join at moves",
}


def stored_columns(stage: StatefulStage, stored: Stored, orders: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The columns of what is stored, whatever their order; None where the stage does not need it.

    ``orders`` has for each stream the columns that order its rows.
    """
    match stored:
        case EntriesOf(input=name):
            spec = next((own for own in inputs_of(stage) if own.name == name), None)
            if spec is None:
                return None
            counted = orders[name] if isinstance(spec.source, StreamRows) else ()
            found = (BATCH, ROW) if isinstance(stage, FoldAtArrivals) else counted
            return (*_entry_columns(spec), *found)
        case BoundariesOf(stream=name):
            return (CELL, *orders[name], NUMBER, COPIES, EQUAL, MOVED)
        case ArrivalsOf(stream=name):
            return (CELL, *orders[name], BATCH, ROW, KEEP)
        case OrderOf(stream=name):
            return (CELL, *orders[name])
        case Waiting() | Inside():
            (spec,) = inputs_of(stage)
            turns = (ORIGIN, TURN) if isinstance(stored, Inside) else ()
            return (*_entry_columns(spec), ROW, *spec.order, *turns)


def _entry_columns(spec: InputSpec) -> tuple[str, ...]:
    reals = (name for names in spec.real_names for name in names)
    return (CELL, *spec.identity, *spec.integer_names, *reals, *spec.extreme_names)


def identity_facts(pipeline: Pipeline, number: int, buckets: int) -> dict[str, Any]:
    """What state must agree with to be that of a stage, as it is stored."""
    stage, timing = pipeline.stages[number], pipeline.timing
    return {
        "stage": _KINDS[type(stage)],
        "inputs": sorted(spec.name for spec in inputs_of(stage)),
        "where": list(pipeline.where),
        "windows": {name: window.to_sql() for name, window in zip(timing.names, timing.windows, strict=True)},
        "rule": _rule_facts(timing.rule),
        "buckets": buckets,
    }


def _rule_facts(rule: EmissionRule) -> dict[str, Any]:
    match rule:
        case AtCandidates():
            grids = sorted([grid.phase_us, grid.period_us] for grid in rule.grids)
            return {"answers": "at candidates", "grids": grids, "by_rows": rule.by_rows}
        case AtTriggers():
            return {"answers": "on trigger"}
        case AtArrivals():
            return {"answers": "on arrival"}
        case AsFound():
            return {"answers": "as found"}
        case ByWindowId():
            return {"answers": "by window id", **asdict(rule)}


def refuse_others(stored: dict[str, Any], own: dict[str, Any]) -> None:
    """Says what differs where state is not this stage's."""
    for name, wanted in own.items():
        if stored.get(name) != wanted:
            raise EvaluationError(
                "the checkpoint belongs to another query, or to another number of partitions: "
                f"in '{name}' it has {stored.get(name)}, and the query {wanted}",
                "start the query that made it, with as many partitions, or use another checkpoint directory.",
            )
