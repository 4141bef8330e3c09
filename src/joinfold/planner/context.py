"""What the passes of the planner know besides the plan."""

from dataclasses import dataclass

from joinfold.planner.cost.weights import Weights
from joinfold.planner.forcing import Plan
from joinfold.planner.stream_statistics import Statistics


@dataclass(frozen=True, slots=True)
class Context:
    """What is asked for, what is known of the streams, what operations cost, and which roots a chain may have.

    Without ``statistics`` nothing is estimated. Where a checkpoint has state, ``roots`` has the root that it was made
    with, None for a plan without a chain; else any root may be taken.
    """

    wanted: Plan
    statistics: Statistics | None
    weights: Weights
    roots: frozenset[str | None] | None = None
