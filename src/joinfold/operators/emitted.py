"""What a bucket emits when it answers."""

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Emitted:
    """Rows of totals or combinations: a piece of what a bucket emits in a micro-batch.

    Their column INSTANT has the number of the answer that each row belongs to. ``numbers`` are all answers of the
    piece. A number is an instant, unless ``placed`` has, for each number, the columns that replace the instant. For
    CHANGES, ``before`` is the number under which the groups stand as they were before the first answer. ``boundaries``
    has the new row boundaries of each numbered stream, by the number of the stream. Under SHED, ``samples`` has, for
    each number and for ``before``, the sampling rate and the effective number of keys that such a sample should have.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    placed: list[list[int]] | None = None
    boundaries: dict[int, pa.RecordBatch] = field(default_factory=dict)
    samples: dict[int, tuple[int, int]] | None = None


NOTHING_EMITTED = Emitted(None, [])
