"""Following the data: whether a bucket should go on with another plan than the one it has.

What is measured is compared with what every choice would cost, between two micro-batches. State is the same whatever
the choice, so only what is in memory is made anew; that costs about what a window's entries cost to enter. Another
choice must be cheaper by a margin that pays for it within a window, which also keeps two that are close from taking
turns.
"""

from dataclasses import dataclass

from joinfold.operators.choice import FoldChoice, can_fuse
from joinfold.operators.fold import Fold
from joinfold.operators.layout import FoldLayout
from joinfold.planner.cost.weights import Weights
from joinfold.planner.cost.windows import flows_of, instants_per_second
from joinfold.planner.estimating import Setting, fold_cost
from joinfold.planner.measuring import measured_statistics
from joinfold.planner.search import choice_title, fold_choices
from joinfold.planner.statistics import Statistics, StreamStatistics

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
class Following:
    """How buckets follow the data: by the prices of operations, under the names of the inputs."""

    weights: Weights
    names: tuple[str, ...]

    def follow(self, bucket: Fold) -> Change | None:
        """Changes the choice of a bucket if another one is cheaper by the margin."""
        statistics = measured_statistics(bucket)
        if statistics is None or not _is_counted(bucket) or not self._is_news(bucket, statistics):
            return None
        layout, before = bucket.layout, bucket.choice
        setting = Setting((), statistics, self.weights)
        (*_, flows), instants = flows_of((layout,), statistics), instants_per_second(layout.timeline, statistics)
        now = fold_cost(setting, layout, before, flows, instants)
        seconds, best = fold_choices(setting, layout, flows, instants)[0]
        if best == before or MARGIN * seconds >= now:
            return None
        bucket.go_on_with(best)
        reason = f"estimated at {seconds / now:.0%} of its CPU, by {_measured(setting, self.names)}"
        return Change(self.title(layout, before), self.title(layout, best), reason)

    def _is_news(self, bucket: Fold, statistics: Statistics) -> bool:
        """Whether anything has changed since plans were last compared: what is steady need not be looked at again."""
        if bucket.observed.compared is not None:
            weights, before = bucket.observed.compared
            if weights == self.weights and _are_alike(before, statistics):
                return False
        bucket.observed.compared = (self.weights, statistics)
        return True

    def title(self, layout: FoldLayout, choice: FoldChoice) -> str:
        """A choice in a few words."""
        return choice_title(layout, choice, self.names)


def has_choice(layout: FoldLayout) -> bool:
    """Whether there is anything to follow: where sets by key answer, no other plan is ever cheaper."""
    is_stage = layout.is_numbering or bool(layout.partition)
    return not (is_stage or layout.is_plain or layout.on_arrival or layout.views or can_fuse(layout))


def _is_counted(bucket: Fold) -> bool:
    """Whether the share of the pairs that join is measured: nothing is decided by one that is assumed."""
    combining = bucket.layout.combining
    return bucket.observed.selectivity is not None or not (combining.ranges or combining.conditions)


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
