"""Compares the answers of two engines row by row, on the instants that both have reached."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from joinfold_bench.engines.measurements import Measurement


Verdict = Literal["equal", "different", "stopped before an answer"]


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of answers.

    If there are no rows to compare, the verdict is "different", unless the cap stopped the other engine before it
    answered.
    """

    left: str
    right: str
    dataset: str
    slide_us: int
    instants: int
    rows: int
    verdict: Verdict


def compare(ours: "Measurement", theirs: "Measurement", at_theirs: bool = False) -> Check:
    """Compares every run of ``ours`` with the only run of ``theirs``.

    Compares up to the earlier of the two last instants. With ``at_theirs`` it compares at all instants of ``theirs``
    instead, and at no others.
    """
    (their,) = theirs.answers
    if not their.num_rows and theirs.runs and theirs.runs[0].capped:
        return Check(ours.engine, theirs.engine, ours.dataset.name, ours.slide_us, 0, 0, "stopped before an answer")
    kept = [common(our, their, at_theirs) for our in ours.answers]
    equal = bool(kept) and all(left.num_rows > 0 and left.equals(right) for left, right in kept)
    verdict: Verdict = "equal" if equal else "different"
    rows = min((left.num_rows for left, _ in kept), default=0)
    instants = min((len(left.column("instant").unique()) for left, _ in kept), default=0)
    return Check(ours.engine, theirs.engine, ours.dataset.name, ours.slide_us, instants, rows, verdict)


def common(left: pa.Table, right: pa.Table, at_right: bool = False) -> tuple[pa.Table, pa.Table]:
    """The answers that can be compared, both in the same order."""
    left, right = in_order(left), in_order(right)
    if at_right:
        return left.filter(pc.is_in(left.column("instant"), right.column("instant").unique())), right
    if left.num_rows and right.num_rows:
        last = min(last_instant(left), last_instant(right))
        left, right = (table.filter(pc.field("instant") <= last) for table in (left, right))
    return left, right


def last_instant(answers: pa.Table) -> int:
    """The latest instant of some answers, in microseconds."""
    latest: int = pc.max(_as_int64(answers.column("instant"))).as_py()
    return latest


def in_order(table: pa.Table) -> pa.Table:
    """The answers sorted by their first two columns, instant and group. Timestamps and integers become int64."""
    columns = [_as_int64(column) if _is_whole(column.type) else column for column in table.columns]
    names = table.column_names
    return pa.table(columns, names=names).sort_by([(name, "ascending") for name in names[:2]])


def _is_whole(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_integer(type_))


def _as_int64(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz))
    return column.cast(pa.int64())
