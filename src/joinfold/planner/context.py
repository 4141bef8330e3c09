"""What the passes of the planner know besides the plan."""

from dataclasses import dataclass

from joinfold.planner.cost.weights import Weights
from joinfold.planner.forcing import Plan
from joinfold.planner.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Context:
    """What is asked for, what is known of the streams, what operations cost, and which roots a chain may have.

    Without ``statistics`` nothing is estimated. ``roots`` are all, None among them for one stage, unless given: state
    that is there already is that of one.
    """

    wanted: Plan
    statistics: Statistics | None
    weights: Weights
    roots: frozenset[str | None] | None = None
