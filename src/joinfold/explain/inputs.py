"""The streams and relations of a session as a table."""

from collections.abc import Iterable

from joinfold.amounts import NOTHING
from joinfold.explain.tables import Table
from joinfold.logical.query import Source
from joinfold.timetext import duration_text


def inputs_table(sources: Iterable[Source]) -> Table:
    """What can be named in a query: its columns, and of a stream its time and delay."""
    rows = tuple(_row(source) for source in sources)
    notes = () if rows else ("There are none yet: session.stream(name, rows, time=…) adds one.",)
    header = ("name", "kind", "columns", "time", "delay")
    return Table("Streams and relations of the session", header, rows, words=len(header), notes=notes)


def _row(source: Source) -> tuple[str, ...]:
    if not source.is_stream:
        return source.name, "relation", str(source.schema), NOTHING, NOTHING
    time = source.time or "that of its micro-batches"
    return source.name, "stream", str(source.schema), time, duration_text(source.delay_us)
