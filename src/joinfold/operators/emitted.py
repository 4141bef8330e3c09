"""What a bucket emits when it answers."""

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Emitted:
    """Rows of totals or combinations under numbers, and the columns ``placed`` that these stand for.

    Without such columns numbers are instants. ``before`` is the number under which stand the groups as they were before
    the first of them. ``boundaries`` are those of streams whose rows are numbered.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    placed: list[list[int]] | None = None
    boundaries: dict[int, pa.RecordBatch] = field(default_factory=dict)


NOTHING_EMITTED = Emitted(None, [])
