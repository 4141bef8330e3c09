"""What SHED rations in a plain join: every row draws by its time and its values.

Only values of the stream itself count, so that all matches of a row in relations are kept or shed together.
"""

from collections.abc import Sequence
from dataclasses import replace

from joinfold.logical.expressions import Column, Expression, walk
from joinfold.logical.shedding import Favouring, Shed
from joinfold.physical.column_names import CELL
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Frame
from joinfold.physical.shedding import PairRationing


def ration_pairs(
    shed: Shed, inputs: Sequence[InputSpec], frames: Sequence[Frame]
) -> tuple[tuple[InputSpec, ...], PairRationing]:
    """The inputs with their draws, and what is divided among them."""
    how = shed.how
    assert isinstance(how, Favouring) and len(inputs) == len(frames)
    drawing = []
    for spec, frame in zip(inputs, frames, strict=True):
        own = {column.name for column in frame.columns if _reads_only(column.expression, frame.input.alias)}
        drawing.append(replace(spec, drawn_by=(CELL, *(name for name in spec.identity if name in own))))
    return tuple(drawing), PairRationing(shed.budgets, shed.seed, how.favour, how.least_rows, how.least_rows_per_second)


def _reads_only(expression: Expression, alias: str) -> bool:
    return all(node.input == alias for node in walk(expression) if isinstance(node, Column))
