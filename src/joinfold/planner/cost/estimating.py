"""Estimates the cost of a plan: the operations of every stage (`cost.engine`) times their prices (`cost.weights`).

CPU is the sum over all buckets. Every bucket processes all instants and sends and receives its own blobs; bytes of a
replicated input count once for each bucket.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from joinfold.physical.choice import FoldChoice
from joinfold.physical.plan import PhysicalPlan, Pipeline
from joinfold.physical.source import ConstantRow, StreamRows
from joinfold.physical.stage import (
    FoldAtArrivals,
    JoiningStage,
    LastRowsPerKey,
    Merge,
    NumberRows,
    StatefulStage,
    input_from,
    inputs_of,
    is_replicated,
)
from joinfold.planner.cost.engine import CALLS, Amounts, FoldAmounts, pack_amounts
from joinfold.planner.cost.estimates import Estimate, StageEstimate, StageKind
from joinfold.planner.cost.sizes import BLOB_BYTES, entry_bytes, frame_bytes, memory_bytes, state_entries
from joinfold.planner.cost.weights import Weights
from joinfold.planner.cost.windows import Flow, flows_of, instants_per_second
from joinfold.planner.stream_statistics import Statistics

BLOBS_HELD = 10.0  # state chunks per input and bucket: new ones that are not merged yet, and older ones


@dataclass(frozen=True, slots=True)
class Setting:
    """What all plans of a query are estimated with: the statistics of its streams, the prices, the number of buckets.

    ``columns`` has the bytes of each column in the frame of each stream. ``crossed``: rows cross from Spark into
    Python, which has a price.
    """

    columns: tuple[Mapping[str, float], ...]
    statistics: Statistics
    weights: Weights
    buckets: int = 1
    crossed: bool = True

    @staticmethod
    def of(
        plan: PhysicalPlan, statistics: Statistics, weights: Weights, buckets: int = 1, crossed: bool = True
    ) -> "Setting":
        """The setting for this plan and all other plans of the same query."""
        return Setting(tuple(map(frame_bytes, plan.frames)), statistics, weights, buckets, crossed)

    @property
    def widths(self) -> dict[str, float]:
        """The bytes of each column, over all streams."""
        return {name: size for own in self.columns for name, size in own.items()}


@dataclass(frozen=True, slots=True)
class StageAmounts:
    """What a stage does per second of stream, and its sizes as in `StageEstimate`."""

    kind: StageKind
    number: int
    amounts: Amounts
    state_bytes: float = 0.0
    memory_bytes: float = 0.0
    shuffle_bytes: float = 0.0


def estimate(setting: Setting, plan: PhysicalPlan) -> Estimate:
    """The estimated cost of all stages of a plan."""
    return Estimate(
        tuple(
            StageEstimate(
                stage.kind,
                stage.number,
                setting.weights.cost(stage.amounts),
                stage.state_bytes,
                stage.memory_bytes,
                stage.shuffle_bytes,
            )
            for stage in stages_of(setting, plan)
        )
    )


def stages_of(setting: Setting, plan: PhysicalPlan) -> Iterator[StageAmounts]:
    """The amounts of all stages of a plan, in the order in which rows go through them."""
    pipeline = plan.pipeline
    flows = flows_of(pipeline, setting.statistics)
    instants = instants_per_second(pipeline.timing, setting.statistics)
    for stream in range(len(setting.columns)):
        yield _pack(setting, stream, pipeline, flows, instants)
    for number, (stage, choice, own) in enumerate(zip(pipeline.stages, plan.choices, flows, strict=True)):
        yield from _stage(setting, number, stage, choice, own, instants)
    if isinstance(pipeline.last, Merge) and pipeline.last.crosses_buckets:
        groups = fold_amounts(setting, pipeline.answering, plan.choice, flows[-1], instants).groups
        merged = Amounts({"group merged": instants * groups * setting.buckets})
        yield StageAmounts("MERGE", len(pipeline.stages) - 1, merged)


def fold_cost(
    setting: Setting, stage: JoiningStage, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> float:
    """Seconds of CPU of one stage per second of stream, if there were one bucket."""
    return setting.weights.cost(fold_amounts(setting, stage, choice, flows, instants).counted())


def fold_amounts(
    setting: Setting, stage: JoiningStage, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> FoldAmounts:
    """What one stage does. If it joins by equal keys alone, its selectivity is 1."""
    selectivity = setting.statistics.selectivity if stage.body.combining else 1.0
    return FoldAmounts(stage, choice, flows, instants, selectivity)


def _pack(
    setting: Setting, stream: int, pipeline: Pipeline, flows: Sequence[Sequence[Flow]], instants: float
) -> StageAmounts:
    reader = pipeline.stage_of(stream)
    ordinal = input_from(pipeline.stages[reader], StreamRows(stream))
    assert ordinal is not None
    flow, known = flows[reader][ordinal], setting.statistics.streams[stream]
    amounts = pack_amounts(len(setting.columns[stream]) + 1, known, flow.entries_per_second, setting.crossed)
    amounts["blob packed"] = setting.buckets * min(instants, flow.calls_per_second)
    return StageAmounts("PACK", stream, amounts)


def _stage(
    setting: Setting, number: int, stage: StatefulStage, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> Iterator[StageAmounts]:
    """The shuffle to a stage, and the stage. Stages before a join process rows one by one."""
    if isinstance(stage, NumberRows):
        rows = sum(setting.statistics.streams[stream].rate for stream in stage.streams)
        yield StageAmounts("FOLD", number, Amounts({"row numbered": rows}))
        return
    sent, held = _sent_and_held(setting, stage, flows)
    yield StageAmounts("shuffle", number, Amounts({"byte shuffled": sent}), shuffle_bytes=sent)
    if isinstance(stage, LastRowsPerKey):
        rows = sum(flow.entries_per_second for flow in flows)
        yield StageAmounts("FOLD", number, Amounts({"row numbered": rows}), held)
        return
    fold = fold_amounts(setting, stage, choice, flows, instants)
    amounts = fold.counted()
    for name in CALLS:
        amounts[name] *= setting.buckets
    if isinstance(stage, FoldAtArrivals):
        amounts["row answered on arrival"] = setting.buckets * sum(stream.rate for stream in setting.statistics.streams)
    yield StageAmounts("FOLD", number, amounts, held, memory_bytes(fold))


def _sent_and_held(setting: Setting, stage: StatefulStage, flows: Sequence[Flow]) -> tuple[float, float]:
    """The bytes that are sent to a stage per second of stream, and the bytes of its state."""
    widths, blobs = setting.widths, setting.buckets * BLOB_BYTES
    sent = held = 0.0
    for ordinal, (spec, flow) in enumerate(zip(inputs_of(stage), flows, strict=True)):
        if isinstance(spec.source, ConstantRow):
            continue
        size, copies = entry_bytes(spec, widths), setting.buckets if is_replicated(stage, ordinal) else 1
        sent += copies * flow.entries_per_second * size + blobs
        held += copies * state_entries(spec, flow) * size + BLOBS_HELD * blobs
    return sent, held
