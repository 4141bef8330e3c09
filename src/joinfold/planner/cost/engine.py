"""Counts what a plan does per second of stream: how many operations of each kind, stage by stage.

The principle is Kang's, applied to the stages that really run. A row, an entry, a probe and a combination each have a
price on a machine (`weights`), and the cost of a plan is the sum of amounts times prices. This module has no prices.

    PACK     reads rows column by column, and makes entries of them
    FOLD     takes entries in. They enter and leave their window, in one call for all entries of an instant:
               sets         IC over hashed aggregation sets: multiplies an entry with all slots of its key
               sums         IC over ranges: an entry goes down a tree of sums, once for each group
               structures   finds combinations one by one; PC, IC or TC processes each
             and emits every group at every instant
    MERGE    adds the totals that all buckets emitted

Only IC probes again for entries that leave. PC sums all live combinations at every instant.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log2, pow, prod, sqrt

from joinfold.physical.choice import FoldChoice
from joinfold.physical.payload import InputSpec
from joinfold.physical.probe_order import Step, steps_from
from joinfold.physical.source import ConstantRow
from joinfold.physical.stage import JoiningStage, is_plain, makes_view
from joinfold.planner.cost.windows import Flow
from joinfold.planner.stream_statistics import StreamStatistics


class Amounts(defaultdict[str, float]):
    """How many operations of each kind there are per second of stream."""

    def __init__(self, amounts: Mapping[str, float] | None = None) -> None:
        super().__init__(float, amounts or {})

    def add(self, others: Mapping[str, float]) -> None:
        """Adds the amounts of others."""
        for name, amount in others.items():
            self[name] += amount


OPERATIONS = (
    "row crossed into Python",
    "column of a row crossed into Python",
    "row packed",
    "column of a row packed",
    "entry packed",
    "blob packed",
    "byte shuffled",
    "blob taken in",
    "entry taken in",
    "column of an entry taken in",
    "call of sets",
    "entry in or out of a set",
    "column of an entry in or out of a set",
    "slot multiplied",
    "product",
    "charge of an extreme",
    "call of sums",
    "level of sums moved",
    "level of sums asked",
    "call of a structure",
    "member in or out",
    "column of a member in or out",
    "member merged",
    "list update",
    "hash update",
    "btree level updated",
    "ttree level updated",
    "list member scanned",
    "hash probe",
    "hash member scanned",
    "btree level probed",
    "ttree level probed",
    "match found",
    "condition checked",
    "value computed",
    "combination",
    "column of a combination",
    "combination added",
    "combination charged",
    "leaving time charged",
    "combination kept",
    "combination summed again",
    "charge taken back",
    "instant",
    "group emitted",
    "column of a group emitted",
    "row numbered",
    "group merged",
    "row answered on arrival",
)
CALLS = ("instant", "blob taken in", "call of sets", "call of sums", "call of a structure")  # done by every bucket


def pack_amounts(columns: int, known: StreamStatistics, entries_per_second: float, crossed: bool) -> Amounts:
    """What PACK does for a stream with ``columns`` in its frame. ``crossed``: rows cross from Spark into Python."""
    amounts = Amounts()
    if crossed:
        amounts["row crossed into Python"] = known.rate
        amounts["column of a row crossed into Python"] = known.rate * columns
    amounts["row packed"] = known.rate
    amounts["column of a row packed"] = known.rate * columns
    amounts["entry packed"] = entries_per_second
    return amounts


class FoldAmounts:
    """What a joining stage does under a choice.

    ``instants`` are per second. ``selectivity`` is that of all join conditions except equal keys.
    """

    def __init__(
        self, stage: JoiningStage, choice: FoldChoice, flows: Sequence[Flow], instants: float, selectivity: float
    ) -> None:
        self.stage = stage
        self.body = stage.body
        self.choice = choice
        self.flows = flows
        self.instants = instants
        self.selectivity = selectivity
        self.amounts = Amounts()

    def counted(self) -> Amounts:
        """All operations per second of stream."""
        for flow, spec in zip(self.flows, self.body.inputs, strict=True):
            self.amounts["blob taken in"] += min(self.instants, flow.calls_per_second)
            self.amounts["entry taken in"] += flow.entries_per_second
            self.amounts["column of an entry taken in"] += flow.entries_per_second * _columns(spec)
        match self.choice.windows:
            case "sets":
                self._sets()
            case "sums":
                self._sums()
            case "structures":
                self._structures()
        self._emit()
        return self.amounts

    # --- sets ---------------------------------------------------------------------------------------------------

    def _sets(self) -> None:
        products = len(self.body.integer_products) + 4 * len(self.body.real_products)
        for ordinal, flow in enumerate(self.flows):
            moved = _moved(flow)
            self.amounts["call of sets"] += flow.calls_per_second * (2 if flow.leaves else 1)
            self.amounts["entry in or out of a set"] += moved
            self.amounts["column of an entry in or out of a set"] += moved * _columns(self.body.inputs[ordinal])
            slots, bound = 1.0, [ordinal]
            for other, held in enumerate(self.flows):
                if other != ordinal:
                    slots *= held.merged * self._equal(other, bound)
                    bound.append(other)
            self.amounts["slot multiplied"] += moved * slots
            self.amounts["product"] += moved * slots * products
            self.amounts["charge of an extreme"] += flow.entries_per_second * slots * len(self.body.extremes)

    # --- sums ---------------------------------------------------------------------------------------------------

    def _sums(self) -> None:
        (join,) = self.body.combining.ranges
        orders = 3 if join.low is not None and join.high is not None else 1
        for ordinal, flow in enumerate(self.flows):
            moved, other = _moved(flow), self.flows[1 - ordinal]
            own = orders if ordinal == join.bound_input else 1
            probed = orders if ordinal == join.value_input else 1
            self.amounts["call of sums"] += flow.calls_per_second * (2 if flow.leaves else 1)
            self.amounts["level of sums moved"] += moved * own * _levels(flow.merged)
            groups = max(1.0, min(other.groups, other.merged / other.keys))  # per key; each has its own tree
            self.amounts["level of sums asked"] += moved * probed * groups * _levels(other.merged / other.keys / groups)

    # --- combinations that are found one by one -----------------------------------------------------------------

    def _structures(self) -> None:
        for ordinal, flow in enumerate(self.flows):
            is_leaving_joined = self.choice.method == "ic" and not is_plain(self.stage)
            probing = flow.entries_per_second * flow.probing * (2 if is_leaving_joined and flow.leaves else 1)
            self._update(ordinal, flow)
            calls = flow.calls_per_second * (2 if flow.leaves else 1)
            steps = steps_from(self.body, self.choice.order, ordinal)
            self.amounts["call of a structure"] += calls * (1 + len(steps))
            deciding = sum(step.range is not None or bool(step.conditions) for step in steps)
            share = self.selectivity ** (1 / max(deciding, 1))  # so that all conditions together have the selectivity
            found, bound = probing, [ordinal]
            for step in steps:
                found = self._probe(step, found, bound, share)
                bound.append(step.ordinal)
            self._combine(found)
            if self.choice.method == "tc" and flow.calls_per_second:
                times = min(self.live_cells, found / flow.calls_per_second)
                self.amounts["leaving time charged"] += flow.calls_per_second * times
        if self.choice.method == "pc":
            self.amounts["combination summed again"] += self.instants * self.live_combinations
        if self.choice.method == "tc":
            self.amounts["charge taken back"] += self.instants * self.groups

    def _update(self, ordinal: int, flow: Flow) -> None:
        """Updates the members and the structure of a window as entries enter and leave."""
        spec, structure = self.body.inputs[ordinal], self.choice.indexes[ordinal].structure
        moved = _moved(flow) * flow.held
        self.amounts["member in or out"] += moved
        self.amounts["column of a member in or out"] += moved * _columns(spec)
        if self._merges(ordinal):
            self.amounts["member merged"] += moved
            moved *= flow.new
        if structure in ("btree", "ttree"):
            self.amounts[f"{structure} level updated"] += moved * _levels(self.held(ordinal))
        else:
            self.amounts[f"{structure} update"] += moved

    def _probe(self, step: Step, probes: float, bound: list[int], share: float) -> float:
        """Probes one more window; returns how many combinations satisfy its conditions."""
        held, structure = self.held(step.ordinal), self.choice.indexes[step.ordinal].structure
        if isinstance(self.body.inputs[step.ordinal].source, ConstantRow):
            structure = "list"
        equal = probes * held * self._equal(step.ordinal, bound)
        match structure:
            case "list":
                self.amounts["list member scanned"] += probes * held
            case "hash":
                self.amounts["hash probe"] += probes
                self.amounts["hash member scanned"] += equal
            case _:
                self.amounts[f"{structure} level probed"] += probes * _levels(held)
        ranged = share if step.range is not None else 1.0
        found = equal * ranged
        self.amounts["match found"] += found
        self.amounts["condition checked"] += found * len(step.conditions)
        return found * (share if step.conditions and step.range is None else 1.0)

    def _combine(self, combinations: float) -> None:
        columns = len(self.body.integer_products) + 4 * len(self.body.real_products) + 2 * len(self.body.extremes)
        self.amounts["value computed"] += combinations * len(self.body.combining.values)
        self.amounts["combination"] += combinations
        if is_plain(self.stage):
            return
        self.amounts["column of a combination"] += combinations * columns
        method = {"ic": "added", "tc": "charged", "pc": "kept"}[self.choice.method]
        self.amounts[f"combination {method}"] += combinations
        self.amounts["charge of an extreme"] += combinations * len(self.body.extremes)

    # --- answers ------------------------------------------------------------------------------------------------

    def _emit(self) -> None:
        self.amounts["instant"] += self.instants
        if is_plain(self.stage):
            return
        columns = len(self.body.integer_products) + 2 * len(self.body.real_products) + len(self.body.extremes)
        emitted = self.instants * self.groups
        if makes_view(self.stage):
            emitted = min(emitted, sum(map(_moved, self.flows)))
        self.amounts["group emitted"] += emitted
        self.amounts["column of a group emitted"] += emitted * columns

    @property
    def groups(self) -> float:
        """How many groups are live: at most as many as there are combinations."""
        grouped = [flow.groups for flow, spec in zip(self.flows, self.body.inputs, strict=True) if spec.stored_groups]
        return max(1.0, min(prod(grouped), self.live_combinations)) if grouped else 1.0

    @property
    def live_combinations(self) -> float:
        """How many combinations of entries are in their windows at the same time."""
        total, bound = self.held(0), [0]
        for step in steps_from(self.body, self.choice.order, 0):
            total *= self.held(step.ordinal) * self._equal(step.ordinal, bound)
            bound.append(step.ordinal)
        return total * (self.selectivity if self.body.combining else 1.0)

    @property
    def live_cells(self) -> float:
        """How many cells are in a window at the same time. Each has its own time of leaving."""
        return max(flow.stay * flow.cells_per_second for flow in self.flows)

    def held(self, ordinal: int) -> float:
        """How many entries a window holds under the choice."""
        flow = self.flows[ordinal]
        return max(1.0, flow.merged if self._merges(ordinal) else flow.apart)

    def _merges(self, ordinal: int) -> bool:
        """Whether entries of different cells are merged. TC, PC and extremes let each entry leave by itself."""
        if ordinal in self.body.views or self.choice.windows != "structures":
            return True
        by_leave = self.choice.method != "ic" or bool(self.body.extremes)
        return ordinal in self.choice.early and not by_leave

    def _equal(self, ordinal: int, bound: Sequence[int]) -> float:
        """The share of a window's entries that have the same keys as a combination of the ``bound`` windows.

        If several bound windows have the key, the one with the fewest keys decides. If a window has keys of several
        classes, all classes are assumed to have equally many keys.
        """
        share, inputs = 1.0, self.body.inputs
        for number in inputs[ordinal].classes:
            others = [other for other in bound if number in inputs[other].classes]
            share *= max((self._equal_class(ordinal, other) for other in others), default=1.0)
        return share

    def _equal_class(self, ordinal: int, other: int) -> float:
        """The share for two windows and one key class."""
        (keys, skew), (other_keys, other_skew) = (
            (pow(flow.keys, 1 / classes), pow(flow.skew, 1 / classes))
            for flow, classes in ((self.flows[own], len(self.body.inputs[own].classes)) for own in (ordinal, other))
        )
        return min(sqrt(skew * other_skew) / max(keys, other_keys), 1.0)


def _moved(flow: Flow) -> float:
    return flow.entries_per_second * (2 if flow.leaves else 1)


def _columns(spec: InputSpec) -> int:
    return len(spec.identity) + len(spec.integers) + 4 * len(spec.reals) + len(spec.extremes)


def _levels(members: float) -> float:
    return log2(members + 2)
