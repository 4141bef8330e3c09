"""`Query`: a question to a session, bound when it is first looked at."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from joinfold.dialect import ParsedQuery, bind
from joinfold.errors import UsageError
from joinfold.inprocess import InProcessRun, run_in_process
from joinfold.logical.cautions import warnings_of
from joinfold.logical.drawing import window_drawing
from joinfold.logical.query import LogicalQuery, Source
from joinfold.logical.sql import query_text
from joinfold.logical.tree import query_tree
from joinfold.planner.explain import plan_tree
from joinfold.planner.folding import plan_fold
from joinfold.planner.forcing import Plan
from joinfold.planner.plan import PhysicalPlan
from joinfold.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinfold.runtime.handle import Handle

STAGES = ("logical", "windows", "physical")


class Data(Protocol):
    """Where a query's rows come from, and where it runs."""

    @property
    def spark(self) -> "SparkSession":
        """The Spark session."""

    def frame(self, name: str) -> "DataFrame":
        """The DataFrame of a stream or relation."""

    def rows(self, name: str) -> pa.Table | pa.RecordBatch:
        """The Arrow table of a stream or relation; raises `UsageError` where it is something else."""


class Query:
    """What a user holds: the logical query, its canonical text and its plans."""

    def __init__(
        self, parsed: ParsedQuery, catalog: Mapping[str, Source], data: Data, forced: Plan | None = None
    ) -> None:
        self._parsed = parsed
        self._catalog = catalog
        self._data = data
        self._forced = forced

    def __repr__(self) -> str:
        return f"<joinfold.Query {' '.join(self.to_sql().split())}>"

    @cached_property
    def logical(self) -> LogicalQuery:
        """The bound query; raises `QueryError` where it has no meaning."""
        return bind(self._parsed, self._catalog)

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self.logical.schema

    def to_sql(self) -> str:
        """Canonical SQL, which parses to the same logical query."""
        return query_text(self.logical)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the query means and its author may not have meant, such as rows that fall between two windows."""
        return warnings_of(self.logical)

    def explain(self, stage: str = "logical", warn: bool = True) -> str:
        """The query at a stage of its way from text to result, as a small tree; ``warn``: below its warnings.

        'logical' is what it means, 'windows' draws its windows and the instants at which they are read, 'physical' is
        how it runs; raises `QueryError` for what no engine runs yet.
        """
        if stage not in STAGES:
            raise UsageError(f"unknown stage '{stage}'", f"the stages are: {', '.join(STAGES)}.")
        shown = {
            "logical": lambda: str(query_tree(self.logical)),
            "windows": lambda: window_drawing(self.logical),
            "physical": lambda: str(plan_tree(self.plan)),
        }
        return "\n".join([*(f"Warning: {text}" for text in self.warnings if warn), shown[stage]()])

    def to_df(self) -> "DataFrame":
        """The answers as a DataFrame, streaming if an input streams; any sink of Spark takes it."""
        from joinfold.runtime.engine import default_partitions

        return self._frame(default_partitions(self._data.spark))

    def collect(self) -> pa.Table:
        """The answers over bounded inputs, run to the end."""
        frame = self.to_df()
        if frame.isStreaming:
            raise UsageError("collect runs bounded inputs to the end, and this query reads a stream", "use start.")
        return frame.toArrow()

    def run_in_process(
        self,
        data: Mapping[str, pa.Table | pa.RecordBatch] | None = None,
        rows_per_step: int | None = None,
        by_row: bool = False,
    ) -> InProcessRun:
        """The answers over bounded Arrow tables and what they cost, without Spark; timestamps are read in UTC.

        ``data`` has the rows of each stream by its name; without it, they are those that the session has. With
        ``rows_per_step`` that many rows are fed at a time, in order of event time; else all at once. With ``by_row``
        the plan works on single rows, else on rows aggregated by cell, key and group.
        """
        if data is None:
            data = {input_.source.name: self._data.rows(input_.source.name) for input_ in self.logical.inputs}
        return run_in_process(self.plan, data, rows_per_step, by_row)

    def start(
        self,
        sink: "str | Callable[[pa.Table, int], None]",
        *,
        checkpoint: str,
        trigger: str | None = None,
        partitions: int | None = None,
        name: str | None = None,
        **options: str,
    ) -> "Handle":
        """Runs the query into a sink of Spark ('console', 'parquet' with path=…, 'memory' with name=…, …).

        A sink may also be a function here: it gets the answers of each micro-batch as a table, with the number of the
        micro-batch. After a failure it may get a number that it has had before, with the same answers.
        The checkpoint belongs to the query: a later start goes on where this one stopped. ``trigger`` is a duration
        between micro-batches, or 'available' to stop when all that is there now is answered.
        """
        from joinfold.runtime.engine import start

        if not self.logical.streams or not any(
            self._data.frame(i.source.name).isStreaming for i in self.logical.inputs
        ):
            raise UsageError("start runs streams, and all inputs of this query are bounded", "use collect.")
        return start(self.plan, self._frame, self._data.spark, sink, checkpoint, trigger, partitions, name, options)

    @cached_property
    def plan(self) -> PhysicalPlan:
        """How the query runs; raises `QueryError` for what no engine runs yet."""
        return plan_fold(self.logical, self._forced)

    def _frame(self, partitions: int) -> "DataFrame":
        from joinfold.runtime.engine import run

        names = {input_.source.name for input_ in self.logical.inputs}
        return run(self.plan, {name: self._data.frame(name) for name in names}, partitions)
