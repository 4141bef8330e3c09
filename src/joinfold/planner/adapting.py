"""Following the data: whether a bucket should change its choice while the query runs.

Between two micro-batches a bucket estimates the cost of every choice from what it has measured. Stored state does not
depend on the choice, so a change rebuilds memory only. A rebuild costs about as much as entering all entries of a
window. The new choice must therefore be cheaper by `MARGIN`, which pays for the rebuild within one window. The margin
also prevents two choices of similar cost from alternating.
"""

from dataclasses import dataclass

from joinfold.physical.choice import FoldChoice
from joinfold.physical.measured import Measured
from joinfold.physical.stage import JoiningStage, StatefulStage
from joinfold.physical.timing import Timing
from joinfold.planner.cost.estimating import Setting, fold_cost
from joinfold.planner.cost.weights import Weights
from joinfold.planner.cost.windows import instants_per_second, stage_flows
from joinfold.planner.search import choice_title, fold_choices
from joinfold.planner.stream_statistics import Statistics, StreamStatistics, measured_statistics

MARGIN = 1.5
NEWS = 1.1  # choices are compared again only after some number has changed by more than this factor


@dataclass(frozen=True, slots=True)
class Change:
    """The title of a choice, the title of the one that replaced it, and the reason."""

    before: str
    after: str
    reason: str

    def __str__(self) -> str:
        return f"{self.before} → {self.after}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The statistics of the last comparison, None before the first, and the choice to change to, if there is one."""

    statistics: Statistics | None
    choice: FoldChoice | None = None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """What buckets need to follow the data: the prices of operations, and the names of the inputs for messages."""

    weights: Weights
    names: tuple[str, ...]

    def compare(
        self,
        stage: StatefulStage,
        timing: Timing,
        choice: FoldChoice,
        measured: Measured,
        compared: Statistics | None,
    ) -> Comparison:
        """Whether another choice is cheaper by the margin; ``compared`` has the statistics of the last comparison.

        Compares again only if the statistics have changed. Keeps the choice as long as the selectivity is not measured.
        """
        if measured.selectivity is None or not isinstance(stage, JoiningStage):
            return Comparison(compared)
        statistics = measured_statistics(measured)
        if compared is not None and _are_alike(compared, statistics):
            return Comparison(compared)
        setting = Setting((), statistics, self.weights)
        flows, instants = stage_flows(stage, timing, statistics), instants_per_second(timing, statistics)
        now = fold_cost(setting, stage, choice, flows, instants)
        seconds, best = fold_choices(setting, stage, flows, instants)[0]
        if best == choice or MARGIN * seconds >= now:
            return Comparison(statistics)
        reason = f"estimated to take {seconds / now:.0%} of its CPU; measured: {_measured(setting, self.names)}"
        return Comparison(statistics, best, Change(self.title(stage, choice), self.title(stage, best), reason))

    def title(self, stage: StatefulStage, choice: FoldChoice) -> str:
        """A choice in a few words."""
        return choice_title(stage, choice, self.names)


def _are_alike(before: Statistics, now: Statistics) -> bool:
    pairs = [(before.selectivity, now.selectivity)]
    for one, other in zip(before.streams, now.streams, strict=True):
        pairs += zip(_numbers(one), _numbers(other), strict=True)
    return all(min(pair) * NEWS >= max(pair) for pair in pairs)


def _numbers(stream: StreamStatistics) -> tuple[float, ...]:
    return stream.rate, stream.keys, stream.groups, stream.entries or 1.0, stream.passes, stream.skew


def _measured(setting: Setting, names: tuple[str, ...]) -> str:
    """What was measured, in words."""
    streams = [
        f"{name} {stream.rate:,.0f} rows/s, {stream.keys:,.0f} keys, {stream.groups:,.0f} groups"
        for name, stream in zip(names, setting.statistics.streams, strict=True)
    ]
    return f"{'; '.join(streams)}; {setting.statistics.selectivity:.2g} of the pairs join"
