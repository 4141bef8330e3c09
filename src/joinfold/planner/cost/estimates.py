"""The estimated cost of plans, and the decision for one of them."""

from dataclasses import dataclass
from typing import Literal

from joinfold.physical.plan import PhysicalPlan
from joinfold.planner.stream_statistics import Statistics

StageKind = Literal["PACK", "shuffle", "FOLD", "MERGE"]


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """One stage: seconds of CPU and bytes shuffled per second of stream, bytes of stored state and of memory.

    ``number`` is the number of the stream for PACK, and of the stage otherwise. MERGE has that of the last stage.
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
        """Seconds of CPU per second of stream. If it exceeds the number of cores, the query cannot keep up."""
        return sum(stage.cpu for stage in self.stages)

    @property
    def state_bytes(self) -> float:
        """The bytes in the state store."""
        return sum(stage.state_bytes for stage in self.stages)

    @property
    def memory_bytes(self) -> float:
        """The bytes that workers hold in memory for windows and combinations."""
        return sum(stage.memory_bytes for stage in self.stages)

    @property
    def shuffle_bytes(self) -> float:
        """The bytes that are sent between workers per second of stream."""
        return sum(stage.shuffle_bytes for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A possible plan with its title and its estimate."""

    title: str
    plan: PhysicalPlan
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Decision:
    """The alternatives, cheapest first, the one that is taken, and the reason in a sentence."""

    alternatives: tuple[Alternative, ...]
    chosen: Alternative
    reason: str
    statistics: Statistics
    warnings: tuple[str, ...] = ()
