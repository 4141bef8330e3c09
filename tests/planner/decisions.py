"""Decisions made by hand, for what is shown of them: amounts are of the size that real ones have, and nothing more."""

from dataclasses import replace

from joinfold.planner.cost.estimates import Alternative, Decision, Estimate, StageEstimate
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics, StreamStatistics

KNOWN = (
    StreamStatistics(25_000, 500, 40, None, 0.4, 1.2, 0.01, "sampled"),
    StreamStatistics(1_200.5, 500, 1, None, 0.003, 1.0, 0.0, "declared"),
    StreamStatistics(),
)
TITLES = ("PC, windows by hash", "TC, windows by hash", "IC, early: a", "IC, windows by btree")


def estimate_of(plan: PlannedQuery, times: float = 1.0) -> Estimate:
    """A stage of every kind that the plan has; FOLD takes so many times what it could."""
    stages = [StageEstimate("PACK", stream, 0.008 * (stream + 1)) for stream in range(len(plan.frames))]
    for number in range(len(plan.stages)):
        stages.append(StageEstimate("shuffle", number, 0.0004, shuffle_bytes=1.23e6))
        stages.append(StageEstimate("FOLD", number, 0.1234 * times, state_bytes=3.1e6, memory_bytes=9.04e6 * times))
    return Estimate((*stages, StageEstimate("MERGE", len(plan.stages) - 1, 0.000_02)))


def alternative_of(plan: PlannedQuery, title: str, times: float = 1.0) -> Alternative:
    """The plan itself under another title."""
    return Alternative(title, plan, estimate_of(plan, times))


def decided(
    plan: PlannedQuery, others: int = 3, streams: tuple[StreamStatistics, ...] = KNOWN, chosen_at: int = 0
) -> PlannedQuery:
    """The plan with a decision for it, among so many others, each 2.5 times as costly as the one before."""
    statistics = Statistics(tuple(streams[number % len(streams)] for number in range(len(plan.frames))))
    titles = ["aggregation sets by key", *(TITLES[n % 4] + f" ({n})" * (n > 3) for n in range(others))]
    alternatives = tuple(alternative_of(plan, title, 2.5**number) for number, title in enumerate(titles))
    reason = "what enters and leaves is multiplied by key, and no combination is looked at."
    return replace(plan, decision=Decision(alternatives, alternatives[chosen_at], reason, statistics))
