"""How large plans are: the entries that lie in state and travel, and what workers hold in memory.

Entries are written column by column, integers as narrow as their spread allows (`operators.codec`). In memory a window
has a row of 8-byte columns for each slot, in arrays that double when they are full: about two thirds are in use.
"""

from collections.abc import Mapping

from joinfold.operators.choice import SUMS
from joinfold.operators.layout import FoldLayout, InputLayout, Limb
from joinfold.planner.cost.engine import FoldAmounts
from joinfold.types import DataType

BLOB_BYTES = 1_500.0  # the frame of a blob, whatever it holds
CELL_BYTES, COUNT_BYTES, SUM_BYTES, REAL_BYTES = 1.5, 1.0, 2.0, 16.0
BIGINT_BYTES, TEXT_BYTES = 3.0, 16.0
FILLED, FILLED_SETS, FILLED_SUMS = 0.65, 0.42, 0.4
TABLE_BYTES = 38.0  # of a table that finds ids, for each
STRUCTURE_BYTES = {"list": 50.0, "hash": 80.0, "btree": 105.0, "ttree": 100.0}
_WIDTHS = {"boolean": 0.125, "tinyint": 1.0, "smallint": 2.0, "int": 4.0, "date": 4.0, "float": 4.0, "double": 8.0}


def column_bytes(type_: DataType) -> float:
    """What a value of a type takes in a blob, on the average."""
    if type_.is_integer and str(type_).lower() == "bigint":
        return BIGINT_BYTES
    if type_.is_decimal:
        return 16.0
    return _WIDTHS.get(str(type_).lower(), TEXT_BYTES if not type_.is_nested else 2 * TEXT_BYTES)


def entry_bytes(side: InputLayout, widths: Mapping[str, float]) -> float:
    """An entry in a blob; ``widths`` has the bytes of the columns of its frame."""
    values = sum(widths.get(name, BIGINT_BYTES) for name in side.identity)
    sums = sum(SUM_BYTES if column.part == Limb(0) and not column.counts else COUNT_BYTES for column in side.integers)
    columns = [name for extreme in side.extremes for name in (extreme.column, extreme.by) if name is not None]
    extremes = sum(1.0 + widths.get(name, BIGINT_BYTES) for name in columns)
    return CELL_BYTES + values + sums + REAL_BYTES * len(side.reals) + extremes


def memory_bytes(fold: FoldAmounts) -> float:
    """What a fold holds of windows and combinations."""
    layout, choice = fold.layout, fold.choice
    windows = sum(_window_bytes(fold, place) for place in range(len(layout.inputs)))
    columns = len(layout.integer_products) + 4 * len(layout.real_products)
    groups = fold.groups * (8 * columns + 8) / FILLED
    extremes = len(layout.extremes) * 24 * sum(flow.merged for flow in fold.flows) / FILLED
    kept = 0.0
    worth = 8 * (2 + columns + 2 * len(layout.extremes))
    if not choice.is_fused and choice.method == "pc":
        kept = fold.live_combinations * worth
    if not choice.is_fused and choice.method == "tc":
        kept = min(fold.live_combinations, fold.live_cells * fold.groups) * worth
    return windows + groups + extremes + kept


def _window_bytes(fold: FoldAmounts, place: int) -> float:
    layout, choice, held = fold.layout, fold.choice, fold.held(place)
    side = layout.inputs[place]
    payload = 8 * (len(side.integers) + len(side.reals)) + 32 * len(side.reals)
    if choice.is_fused:
        return held * (payload + 4) / FILLED_SETS + 24 * fold.flows[place].keys
    if SUMS in choice.indexes:
        return held * (payload + 4) / FILLED_SUMS
    slot = payload + 4 * len(side.keys) + 16 + 9 * len(layout.extremes)
    tables = TABLE_BYTES * (len(side.keys) + 2) if place in choice.early or place in layout.views else 0.0
    queue = 8 * fold.flows[place].apart
    return held * (slot / FILLED + tables + STRUCTURE_BYTES[choice.indexes[place].structure]) + queue


def state_entries(layout: FoldLayout, place: int, fold: FoldAmounts) -> float:
    """The entries of an input that the state has: by cell, until the cell has left; what never leaves is added up."""
    flow = fold.flows[place]
    return flow.apart if flow.leaves and place not in layout.views else flow.merged
