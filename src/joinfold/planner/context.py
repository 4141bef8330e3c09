"""What the passes of the planner know in addition to the plan."""

from dataclasses import dataclass

from joinfold.logical.shedding import Sampler
from joinfold.planner.cost.weights import Weights
from joinfold.planner.forcing import Plan
from joinfold.planner.stream_statistics import Statistics


@dataclass(frozen=True, slots=True)
class Context:
    """What is forced, what is known about the streams, the prices of operations, and the roots that a chain may have.

    Without ``statistics`` nothing is estimated. If a checkpoint has state, ``roots`` has the root that it was made
    with: an alias, or None for a plan without a chain. If ``roots`` itself is None, every root is allowed. In the same
    way, ``sampler`` is that of the checkpoint.
    """

    wanted: Plan
    statistics: Statistics | None
    weights: Weights
    roots: frozenset[str | None] | None = None
    sampler: Sampler | None = None
