"""The ways of answering: at instants, at every arrival, or combinations themselves."""

from joinfold.operators.arrivals import ArrivalFold
from joinfold.operators.bucket import Bucket
from joinfold.operators.choice import FoldChoice
from joinfold.operators.fold import Fold
from joinfold.operators.layout import FoldLayout
from joinfold.operators.pairing import PairFold


def open_bucket(layout: FoldLayout, number: int, choice: FoldChoice) -> Bucket:
    """A bucket before its first row."""
    if layout.is_plain:
        return PairFold(layout, number, choice)
    return (ArrivalFold if layout.on_arrival else Fold)(layout, number, choice)
