"""The pair: what is computed from whole combinations, for a chunk of them at once."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate
from joinfold.operators.calendars.calendar import END
from joinfold.operators.packing.rows_to_entries import aggregate
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.side import Side


def pair_side(vocabulary: Vocabulary, columns: Mapping[Key, pa.Array], rows: int, zone: str) -> Side:
    """The pair of each combination, as a side: from the carried columns, with the sums of a single row."""
    body = vocabulary.body
    frame = {
        name: evaluate(expression, columns, rows, zone, wide=True).cast(arrow_type(expression.type))
        for name, expression in body.combining.values
    }
    batch = pa.RecordBatch.from_pydict(frame or {"row": pa.nulls(rows)})
    counted = aggregate(body.pair, (), batch, np.zeros(rows, np.int64), single=True)
    return Side(
        vocabulary.groups[-1].intern([batch.column(name) for name in body.pair.groups], rows),
        np.zeros(rows, np.int32),
        np.full(rows, END),
        vocabulary.payload_of(len(body.inputs), counted),
    )
