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

    Rows that are ``lasting`` hold until another row of their group, of the same bucket, replaces them. Those that hold
    from the beginning of the piece have a number before its first.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    placed: list[list[int]] | None = None
    boundaries: dict[int, pa.RecordBatch] = field(default_factory=dict)
    samples: dict[int, tuple[int, int]] | None = None
    is_lasting: bool = False


NOTHING_EMITTED = Emitted(None, [])
