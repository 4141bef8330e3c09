"""What a stage stores, column by column. Columns are named by their meaning, so state is read by meaning.

Nothing that a plan chooses is stored: method, structures, early aggregation and the order of probing may change while
the state stays. The kind of the stage, the windows of its streams, the rule of answering and the number of buckets must
agree.
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
    JoinAsFound: "join on entry",  # the name of JoinAsFound when the first checkpoints were written
    JoinAtMoves: "join at moves",
}


def stored_columns(stage: StatefulStage, stored: Stored, orders: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The columns of something that is stored, in any order; None where the stage does not need it.

    ``orders`` has, for each stream, the columns that order its rows.
    """
    match stored:
        case EntriesOf(input=name):
            spec = next((spec for spec in inputs_of(stage) if spec.name == name), None)
            if spec is None:
                return None
            order = orders[name] if isinstance(spec.source, StreamRows) else ()
            return (*_entry_columns(spec), *((BATCH, ROW) if isinstance(stage, FoldAtArrivals) else order))
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
    return (CELL, *spec.stored_identity, *spec.integer_names, *reals, *spec.extreme_names)


def identity_facts(pipeline: Pipeline, number: int, buckets: int) -> dict[str, Any]:
    """What must agree between a stage and its state, as it is stored."""
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


def refuse_others(stored: dict[str, Any], wanted_facts: dict[str, Any]) -> None:
    """Raises an error that says what differs, where the state is not that of this stage."""
    for name, wanted in wanted_facts.items():
        if stored.get(name) != wanted:
            raise EvaluationError(
                "the checkpoint belongs to another query, or to another number of partitions: "
                f"in '{name}' the checkpoint has {stored.get(name)} and the query has {wanted}",
                "run the query that wrote it, with the same number of partitions, or use another checkpoint directory.",
            )
