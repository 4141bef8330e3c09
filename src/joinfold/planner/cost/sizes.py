"""The sizes of plans in bytes: entries in state and in the shuffle, and the memory of workers.

Entries are encoded column by column, integers as narrow as their range allows (`operators.codec`). In memory a window
has a row of 8-byte columns for each slot, in arrays that double when they are full. About two thirds are in use
(`FILLED`).
"""

from collections.abc import Mapping

from joinfold.physical.payload import InputSpec, IntegerSum, Limb, ViewSum
from joinfold.physical.plan import Frame
from joinfold.physical.source import ViewOf
from joinfold.planner.cost.engine import FoldAmounts
from joinfold.planner.cost.windows import Flow
from joinfold.types import DataType

BLOB_BYTES = 1_500.0  # overhead of a blob, whatever it holds
CELL_BYTES, COUNT_BYTES, SUM_BYTES, REAL_BYTES = 1.5, 1.0, 2.0, 16.0
BIGINT_BYTES, TEXT_BYTES = 3.0, 16.0
FILLED, FILLED_SETS, FILLED_SUMS = 0.65, 0.42, 0.4
TABLE_BYTES = 38.0  # per identity in a lookup table
STRUCTURE_BYTES = {  # per member, with room to grow; `joinfold bench methods` measures them
    "list": 50.0,
    "hash": 80.0,
    "btree": 105.0,
    "ttree": 100.0,
}
_WIDTHS = {"boolean": 0.125, "tinyint": 1.0, "smallint": 2.0, "int": 4.0, "date": 4.0, "float": 4.0, "double": 8.0}


def column_bytes(type_: DataType) -> float:
    """The average bytes of a value of this type in a blob."""
    if type_.is_integer and str(type_).lower() == "bigint":
        return BIGINT_BYTES
    if type_.is_decimal:
        return 16.0
    return _WIDTHS.get(str(type_).lower(), TEXT_BYTES if not type_.is_nested else 2 * TEXT_BYTES)


def frame_bytes(frame: Frame) -> dict[str, float]:
    """The average bytes of a value of each column of a frame in a blob."""
    return {column.name: column_bytes(column.expression.type) for column in frame.columns}


def entry_bytes(spec: InputSpec, widths: Mapping[str, float]) -> float:
    """The bytes of an entry in a blob. ``widths`` has the bytes of the columns of all frames."""
    values = sum(widths.get(name, BIGINT_BYTES) for name in spec.identity)
    sums = sum(SUM_BYTES if _is_lowest_limb(column) else COUNT_BYTES for column in spec.integers)
    columns = [name for extreme in spec.extremes for name in (extreme.column, extreme.by) if name is not None]
    extremes = sum(1.0 + widths.get(name, BIGINT_BYTES) for name in columns)
    return CELL_BYTES + values + sums + REAL_BYTES * len(spec.reals) + extremes


def _is_lowest_limb(column: IntegerSum | ViewSum) -> bool:
    return isinstance(column, IntegerSum) and column.is_valued and column.part == Limb(0)


def memory_bytes(fold: FoldAmounts) -> float:
    """The bytes that a fold holds in memory: windows, totals, extremes, and the combinations that PC or TC keeps."""
    body, choice = fold.body, fold.choice
    windows = sum(_window_bytes(fold, ordinal) for ordinal in range(len(body.inputs)))
    columns = len(body.integer_products) + 4 * len(body.real_products)
    groups = fold.groups * (8 * columns + 8) / FILLED
    extremes = len(body.extremes) * 24 * sum(flow.merged for flow in fold.flows) / FILLED
    kept = 0.0
    value_bytes = 8 * (2 + columns + 2 * len(body.extremes))
    if choice.windows == "structures" and choice.method == "pc":
        kept = fold.live_combinations * value_bytes
    if choice.windows == "structures" and choice.method == "tc":
        kept = min(fold.live_combinations, fold.live_cells * fold.groups) * value_bytes
    return windows + groups + extremes + kept


def _window_bytes(fold: FoldAmounts, ordinal: int) -> float:
    body, choice, held = fold.body, fold.choice, fold.held(ordinal)
    spec = body.inputs[ordinal]
    payload = 8 * spec.integer_columns + 32 * len(spec.reals)
    if choice.windows == "sets":
        return held * (payload + 4) / FILLED_SETS + 24 * fold.flows[ordinal].keys
    if choice.windows == "sums":
        return held * (payload + 4) / FILLED_SUMS
    slot = payload + 4 * len(spec.keys) + 16 + 9 * len(body.extremes)
    tables = TABLE_BYTES * (len(spec.keys) + 2) if ordinal in choice.early or ordinal in body.views else 0.0
    queue = 8 * fold.flows[ordinal].apart
    return held * (slot / FILLED + tables + STRUCTURE_BYTES[choice.indexes[ordinal].structure]) + queue


def state_entries(spec: InputSpec, flow: Flow) -> float:
    """How many entries of an input the state has.

    They are kept by cell until the cell leaves. Entries of views and landmark windows are merged over all cells.
    """
    return flow.apart if flow.leaves and not isinstance(spec.source, ViewOf) else flow.merged
