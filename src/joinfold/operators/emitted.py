"""What a bucket emits when it answers."""

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Emitted:
    """Rows of totals or combinations. Their column INSTANT has the number of the answer that each belongs to.

    ``numbers`` are all answers of this micro-batch. A number is an instant, unless ``placed`` has, for each number, the
    columns that replace the instant. For CHANGES, ``before`` is the number under which the groups stand as they were
    before the first answer. ``boundaries`` has the new row boundaries of each numbered stream, by the number of the
    stream. Under SHED, ``rates`` has the sampling rate of each number, also of ``before``.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    placed: list[list[int]] | None = None
    boundaries: dict[int, pa.RecordBatch] = field(default_factory=dict)
    rates: dict[int, int] | None = None


NOTHING_EMITTED = Emitted(None, [])
