"""The last answers of a running query, at most `TAIL_ROWS` rows, in the driver.

Answers come here only if they come to the driver anyway: when the sink is a function, or 'latest', which keeps this
tail and nothing else. 'latest' asks Spark for at most `TAIL_ROWS` rows of each micro-batch, those of the last instants.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock

import pyarrow as pa
from pyspark.sql import DataFrame

from joinfold.arrow import arrow_schema
from joinfold.errors import RunError
from joinfold.logical.query import LogicalQuery

LATEST = "latest"
"""The name of the sink that keeps the tail and nothing else."""
TAIL_ROWS = 10_000

Function = Callable[[pa.Table, int], None]


class Tail:
    """The last rows that were answered, in the order of their instants. Micro-batches come from another thread."""

    def __init__(self, query: LogicalQuery, most_rows: int = TAIL_ROWS) -> None:
        self.order = [field.name for field in query.leading]
        self._most_rows = most_rows
        self._empty = arrow_schema(query.schema).empty_table()
        self._batches: deque[tuple[int, pa.Table]] = deque()
        self._lock = Lock()

    def add(self, answers: pa.Table, batch: int) -> None:
        """Takes in the answers of a micro-batch; after a failure they replace those of the same number."""
        rows = answers.sort_by([(name, "ascending") for name in self.order])
        rows = rows.slice(max(0, rows.num_rows - self._most_rows))
        with self._lock:
            while self._batches and self._batches[-1][0] >= batch:
                self._batches.pop()
            self._batches.append((batch, rows))
            while sum(own.num_rows for _, own in self._batches) - self._batches[0][1].num_rows >= self._most_rows:
                self._batches.popleft()

    def rows(self, most: int | None = None) -> pa.Table:
        """The last rows, at most so many."""
        with self._lock:
            tables = [table for _, table in self._batches if table.num_rows]
        rows = pa.concat_tables(tables) if tables else self._empty
        return rows.slice(max(0, rows.num_rows - (self._most_rows if most is None else min(most, self._most_rows))))


def keeping(tail: Tail, function: Function | None) -> Callable[[DataFrame, int], None]:
    """What Spark calls with each micro-batch: it gives the answers to the function, if any, and to the tail."""

    def hand_over(answers: DataFrame, batch: int) -> None:
        if function is None:
            last_first = [answers[f"`{name}`"].desc() for name in tail.order]
            tail.add(answers.orderBy(*last_first).limit(TAIL_ROWS).toArrow(), batch)
            return
        table = answers.toArrow()
        try:
            function(table, batch)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            hint = "mend the function, then start the query again: it gets the same answers again."
            raise RunError(f"your sink function failed in micro-batch {batch}, with {raised}", hint) from error
        tail.add(table, batch)

    return hand_over
