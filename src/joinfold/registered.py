"""A stream or relation of a session, as queries keep it: what it means, its rows, and what is known of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.planner.declaring import NOTHING, Declared
from joinfold.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLED_ROWS = 100_000
"""How many rows of a DataFrame are read for statistics."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A stream or relation, its rows or only their schema, and the statistics that were declared for it.

    A query keeps those that it was made with, also if their names are registered anew.
    """

    source: Source
    data: Any
    declared: Declared = NOTHING

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """The rows as a DataFrame. An Arrow table goes to Spark."""
        from joinfold.runtime.schema import to_frame

        return to_frame(spark, self.data, self.source)

    def rows(self) -> pa.Table | pa.RecordBatch:
        """The Arrow table; raises `UsageError` if it is not an Arrow table."""
        if isinstance(self.data, pa.Table | pa.RecordBatch):
            return self.data
        name, is_schema = self.source.name, isinstance(self.data, Schema | pa.Schema | str)
        how = "as a schema without rows" if is_schema else f"as a Spark {type(self.data).__name__}"
        hint = f"register a pyarrow Table, or pass one: run_in_process(data={{'{name}': …}})."
        raise UsageError(f"'{name}' is registered {how}, but running in process needs an Arrow table", hint)

    def sample(self, is_free: bool) -> pa.Table | pa.RecordBatch | None:
        """Rows, if they are bounded; None if there are none to read.

        The first rows of a DataFrame cost a Spark job. With ``is_free`` they are not read.
        """
        if isinstance(self.data, pa.Table | pa.RecordBatch):
            return self.data
        if is_free or isinstance(self.data, Schema | pa.Schema | str) or self.data.isStreaming:
            return None
        from joinfold.runtime.schema import first_rows

        return first_rows(self.data, SAMPLED_ROWS)
