"""What SHED rations in a plain join: the rows of every stream draw by their time and all their values."""

from collections.abc import Sequence
from dataclasses import replace

from joinfold.logical.shedding import Favouring, Shed
from joinfold.physical.column_names import CELL
from joinfold.physical.payload import InputSpec
from joinfold.physical.shedding import PairRationing


def ration_pairs(shed: Shed, inputs: Sequence[InputSpec]) -> tuple[tuple[InputSpec, ...], PairRationing]:
    """The inputs with their draws, and what is divided among them."""
    how = shed.how
    assert isinstance(how, Favouring)
    drawing = tuple(replace(spec, drawn_by=(CELL, *spec.identity)) for spec in inputs)
    return drawing, PairRationing(shed.budgets, shed.seed, how.favour, how.least_rows, how.least_rows_per_second)
