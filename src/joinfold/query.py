"""`Query`: a question to a session, bound when it is first looked at."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from joinfold.dialect import ParsedQuery, bind
from joinfold.errors import UsageError
from joinfold.explain.costs import cost_text
from joinfold.explain.costs_page import cost_page
from joinfold.explain.logical_tree import query_tree
from joinfold.explain.physical_tree import plan_tree
from joinfold.explain.windows import window_drawing
from joinfold.inprocess import InProcessRun, run_in_process
from joinfold.logical.cautions import warnings_of
from joinfold.logical.query import LogicalQuery, Source
from joinfold.logical.sql import query_text
from joinfold.planner.cost.estimating import Setting, estimate
from joinfold.planner.cost.weights import usual_weights
from joinfold.planner.declaring import Declared, with_declared
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan, refuse_inputs
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import has_rival, plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.statistics.analysis import Analysis, analyze
from joinfold.statistics.sampling import sampled_statistics
from joinfold.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinfold.runtime.handle import Handle

STAGES = ("cost", "physical", "logical", "windows")
FORMATS = ("text", "html")


class Data(Protocol):
    """Where a query's rows come from, and where it runs."""

    @property
    def spark(self) -> "SparkSession":
        """The Spark session."""

    def frame(self, name: str) -> "DataFrame":
        """The DataFrame of a stream or relation."""

    def rows(self, name: str) -> pa.Table | pa.RecordBatch:
        """The Arrow table of a stream or relation; raises `UsageError` where it is something else."""

    def sample(self, name: str, is_free: bool) -> pa.Table | pa.RecordBatch | None:
        """Rows of a bounded stream or relation; None where there are none, or where they are not free to look at."""

    def declared(self, name: str) -> Declared:
        """What is said of a stream."""


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

    @property
    def plan_warnings(self) -> tuple[str, ...]:
        """What the plan cannot do with this machine as far as is known, such as to keep up with its streams."""
        return () if self.plan.decision is None else self.plan.decision.warnings

    def explain(self, stage: str = "cost", warn: bool = True, format: str = "text") -> str:
        """The query at a stage of its way from text to result, as a small tree; ``warn``: below its warnings.

        'cost' is how it runs, what that is estimated to cost and what else could be; 'physical' is how it runs alone;
        'logical' is what it means; 'windows' draws its windows and the instants at which they are read. Raises
        `QueryError` for what no engine runs yet, if it is asked how. The ``format`` 'html' is a page for 'cost'.
        """
        if stage not in STAGES:
            raise UsageError(f"unknown stage '{stage}'", f"the stages are: {', '.join(STAGES)}.")
        if format not in FORMATS:
            raise UsageError(f"unknown format '{format}'", f"the formats are: {', '.join(FORMATS)}.")
        warnings = [*self.warnings, *(self.plan_warnings if stage == "cost" else ())] if warn else []
        if format == "html":
            if stage != "cost":
                raise UsageError(f"the stage '{stage}' has no HTML page", "leave out the stage or the format.")
            return cost_page(self.plan, self.to_sql(), warnings)
        shown = {
            "cost": lambda: cost_text(self.plan),
            "physical": lambda: str(plan_tree(self.plan)),
            "logical": lambda: str(query_tree(self.logical)),
            "windows": lambda: window_drawing(self.logical),
        }
        return "\n".join([*(f"Warning: {text}" for text in warnings), shown[stage]()])

    def to_df(self) -> "DataFrame":
        """The answers as a DataFrame, streaming if an input streams; any sink of Spark takes it."""
        from joinfold.runtime.engine import default_partitions

        return self._frame(self.plan, default_partitions(self._data.spark))

    def collect(self) -> pa.Table:
        """The answers over bounded inputs, run to the end."""
        frame = self.to_df()
        if frame.isStreaming:
            raise UsageError("collect needs bounded inputs, but this query reads a streaming DataFrame", "use start.")
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
            data = {name: self._data.rows(name) for name in self._names}
        return run_in_process(self.plan, data, rows_per_step, by_row)

    def analyze(
        self,
        data: Mapping[str, pa.Table | pa.RecordBatch] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Analysis:
        """Runs the query in process over bounded Arrow tables, and puts what that costs beside what was estimated.

        ``data`` is as for `run_in_process`, and ``progress`` hears of rows as they are done. At most 1,000,000 rows of
        a stream are read.
        """
        if data is None:
            data = {name: self._data.rows(name) for name in self._names}
        plan = self.plan
        setting = Setting.of(plan, self.statistics, usual_weights(), crossed=False)
        return analyze(plan, data, estimate(setting, plan), self.statistics, progress)

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
            raise UsageError(
                "start needs a streaming DataFrame, but all inputs of this query are bounded", "use collect."
            )
        plan = self._plan_for(checkpoint)
        frame = partial(self._frame, plan)
        return start(plan, frame, self._data.spark, sink, checkpoint, trigger, partitions, name, options)

    def _plan_for(self, checkpoint: str) -> PlannedQuery:
        """The plan, or, where a checkpoint was made with another root, the best plan with that root."""
        from joinfold.runtime.checkpoint import recorded_roots

        roots = recorded_roots(self._data.spark, checkpoint)
        if roots is None or self.plan.root in roots:
            return self.plan
        return plan_query(self._draft, self._forced, self.statistics, roots=roots)

    @cached_property
    def plan(self) -> PlannedQuery:
        """How the query runs; raises `QueryError` for what no engine runs yet."""
        return plan_query(self._draft, self._forced, self.statistics)

    @cached_property
    def _draft(self) -> PlannedQuery:
        """What statistics are sampled by, and planning goes on from."""
        return draft(self.logical)

    @cached_property
    def statistics(self) -> Statistics:
        """What is known of the streams: said by the query, said by the session, sampled from bounded rows, or assumed.

        A plan that has no rival is not worth a job of Spark: DataFrames are left alone then.
        """
        said = Plan.wanted(self.logical.options, self._forced)
        refuse_inputs(self._draft, said)
        is_free = said.forces or not has_rival(self._draft)
        known = sampled_statistics(self._draft, self._samples(is_free))
        inputs = enumerate(self.logical.streams)
        declared = {place: said.declared(i.alias).over(self._data.declared(i.source.name)) for place, i in inputs}
        return with_declared(known, self._draft, declared)

    def _samples(self, is_free: bool) -> dict[str, pa.Table | pa.RecordBatch]:
        """Rows by the name of their stream or relation; without those of a stream, relations tell nothing."""
        found: dict[str, pa.Table | pa.RecordBatch] = {}
        sources = {input_.source.name: input_.source.is_stream for input_ in self.logical.inputs}
        for name in sorted(sources, key=lambda name: not sources[name]):
            rows = self._data.sample(name, is_free) if sources[name] or found else None
            if rows is not None:
                found[name] = rows
        return found

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(input_.source.name for input_ in self.logical.inputs))

    def _frame(self, plan: PlannedQuery, partitions: int) -> "DataFrame":
        from joinfold.runtime.engine import run

        return run(plan, {name: self._data.frame(name) for name in self._names}, partitions)
