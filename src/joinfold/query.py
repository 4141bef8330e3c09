"""`Query`: a query over the inputs of a session. It is bound when one of its properties is first read."""

import os
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from joinfold.dialect import ParsedQuery, bind
from joinfold.dialect.quoted import quoted_columns
from joinfold.errors import JoinfoldWarning, UsageError
from joinfold.explain.costs import cost_text
from joinfold.explain.costs_page import cost_page
from joinfold.explain.logical_tree import query_tree
from joinfold.explain.physical_tree import plan_tree
from joinfold.explain.tables import Table
from joinfold.explain.windows import window_drawing
from joinfold.inprocess import InProcessRun, run_in_process
from joinfold.logical.cautions import warnings_of
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sql import query_text
from joinfold.notebook import Lines, fragment, lines, warning
from joinfold.planner.cost.estimating import Setting, estimate
from joinfold.planner.cost.weights import usual_weights
from joinfold.planner.declaring import with_declared
from joinfold.planner.drafting.draft import draft
from joinfold.planner.drafting.homes import homes_are_open
from joinfold.planner.forcing import Plan, refuse_inputs
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import has_rival, plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.registered import Registered
from joinfold.starting import refuse_arguments
from joinfold.statistics.analysis import Analysis, analyze
from joinfold.statistics.matches import expected_matches
from joinfold.statistics.sampling import sampled_statistics
from joinfold.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinfold.runtime.handle import Handle
    from joinfold.runtime.stages import RunId

STAGES = ("cost", "physical", "logical", "windows")
FORMATS = ("text", "html")


class SparkOwner(Protocol):
    """What a query needs of its session: Spark, which is started when it is first asked for."""

    @property
    def spark(self) -> "SparkSession":
        """The Spark session."""


class Query:
    """A query: what it means, how it will run, and the ways to run it."""

    def __init__(
        self, parsed: ParsedQuery, inputs: Mapping[str, Registered], session: SparkOwner, forced: Plan | None = None
    ) -> None:
        self._parsed = parsed
        self._inputs = inputs
        self._session = session
        self._forced = forced

    def __repr__(self) -> str:
        return f"<joinfold.Query {' '.join(self.to_sql().split())}>"

    @cached_property
    def logical(self) -> LogicalQuery:
        """The bound query; raises `QueryError` if the query has no meaning."""
        return bind(self._parsed, {name: input_.source for name, input_ in self._inputs.items()})

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self.logical.schema

    def to_sql(self) -> str:
        """Canonical SQL, which parses to the same logical query."""
        return query_text(self.logical)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about what the query means, such as that some rows are in no window."""
        columns = [name for input_ in self.logical.inputs for name in input_.source.schema.names]
        text = self._parsed.inputs[0].span.text
        return (*warnings_of(self.logical), *quoted_columns(text, columns))

    @property
    def plan_warnings(self) -> tuple[str, ...]:
        """Warnings about the plan, such as that by its estimate it cannot keep up with the streams."""
        return () if self.plan.decision is None else self.plan.decision.warnings

    def explain(self, stage: str = "cost", warn: bool = True, format: str = "text") -> str:
        """The query at one stage on the way from text to result, as a small tree, preceded by warnings if ``warn``.

        'cost' shows the plan, its estimated cost and the alternatives; 'physical' shows the plan alone; 'logical' shows
        what the query means; 'windows' draws its windows and the instants at which they are read. The ``format``
        'html' gives a page, for 'cost' only. 'cost' and 'physical' raise `QueryError` if no engine can run the query.
        """
        if stage not in STAGES:
            raise UsageError(f"unknown stage '{stage}'", f"the stages are: {', '.join(STAGES)}.")
        if format not in FORMATS:
            raise UsageError(f"unknown format '{format}'", f"the formats are: {', '.join(FORMATS)}.")
        cautions = [*self.warnings, *(self.plan_warnings if stage == "cost" else ())] if warn else []
        if format == "html":
            if stage != "cost":
                raise UsageError(f"the stage '{stage}' has no HTML page", "leave out the stage or the format.")
            return cost_page(self.plan, self.to_sql(), cautions)
        shown = {
            "cost": lambda: cost_text(self.plan),
            "physical": lambda: str(plan_tree(self.plan)),
            "logical": lambda: str(query_tree(self.logical)),
            "windows": lambda: window_drawing(self.logical),
        }
        return Lines("\n".join([*(f"Warning: {text}" for text in cautions), shown[stage]()]))

    def _repr_html_(self) -> str:
        """The query as HTML, for a notebook: its text, its warnings and the columns of its answer."""
        columns = tuple((field.name, str(field.type)) for field in self.schema)
        answer = Table("Answer", ("column", "type"), columns, words=2)
        return fragment(lines(self.to_sql()), *map(warning, self.warnings), answer.to_html())

    def to_df(self) -> "DataFrame":
        """The answers as a DataFrame for any sink of Spark; it is streaming if an input is."""
        from joinfold.runtime.engine import frame_partitions, run
        from joinfold.runtime.stages import RunId

        self._warn()
        frames = self._frames()
        is_streaming = any(frame.isStreaming for frame in frames.values())
        return run(self.plan, frames, frame_partitions(self._session.spark, is_streaming), None, RunId())

    def collect(self) -> pa.Table:
        """All answers over bounded inputs."""
        from joinfold.runtime.failures import clear_errors

        frame = self.to_df()
        if frame.isStreaming:
            raise UsageError("collect needs bounded inputs, but this query reads a streaming DataFrame", "use start.")
        with clear_errors():
            return frame.toArrow()

    def run_in_process(
        self,
        data: Mapping[str, pa.Table | pa.RecordBatch] | None = None,
        rows_per_step: int | None = None,
        by_row: bool = False,
    ) -> InProcessRun:
        """Runs the query over bounded Arrow tables without Spark: the answers, and what they cost.

        ``data`` has the rows of each stream or relation by its name; without it, the rows of the session are used. With
        ``rows_per_step`` the rows are fed in steps of that many, in order of event time, otherwise all at once. With
        ``by_row`` the plan works on single rows, otherwise on rows aggregated by cell, key and group. Timestamps are
        read in UTC.
        """
        self._warn()
        if data is None:
            data = {name: self._inputs[name].rows() for name in self._names}
        return run_in_process(self.plan, data, rows_per_step, by_row)

    def analyze(
        self,
        data: Mapping[str, pa.Table | pa.RecordBatch] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Analysis:
        """Runs the query in process over bounded Arrow tables, and compares its cost with the estimate.

        ``data`` is as for `run_in_process`. ``progress`` is called with the number of rows as they are processed. At
        most 1,000,000 rows of a stream are read.
        """
        if data is None:
            data = {name: self._inputs[name].rows() for name in self._names}
        plan = self.plan
        setting = Setting.of(plan, self.statistics, usual_weights(), crossed=False)
        return analyze(plan, data, estimate(setting, plan), self.statistics, progress)

    def start(
        self,
        sink: "str | Callable[[pa.Table, int], None]",
        *,
        checkpoint: "str | os.PathLike[str]",
        trigger: str | None = None,
        partitions: int | None = None,
        name: str | None = None,
        **options: str,
    ) -> "Handle":
        """Starts the query on streams.

        ``sink`` is a sink of Spark ('console', 'parquet' with path=…, 'memory' with name=…, …), 'latest', which keeps
        the last answers for `Handle.answers`, `Handle.show` and `Handle.plot`, or a function. The function gets the
        answers of each micro-batch as a table, and the number of the micro-batch. After a failure it may get the same
        number again, with the same answers.
        The checkpoint belongs to the query: a later start continues where this one stopped. ``trigger`` is the time
        between two micro-batches, or 'available' to stop after all rows that are available now. Failures are raised as
        `JoinfoldError`, here and by the handle.
        """
        from joinfold.runtime.engine import run, start
        from joinfold.runtime.failures import clear_errors

        refuse_arguments(sink, checkpoint, trigger, partitions, name, options)
        self._warn()
        checkpoint = os.fspath(checkpoint)
        with clear_errors(checkpoint):
            frames = self._frames()
            if not self.logical.streams or not any(frame.isStreaming for frame in frames.values()):
                raise UsageError(
                    "start needs a streaming DataFrame, but all inputs of this query are bounded", "use collect."
                )
            plan = self._plan_for(checkpoint)

            def frame(partitions: int, run_id: "RunId") -> "DataFrame":
                return run(plan, frames, partitions, trigger, run_id)

            return start(plan, frame, self._session.spark, sink, checkpoint, trigger, partitions, name, options)

    def _warn(self) -> None:
        """Hands the warnings about what the query means to Python, as if its caller had raised them."""
        for text in self.warnings:
            warnings.warn(text, JoinfoldWarning, stacklevel=3)

    def _plan_for(self, checkpoint: str) -> PlannedQuery:
        """The plan, or, if the checkpoint was made with another root, sampler or home, the best plan with that one."""
        from joinfold.runtime.checkpoints.agreement import recorded_manifest

        recorded = recorded_manifest(self._session.spark, checkpoint)
        if recorded is None:
            return self.plan
        homes = self.plan.homes if recorded.homes is None else recorded.homes
        if (self.plan.root, self.plan.sampler, self.plan.homes) == (recorded.root, recorded.sampler, homes):
            return self.plan
        roots, known = frozenset({recorded.root}), self._draft
        if homes != known.homes:
            known = draft(self.logical, matches=self._matches, homes_of=homes)
        return plan_query(known, self._forced, self.statistics, roots=roots, sampler=recorded.sampler)

    @cached_property
    def plan(self) -> PlannedQuery:
        """How the query runs; raises `QueryError` if no engine can run it."""
        return plan_query(self._draft, self._forced, self.statistics)

    @cached_property
    def _draft(self) -> PlannedQuery:
        """The plan before any decision. Statistics are sampled for it, and planning starts from it."""
        return draft(self.logical, matches=self._matches)

    @cached_property
    def _matches(self) -> dict[tuple[str, str], float]:
        """How many rows of each relation match a row of each stream. DataFrames are sampled only if that decides."""
        relations = {input_.source.name for input_ in self.logical.inputs if input_.window is None}
        is_free = not homes_are_open(self.logical)
        samples = {name: self._inputs[name].sample(is_free) for name in self._names} if relations else {}
        return expected_matches(self.logical, {name: rows for name, rows in samples.items() if rows is not None})

    @cached_property
    def statistics(self) -> Statistics:
        """What is known of the streams: declared by the query or the session, sampled from bounded rows, or assumed.

        If the plan is forced or has no alternative, statistics are not worth a Spark job: DataFrames are not sampled.
        """
        wanted = Plan.wanted(self.logical.options, self._forced)
        refuse_inputs(self._draft, wanted)
        is_free = wanted.forces or not has_rival(self._draft)
        known = sampled_statistics(self._draft, self._samples(is_free))
        inputs = enumerate(self.logical.streams)
        declared = {
            ordinal: wanted.declared(own.alias).over(self._inputs[own.source.name].declared) for ordinal, own in inputs
        }
        return with_declared(known, self._draft, declared)

    def _samples(self, is_free: bool) -> dict[str, pa.Table | pa.RecordBatch]:
        """Sampled rows by the name of their stream or relation; relations are sampled only if a stream is."""
        samples: dict[str, pa.Table | pa.RecordBatch] = {}
        sources = {input_.source.name: input_.source.is_stream for input_ in self.logical.inputs}
        for name in sorted(sources, key=lambda name: not sources[name]):
            rows = self._inputs[name].sample(is_free) if sources[name] or samples else None
            if rows is not None:
                samples[name] = rows
        return samples

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(input_.source.name for input_ in self.logical.inputs))

    def _frames(self) -> "dict[str, DataFrame]":
        """The DataFrames of all inputs, by the names of their streams and relations. An Arrow table goes to Spark."""
        return {name: self._inputs[name].frame(self._session.spark) for name in self._names}
