"""Which state it is: that of which bucket of which stage, in which checkpoint, after which micro-batch.

Spark finds state by its place alone. If a part of a checkpoint was lost, exchanged with another part or restored from
an older copy, Spark opens what is there, and the bucket would continue without its rows or from the past. So every
position is stored with its id, and a micro-batch opens only the state of the one before it:

    micro-batch         0         1       2       2 again      3
    opens state of      none      0       1       1            2

Spark numbers micro-batches from 0 without gaps. A bucket stores its position in each, also if it gets nothing.
"""

from dataclasses import asdict, dataclass
from typing import Any

from joinfold.errors import EvaluationError

_NEXT_STEP = (
    "a part of the checkpoint was lost, moved or restored from another copy. Restore the whole checkpoint from one "
    "copy, or use a new checkpoint directory."
)


@dataclass(frozen=True, slots=True)
class StateId:
    """The state that a micro-batch leaves; ``checkpoint`` is the id of the checkpoint, None if it has none."""

    checkpoint: str | None
    stage: int
    bucket: int
    batch: int

    def facts(self) -> dict[str, Any]:
        """The id as it is stored with a position."""
        return asdict(self)

    def refuse_to_follow(self, position: dict[str, Any] | None) -> None:
        """Raises an error unless the stored position is that of the micro-batch before; None if nothing is stored.

        Positions without an id are accepted: earlier versions stored them.
        """
        found = None if position is None else position.get("state_id")
        if position is not None and found is None:
            return
        expected = None if self.batch == 0 else asdict(self) | {"batch": self.batch - 1}
        if found != expected:
            where = f"bucket {self.bucket} of stage {self.stage} cannot start micro-batch {self.batch}"
            raise EvaluationError(f"{where}: expected {_told(expected)}, found {_told(found)}", _NEXT_STEP)


def _told(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "no state"
    place = f"bucket {facts['bucket']} of stage {facts['stage']}"
    whose = "" if facts["checkpoint"] is None else f" in checkpoint {facts['checkpoint']}"
    return f"the state of {place} after micro-batch {facts['batch']}{whose}"
