"""What a plan is estimated to cost: operations of every stage (`cost.engine`) times their prices here (`cost.weights`).

CPU is that of all buckets together. What is replicated is taken in by each of them, and each goes through all instants.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from joinfold.operators.choice import FoldChoice
from joinfold.operators.layout import CONSTANT_ROW, FoldLayout
from joinfold.planner.cost.engine import CALLS, Amounts, FoldAmounts, pack_amounts
from joinfold.planner.cost.sizes import BLOB_BYTES, entry_bytes, memory_bytes, state_entries
from joinfold.planner.cost.weights import Weights
from joinfold.planner.cost.windows import Flow, flows_of, instants_per_second
from joinfold.planner.estimates import Estimate, StageEstimate, StageKind
from joinfold.planner.statistics import Statistics

BLOBS_HELD = 10.0  # of an input and bucket: fresh ones until they are merged, and older ones


@dataclass(frozen=True, slots=True)
class Setting:
    """What plans of a query are compared under: its streams, what is known, the prices, and where it runs.

    ``columns`` has the bytes of each column that Spark computes of a stream. ``crossed``: rows come from Spark, which
    has a price of its own.
    """

    columns: tuple[Mapping[str, float], ...]
    statistics: Statistics
    weights: Weights
    buckets: int = 1
    crossed: bool = True

    @property
    def widths(self) -> dict[str, float]:
        """The bytes of the columns of all streams."""
        return {name: size for own in self.columns for name, size in own.items()}


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage with what it does in a second of stream, and its sizes as in `StageEstimate`."""

    kind: StageKind
    number: int
    amounts: Amounts
    state_bytes: float = 0.0
    memory_bytes: float = 0.0
    shuffle_bytes: float = 0.0


def estimate(setting: Setting, folds: Sequence[FoldLayout], choices: Sequence[FoldChoice], merges: bool) -> Estimate:
    """What all stages of a plan cost."""
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
            for stage in stages_of(setting, folds, choices, merges)
        )
    )


def stages_of(
    setting: Setting, folds: Sequence[FoldLayout], choices: Sequence[FoldChoice], merges: bool
) -> Iterator[Stage]:
    """All stages of a plan, in the order in which rows go through them."""
    flows = flows_of(folds, setting.statistics)
    instants = instants_per_second(folds[-1].timeline, setting.statistics)
    for stream in range(len(setting.columns)):
        yield _pack(setting, stream, folds, flows, instants)
    for number, (layout, choice, own) in enumerate(zip(folds, choices, flows, strict=True)):
        yield from _fold(setting, number, layout, choice, own, instants)
    if merges:
        groups = fold_amounts(setting, folds[-1], choices[-1], flows[-1], instants).groups
        yield Stage("MERGE", len(folds) - 1, Amounts({"group merged": instants * groups * setting.buckets}))


def fold_cost(
    setting: Setting, layout: FoldLayout, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> float:
    """Seconds of CPU of one fold for a second of stream, as one bucket."""
    return setting.weights.cost(fold_amounts(setting, layout, choice, flows, instants).counted())


def fold_amounts(
    setting: Setting, layout: FoldLayout, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> FoldAmounts:
    """What one fold does; a query whose conditions are keys alone lets all of their combinations through."""
    selectivity = setting.statistics.selectivity if layout.combining else 1.0
    return FoldAmounts(layout, choice, flows, instants, selectivity)


def _pack(
    setting: Setting, stream: int, folds: Sequence[FoldLayout], flows: Sequence[Sequence[Flow]], instants: float
) -> Stage:
    flow = next(
        own[layout.feeds.index(stream)]
        for layout, own in zip(folds, flows, strict=True)
        if stream in layout.feeds and own
    )
    known = setting.statistics.streams[stream]
    amounts = pack_amounts(len(setting.columns[stream]) + 1, known, flow.entries_per_second, setting.crossed)
    amounts["blob packed"] = setting.buckets * min(instants, flow.calls_per_second)
    return Stage("PACK", stream, amounts)


def _fold(
    setting: Setting, number: int, layout: FoldLayout, choice: FoldChoice, flows: Sequence[Flow], instants: float
) -> Iterator[Stage]:
    """The shuffle to a fold, and the fold; stages before folds go through rows one by one."""
    if layout.is_numbering:
        rows = sum(setting.statistics.streams[stream].rate for stream in layout.feeds)
        yield Stage("FOLD", number, Amounts({"row numbered": rows}))
        return
    fold, widths = fold_amounts(setting, layout, choice, flows, instants), setting.widths
    sent = held = 0.0
    for place, flow in enumerate(flows):
        if layout.feeds[place] == CONSTANT_ROW:
            continue
        size, copies = entry_bytes(layout.inputs[place], widths), setting.buckets if layout.is_replicated(place) else 1
        sent += copies * flow.entries_per_second * size + setting.buckets * BLOB_BYTES
        held += copies * state_entries(layout, place, fold) * size + BLOBS_HELD * setting.buckets * BLOB_BYTES
    yield Stage("shuffle", number, Amounts({"byte shuffled": sent}), shuffle_bytes=sent)
    if layout.partition:
        rows = sum(flow.entries_per_second for flow in flows)
        yield Stage("FOLD", number, Amounts({"row numbered": rows}), held)
        return
    amounts = fold.counted()
    for name in CALLS:
        amounts[name] *= setting.buckets
    if layout.on_arrival:
        amounts["row answered on arrival"] = setting.buckets * sum(stream.rate for stream in setting.statistics.streams)
    yield Stage("FOLD", number, amounts, held, memory_bytes(fold))
