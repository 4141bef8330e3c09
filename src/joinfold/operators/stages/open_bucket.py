"""The bucket of each kind of stage."""

from typing import assert_never

from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.join_as_found import AsFoundJoin
from joinfold.operators.stages.join_at_moves import MoveJoin
from joinfold.operators.stages.last_rows import LastRows
from joinfold.operators.stages.number_rows import RowNumbers
from joinfold.operators.stages.rationed_join import RationedJoin
from joinfold.operators.stages.rationed_moves import RationedMoves
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import PairRationing, Shedding
from joinfold.physical.stage import (
    FoldAtArrivals,
    FoldAtInstants,
    JoinAsFound,
    JoinAtMoves,
    LastRowsPerKey,
    NumberRows,
    StatefulStage,
)
from joinfold.physical.timing import Timing


def open_bucket(
    stage: StatefulStage, timing: Timing, number: int, choice: FoldChoice, shedding: Shedding | None = None
) -> Bucket:
    """A new bucket, before its first row."""
    match stage:
        case NumberRows():
            return RowNumbers(stage, timing, number)
        case LastRowsPerKey():
            return LastRows(stage, timing, number, shedding)
        case FoldAtInstants():
            return Fold(stage, timing, number, choice, shedding)
        case FoldAtArrivals():
            return ArrivalFold(stage, timing, number, choice, shedding)
        case JoinAsFound() if isinstance(shedding, PairRationing):
            return RationedJoin(stage, timing, number, choice, shedding)
        case JoinAsFound():
            return AsFoundJoin(stage, timing, number, choice)
        case JoinAtMoves() if isinstance(shedding, PairRationing):
            return RationedMoves(stage, timing, number, choice, shedding)
        case JoinAtMoves():
            return MoveJoin(stage, timing, number, choice)
        case _:
            assert_never(stage)
