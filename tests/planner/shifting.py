"""Tiny streams that shift, and buckets that follow them by prices under which plans differ by far."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from joinfold.physical.choice import FoldChoice
from joinfold.physical.measured import Measured
from joinfold.physical.stage import JoiningStage, StatefulStage
from joinfold.physical.timing import Timing
from joinfold.planner.adapting import Change, Comparison, Following
from joinfold.planner.cost.engine import OPERATIONS
from joinfold.planner.cost.estimating import Setting
from joinfold.planner.cost.weights import Weights
from joinfold.planner.cost.windows import instants_per_second, stage_flows
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.search import fold_choices
from joinfold.planner.stream_statistics import Statistics
from tests.operators.runs import Data, plan_of
from tests.planner.known import unknown

SECOND_US = 1_000_000
TRIES = 20
WINDOW = "[4 SECOND SLIDE 1 SECOND]"
SCHEMA = "k INT, g INT, x INT, v INT"
SHIFTING = (
    f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} "
    "WHERE a.k = b.k AND a.x BETWEEN b.x - 10 AND b.x + 10 GROUP BY a.g"
)


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds of both streams: their rate, their groups, and from how many values a band of 21 takes its own."""

    seconds: int
    rate: int
    groups: int
    values: int


FEW_MATCHES, MANY_MATCHES = Phase(8, 12, 20, 2_000), Phase(8, 12, 1, 20)


def micro_batches(*phases: Phase, seed: int = 1) -> list[Data]:
    """A micro-batch for every second of the phases, one after another."""
    draw, found = Random(seed), list[Data]()
    for phase in phases:
        for _ in range(phase.seconds):
            second = len(found) * SECOND_US
            found.append({name: [_row(draw, second, phase) for _ in range(phase.rate)] for name in ("a", "b")})
    return found


def _row(draw: Random, second_us: int, phase: Phase) -> dict[str, int]:
    return {
        "ts": second_us + draw.randrange(SECOND_US),
        "k": draw.randrange(2),
        "g": draw.randrange(phase.groups),
        "x": draw.randrange(phase.values),
        "v": draw.randrange(9),
    }


def weights_of(prices: Mapping[str, float], otherwise: float = 1e-9) -> Weights:
    """Prices of some operations; all others cost next to nothing."""
    return Weights({name: prices.get(name, otherwise) for name in OPERATIONS})


FOUND = ("combination added", "combination charged", "combination kept")
BY_MATCHES = weights_of({"level of sums asked": 1e-6, **dict.fromkeys(FOUND, 5e-6)})
"""Sums cost what groups there are, everything else what matches there are."""


def following_plan(text: str, weights: Weights = BY_MATCHES, forced: Plan | None = None) -> PlannedQuery:
    """The plan of a query over streams of which nothing is known."""
    return plan_query(plan_of(text, SCHEMA).query, forced, unknown(2), weights)


class Restless:
    """Follows by other prices at every look: one operation after another is dear, and so plans change all the time."""

    DEAR = (
        *(*FOUND, "level of sums asked", "call of sums", "member merged"),
        *("btree level probed", "hash probe", "list member scanned", "ttree level updated"),
    )

    def __init__(self, following: Following, seed: int) -> None:
        self.names = following.names
        self.draw = Random(seed)

    def compare(
        self, stage: StatefulStage, timing: Timing, choice: FoldChoice, measured: Measured, compared: Statistics | None
    ) -> Comparison:
        """Changes the choice by random prices, of several if the first change nothing."""
        comparison = Comparison(compared)
        for _ in range(TRIES):
            dear = self.draw.sample(self.DEAR, self.draw.randrange(1, len(self.DEAR)))
            prices = {name: 10 ** -self.draw.uniform(0.1, 6) for name in dear}
            comparison = Following(weights_of(prices), self.names).compare(stage, timing, choice, measured, None)
            if comparison.choice is not None:
                break
        return comparison


class AnyChoice:
    """Goes on with any choice there is, after every micro-batch, whatever it costs."""

    def __init__(self, following: Following, seed: int) -> None:
        self.following = following
        self.draw = Random(seed)

    def compare(
        self, stage: StatefulStage, timing: Timing, choice: FoldChoice, measured: Measured, compared: Statistics | None
    ) -> Comparison:
        """Changes the choice."""
        assert isinstance(stage, JoiningStage)
        statistics = unknown(timing.streams)
        flows, instants = stage_flows(stage, timing, statistics), instants_per_second(timing, statistics)
        _, other = self.draw.choice(fold_choices(Setting((), statistics, weights_of({})), stage, flows, instants))
        before, after = (self.title(stage, own) for own in (choice, other))
        return Comparison(statistics, other, Change(before, after, "by chance"))

    def title(self, stage: StatefulStage, choice: FoldChoice) -> str:
        """A choice in a few words."""
        return self.following.title(stage, choice)


def restless(plan: PlannedQuery, seed: int) -> PlannedQuery:
    """A plan that does not stay with anything for long."""
    assert plan.following is not None
    return replace(plan, following=Restless(plan.following, seed))  # type: ignore[arg-type]


def with_any_choice(plan: PlannedQuery, seed: int) -> PlannedQuery:
    """A plan that is another one after every micro-batch."""
    assert plan.following is not None
    return replace(plan, following=AnyChoice(plan.following, seed))  # type: ignore[arg-type]
