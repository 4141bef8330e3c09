"""Searches for the cheapest choice of a fold: exhaustively for few inputs, greedily for many.

A choice is a method, the set of inputs that are aggregated early, and a structure for each window:

    up to three inputs     every method; IC with every set of early inputs
    more                   Tran's greedy rule: start with all inputs early, and with none; change the input that saves
                           most, as long as one saves anything

The cost of a structure does not depend on the structures of other windows (Kang), so each window takes its cheapest.
Windows are probed in the order of how many entries share a key, fewest first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain as joined
from itertools import combinations

from joinfold.kernels.structures import STRUCTURES
from joinfold.physical.choice import FoldChoice, Index, MethodName, finding_index, usual_choice
from joinfold.physical.probe_order import steps_from
from joinfold.physical.source import StreamRows
from joinfold.physical.stage import Body, JoiningStage, StatefulStage, is_plain
from joinfold.planner.cost.estimating import Setting, fold_cost
from joinfold.planner.cost.windows import Flow

FEW = 3  # up to so many inputs the search is exhaustive
Cost = Callable[[FoldChoice], float]


def fold_choices(
    setting: Setting, stage: JoiningStage, flows: Sequence[Flow], instants: float
) -> list[tuple[float, FoldChoice]]:
    """The choices for a fold with their seconds of CPU per second of stream, cheapest first.

    Has the usual choice, and the best one for every method and every set of early inputs that is tried.
    """

    def cost(choice: FoldChoice) -> float:
        return fold_cost(setting, stage, choice, flows, instants)

    usual = usual_choice(stage)
    found = {usual: cost(usual)}
    indexes = (finding_index(stage.body),) * len(stage.body.inputs)
    for method in _methods(stage):
        first = replace(usual, method=method, windows="structures", order=_order(flows), indexes=indexes)
        for early in _early_sets(stage, first, cost):
            choice = _best_indexes(stage.body, replace(first, early=early), cost)
            found[choice] = cost(choice)
    return sorted(((seconds, choice) for choice, seconds in found.items()), key=lambda pair: pair[0])


def _methods(stage: JoiningStage) -> tuple[MethodName, ...]:
    """The methods to try. TC and PC must know when rows leave. A plain join has no method and counts as IC."""
    return ("ic",) if is_plain(stage) or stage.body.is_open_ended else ("ic", "tc", "pc")


def _early_sets(stage: JoiningStage, first: FoldChoice, cost: Cost) -> Iterator[frozenset[int]]:
    """The sets of early inputs to try. TC, PC and extremes keep entries of different cells apart, so none is early."""
    if is_plain(stage):
        yield first.early
        return
    inputs = list(enumerate(stage.body.inputs))
    constant = len(inputs) - 1 if stage.body.has_constant_row else None
    fixed = first.early & {constant}
    ordinals = [ordinal for ordinal, spec in inputs if isinstance(spec.source, StreamRows)]
    if first.method != "ic" or stage.body.extremes:
        yield fixed
    elif len(ordinals) <= FEW:
        yield from (fixed | set(own) for size in range(len(ordinals) + 1) for own in combinations(ordinals, size))
    else:
        yield from (_greedy(replace(first, early=fixed | set(begin)), ordinals, cost) for begin in ((), ordinals))


def _greedy(choice: FoldChoice, ordinals: Sequence[int], cost: Cost) -> frozenset[int]:
    """The set of early inputs after changing one input after another, always the one that saves most."""
    least = cost(choice)
    while True:
        changed = [replace(choice, early=choice.early ^ {ordinal}) for ordinal in ordinals]
        seconds, best = min(((cost(other), number) for number, other in enumerate(changed)))
        if seconds >= least:
            return choice.early
        least, choice = seconds, changed[best]


def _best_indexes(body: Body, choice: FoldChoice, cost: Cost) -> FoldChoice:
    """The choice with the cheapest structure for each window; unchanged for many inputs."""
    if len(body.inputs) > FEW:
        return choice
    for ordinal in range(len(body.inputs) - body.has_constant_row):
        others = [
            replace(choice, indexes=_with(choice.indexes, ordinal, index)) for index in _possible(body, choice, ordinal)
        ]
        choice = min(others, key=cost)
    return choice


def _possible(body: Body, choice: FoldChoice, ordinal: int) -> list[Index]:
    """The structures that support every probe of a window. Only hash needs a key."""
    probes = joined.from_iterable(
        steps_from(body, choice.order, first) for first in range(len(body.inputs)) if first != ordinal
    )
    keyed = all(step.classes for step in probes if step.ordinal == ordinal)
    return [Index(name) for name, kind in STRUCTURES.items() if keyed or not kind.needs_key]


def _order(flows: Sequence[Flow]) -> tuple[int, ...]:
    """Windows by how many entries share a key, fewest first. Two windows need no order."""
    if len(flows) < FEW:
        return tuple(range(len(flows)))
    return tuple(sorted(range(len(flows)), key=lambda ordinal: flows[ordinal].apart / flows[ordinal].keys))


def _with(indexes: tuple[Index, ...], ordinal: int, index: Index) -> tuple[Index, ...]:
    return (*indexes[:ordinal], index, *indexes[ordinal + 1 :])


def choice_title(stage: StatefulStage, choice: FoldChoice, names: Sequence[str]) -> str:
    """A choice in a few words, such as 'TC; early none; a hash, b btree'."""
    match choice.windows:
        case "sets":
            return "IC over hashed sets of all inputs"
        case "sums":
            return "IC over sums of ranges"
    indexes = ", ".join(f"{name} {index}" for name, index in zip(names, choice.indexes, strict=False))
    if is_plain(stage):
        return indexes
    early = [name for ordinal, name in enumerate(names) if ordinal in choice.early]
    return f"{choice.method.upper()}; early {' and '.join(early) or 'none'}; {indexes}"
