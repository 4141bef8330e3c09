"""The ways of answering: at instants, at every arrival, or combinations themselves."""

from joinfold.operators.arrivals import ArrivalFold
from joinfold.operators.bucket import Bucket
from joinfold.operators.choice import FoldChoice
from joinfold.operators.fold import Fold
from joinfold.operators.layout import FoldLayout
from joinfold.operators.numbering import NumberFold
from joinfold.operators.paired import PairMoves
from joinfold.operators.pairing import PairFold
from joinfold.operators.partitions import PartitionFold
from joinfold.operators.window_ids import WindowIds
from joinfold.window import Continuous, Landmark, Sliding


def open_bucket(layout: FoldLayout, number: int, choice: FoldChoice) -> Bucket:
    """A bucket before its first row."""
    if layout.is_numbering:
        return NumberFold(layout, number, choice)
    if layout.partition:
        return PartitionFold(layout, number, choice)
    if layout.is_plain:
        by_time = all(isinstance(window, Sliding | Continuous | Landmark) for window in layout.timeline.windows)
        is_known = by_time and not isinstance(layout.timeline, WindowIds)
        return (PairFold if is_known else PairMoves)(layout, number, choice)
    return (ArrivalFold if layout.on_arrival else Fold)(layout, number, choice)
