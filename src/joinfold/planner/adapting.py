"""Following the data: whether a bucket should go on with another plan than the one it has.

What is measured is compared with what every choice would cost, between two micro-batches. State is the same whatever
the choice, so only what is in memory is made anew; that costs about what a window's entries cost to enter. Another
choice must be cheaper by a margin that pays for it within a window, which also keeps two that are close from taking
turns.
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
NEWS = 1.1  # a number that has not moved by this factor is not worth another comparison


@dataclass(frozen=True, slots=True)
class Change:
    """A plan that takes the place of another, and why."""

    before: str
    after: str
    reason: str

    def __str__(self) -> str:
        return f"{self.before} → {self.after}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What plans were last compared by, None before the first time, and the choice to go on with, if it is another."""

    statistics: Statistics | None
    choice: FoldChoice | None = None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """How buckets follow the data: by the prices of operations, under the names of the inputs."""

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
        """Whether another choice is cheaper by the margin; ``compared`` is what a bucket last compared plans by.

        What is steady is not compared again. Nothing is decided by a share of pairs that is assumed.
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
        reason = f"estimated at {seconds / now:.0%} of its CPU, by {_measured(setting, self.names)}"
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
    told = [
        f"{name} {stream.rate:,.0f} rows/s, {stream.keys:,.0f} keys, {stream.groups:,.0f} groups"
        for name, stream in zip(names, setting.statistics.streams, strict=True)
    ]
    return f"{'; '.join(told)}; {setting.statistics.selectivity:.2g} of the pairs join"
