"""What plans are estimated to cost, and the decision for one of them."""

from dataclasses import dataclass
from typing import Literal

from joinfold.physical.plan import PhysicalPlan
from joinfold.planner.stream_statistics import Statistics

StageKind = Literal["PACK", "shuffle", "FOLD", "MERGE"]


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """One stage: seconds of CPU and bytes shuffled for a second of stream, bytes of stored state and of memory.

    ``number`` is that of the stream for PACK, and of the stage for the others; MERGE belongs to the last one.
    """

    kind: StageKind
    number: int
    cpu: float
    state_bytes: float = 0.0
    memory_bytes: float = 0.0
    shuffle_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """All stages of a plan, in the order in which rows go through them."""

    stages: tuple[StageEstimate, ...]

    @property
    def cpu(self) -> float:
        """Seconds of CPU for a second of stream: more than there are cores cannot be kept up with."""
        return sum(stage.cpu for stage in self.stages)

    @property
    def state_bytes(self) -> float:
        """What the state store holds."""
        return sum(stage.state_bytes for stage in self.stages)

    @property
    def memory_bytes(self) -> float:
        """What the workers hold in memory of windows and combinations."""
        return sum(stage.memory_bytes for stage in self.stages)

    @property
    def shuffle_bytes(self) -> float:
        """What goes from worker to worker in a second of stream."""
        return sum(stage.shuffle_bytes for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A plan that could be, in a few words, and what it costs."""

    title: str
    plan: PhysicalPlan
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Decision:
    """The alternatives, cheapest first, the one that is taken, and why in a sentence."""

    alternatives: tuple[Alternative, ...]
    chosen: Alternative
    reason: str
    statistics: Statistics
    warnings: tuple[str, ...] = ()
