"""What a bucket emits when it answers."""

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Emitted:
    """Rows of totals or combinations, each with the number of the answer that it belongs to.

    Numbers are instants, unless ``placed`` has other columns for each of them. For CHANGES, ``before`` is the number of
    the groups as they were before the first answer. ``boundaries`` are those of streams whose rows are numbered.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    placed: list[list[int]] | None = None
    boundaries: dict[int, pa.RecordBatch] = field(default_factory=dict)


NOTHING_EMITTED = Emitted(None, [])
