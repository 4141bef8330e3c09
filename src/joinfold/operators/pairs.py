"""The pair: what is computed of combinations themselves, for a chunk of them at once."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate
from joinfold.operators.layout import FoldLayout
from joinfold.operators.pack import aggregate
from joinfold.operators.side import Side
from joinfold.operators.timeline import END
from joinfold.operators.vocabulary import Vocabulary, payload_of


def pair_side(layout: FoldLayout, vocabulary: Vocabulary, columns: Mapping[Key, pa.Array], rows: int) -> Side:
    """The pair of combinations, from their carried columns: a frame with a row for each, whose sums are its own."""
    frame = {
        name: evaluate(expression, columns, rows, layout.combining.zone, wide=True).cast(arrow_type(expression.type))
        for name, expression in layout.combining.values
    }
    batch = pa.RecordBatch.from_pydict(frame or {"row": pa.nulls(rows)})
    counted = aggregate(layout.pair, batch, np.zeros(rows, np.int64), single=True)
    integers, reals = payload_of(layout.pair, counted)
    codes = np.zeros((rows, len(layout.extremes)), np.int64)
    has = np.zeros((rows, len(layout.extremes)), np.bool_)
    for number, extreme in enumerate(layout.extremes):
        if extreme.place == len(layout.inputs):
            values = counted.column(f"e{extreme.index}")
            codes[:, number], has[:, number] = vocabulary.extremes[number].codes(values)
    return Side(
        vocabulary.groups[-1].intern([batch.column(name) for name in layout.pair.groups], rows),
        np.zeros(rows, np.int32),
        np.full(rows, END),
        integers,
        reals,
        np.repeat(np.abs(reals[:, 0::2]), 2, axis=1),
        codes,
        has,
    )
