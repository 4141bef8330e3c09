"""Runs a plan on Spark: PACK, shuffle by bucket, FOLD, shuffle by group, MERGE; HAVING and SELECT in the JVM."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from joinfold.errors import UsageError
from joinfold.logical.expressions import Expression
from joinfold.logical.query import LogicalQuery
from joinfold.names import identifier_text
from joinfold.operators.merging.changes import CLOSE
from joinfold.physical.column_names import (
    ANSWER,
    NOW,
    WAS,
    aggregate_column,
    bound_columns,
    group_column,
    kept_column,
    same_column,
)
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.stage import Concatenate, Merge, is_plain
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.blobs import BLOBS
from joinfold.runtime.budgets import with_budgets
from joinfold.runtime.checkpoints.agreement import agree
from joinfold.runtime.expressions import spark_text
from joinfold.runtime.frames import packed
from joinfold.runtime.handle import Handle
from joinfold.runtime.schema import schema_text
from joinfold.runtime.sessions.asking import require_workers
from joinfold.runtime.sessions.settings import (
    PARTITIONS,
    borrowed,
    building,
    is_connect,
    require_state_store,
    starting,
)
from joinfold.runtime.showing.tail import LATEST, Tail, keeping
from joinfold.runtime.shuffle_keys import spread_shuffle_keys
from joinfold.runtime.stages import RunId, StageRun, finish_batches, run_bounded
from joinfold.runtime.streaming import StageProcessor
from joinfold.runtime.warm import remove_run, sweep
from joinfold.timetext import duration_us
from joinfold.types import BOOLEAN, DOUBLE, Field, Schema

Sink = str | Callable[[pa.Table, int], None]


def run(
    plan: PlannedQuery,
    sources: dict[str, DataFrame],
    partitions: int,
    trigger: str | None,
    run_id: RunId,
) -> DataFrame:
    """The answers as a DataFrame, which is streaming if a stream of the query is. ``trigger`` is as for `start`."""
    spark = next(iter(sources.values())).sparkSession
    is_streaming = any(sources[frame.input.source.name].isStreaming for frame in plan.frames)
    plan = with_budgets(plan, spark, trigger, is_streaming)
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    plan = plan if is_streaming else replace(plan, pipeline=plan.pipeline.bounded)
    pipeline, last = plan.pipeline.in_zone(zone), plan.pipeline.last
    crosses = not isinstance(last, Concatenate) and last.crosses_buckets
    buckets = spread_shuffle_keys(partitions if pipeline.is_distributed else 1)
    merges = spread_shuffle_keys(partitions if plan.query.groups else 1) if crosses else buckets[:1]
    schema = finished_schema(plan)
    with building(spark):
        blobs = packed(plan, sources, buckets)
        for number, choice in enumerate(plan.choices):
            following = plan.following if number == len(pipeline.stages) - 1 else None
            stage = StageRun(pipeline, number, choice, buckets, merges, following, run_id)
            grouped = blobs.groupBy("bucket")
            bounded = None if is_streaming else _bounded(stage)
            blobs = StageProcessor.over(grouped, stage) if bounded is None else grouped.applyInArrow(bounded, BLOBS)
        if crosses:
            blobs = blobs.repartition(len(merges), "bucket")
        finished = blobs.mapInArrow(partial(finish_batches, last, schema, zone), schema_text(schema))
        return selected(plan, finished.alias(ANSWER))


def _bounded(stage: StageRun) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run_stage(blobs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark reads these types
        return run_bounded(stage, blobs)

    return run_stage


def start(
    plan: PlannedQuery,
    frame: Callable[[int, RunId], DataFrame],
    spark: SparkSession,
    sink: Sink,
    checkpoint: str,
    trigger: str | None,
    partitions: int | None,
    name: str | None,
    options: dict[str, str],
) -> Handle:
    """Starts a streaming query that writes to a sink, after checking the manifest of its checkpoint.

    ``frame`` makes the answers, given the number of partitions and the run.
    """
    if is_connect(spark) and (sink == LATEST or not isinstance(sink, str)):
        what = f"the sink '{LATEST}'" if sink == LATEST else "a sink function"
        hint = "choose a sink of Spark, such as 'parquet' or 'memory'."
        raise UsageError(f"over Spark Connect {what} would run on the server, not in this process", hint)
    workers = require_workers(spark)
    manifest = agree(spark, checkpoint, plan, partitions or workers.cores, explicit=partitions is not None)
    run_id = RunId(manifest.id)
    sweep()
    writer = frame(manifest.partitions, run_id).writeStream.outputMode("append").options(**options)
    tail = None if isinstance(sink, str) and sink != LATEST else Tail(plan.query)
    if tail is None:
        writer = writer.format(str(sink))
    else:
        writer = writer.foreachBatch(keeping(tail, None if isinstance(sink, str) else sink))
    writer = writer.option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        available = trigger == "available"
        interval = trigger if available else f"{duration_us(trigger) // 1000} milliseconds"
        writer = writer.trigger(availableNow=True) if available else writer.trigger(processingTime=interval)
    begin = partial(_begin, spark, writer, manifest.partitions)
    return Handle(begin, plan, checkpoint, partial(remove_run, run_id.name), tail)


def _begin(spark: SparkSession, writer: DataStreamWriter, partitions: int) -> StreamingQuery:
    with borrowed(spark, starting(partitions)):
        return writer.start()


def frame_partitions(spark: SparkSession, is_streaming: bool) -> int:
    """The partitions of a query that Spark runs by itself: bounded, one per core; streaming, as Spark will start it."""
    if not is_streaming:
        return require_workers(spark).cores
    require_state_store(spark)
    require_workers(spark)
    return int(spark.conf.get(PARTITIONS) or 1)


def finished_schema(plan: PhysicalPlan) -> Schema:
    """The columns of MERGE's output: the instant, the groups and the aggregates of the query; of estimates, bounds."""
    query, when = plan.query, plan.query.leading
    if is_plain(plan.answering):
        return Schema((*when, *(Field(name, column.type) for column, name in plan.shown)))
    groups = [Field(group_column(number), group.type) for number, group in enumerate(query.groups)]
    new, old = (_finished_values(plan, before) for before in (False, True))
    if not query.changes:
        return Schema((*when, *groups, *new))
    same = [Field(same_column(number), BOOLEAN) for number, own in enumerate(query.aggregates) if own.is_rounded]
    return Schema((*when, *groups, Field(WAS, BOOLEAN), Field(NOW, BOOLEAN), *new, *old, *same))


def _finished_values(plan: PhysicalPlan, before: bool) -> list[Field]:
    """The aggregates of an instant, and of estimates also their bounds and the share that was kept."""
    fields = [Field(aggregate_column(number, before), own.type) for number, own in enumerate(plan.query.aggregates)]
    last = plan.pipeline.last
    if isinstance(last, Merge) and last.estimates is not None:
        for output in last.estimates.bounded:
            fields += [Field(name, output.type) for name in bound_columns(output.number, before)]
        fields.append(Field(kept_column(before), DOUBLE))
    return fields


def selected(plan: PhysicalPlan, finished: DataFrame) -> DataFrame:
    """HAVING and SELECT, evaluated by Spark."""
    query = plan.query
    if query.changes:
        return _selected_changes(plan, finished)
    if query.having is not None:
        finished = finished.where(spark_text(plan.over_answer(query.having)))
    columns = [f"{text} AS {identifier_text(name)}" for name, text in zip(_names(plan), _texts(plan), strict=True)]
    return finished.selectExpr(*_when(plan), *columns)


def _names(plan: PhysicalPlan) -> list[str]:
    """The columns of the answer after the leading ones and ``change``."""
    return [field.name for field in list(plan.query.schema)[len(plan.query.leading) + plan.query.changes :]]


def _texts(plan: PhysicalPlan, before: bool = False) -> list[str]:
    """The SQL of each of these columns: a bound is the value itself where nothing was shed."""
    query, texts = plan.query, []
    for number, output in enumerate(query.outputs):
        value = spark_text(plan.over_answer(output.expression, before))
        texts.append(value)
        if number in query.estimated:
            kept, names = kept_column(before), bound_columns(number, before)
            texts += [value if plan.has_complete_groups else f"IF({kept} = 1, {value}, {name})" for name in names]
    return [*texts, *([kept_column(before)] if query.is_estimate else [])]


def _selected_changes(plan: PhysicalPlan, finished: DataFrame) -> DataFrame:
    """HAVING and SELECT on the old and on the new aggregates. A row is emitted if they differ."""
    query = plan.query
    rounded = [number for number, own in enumerate(query.outputs) if query.is_rounded(own.expression)]
    columns = _when(plan)
    columns += [f"{_moved(query, query.outputs[number].expression)} AS moved_{number}" for number in rounded]
    for side, exists in (("old", WAS), ("new", NOW)):
        before = side == "old"
        having = "TRUE" if query.having is None else spark_text(plan.over_answer(query.having, before))
        passes = f"{exists} AND COALESCE({having}, FALSE)"
        columns.append(f"{passes} AS {side}")
        columns += [  # a row that HAVING removes must not fail
            f"CASE WHEN {passes} THEN {text} END AS {side}_{place}" for place, text in enumerate(_texts(plan, before))
        ]
    differs = " OR ".join(
        _differs(place, own.expression.type.is_floating, f"moved_{number}" if number in rounded else None)
        for number, (place, own) in enumerate(zip(query.selected, query.outputs, strict=True))
    )
    change = (
        "CASE WHEN new AND NOT old THEN 'insert' WHEN old AND NOT new THEN 'delete' "
        f"WHEN old AND new AND ({differs}) THEN 'update' END AS change"
    )
    shown = [f"IF(new, new_{place}, old_{place}) AS {identifier_text(name)}" for place, name in enumerate(_names(plan))]
    return finished.selectExpr(*columns).selectExpr(*_when(plan), change, *shown).where("change IS NOT NULL")


def _when(plan: PhysicalPlan) -> list[str]:
    return [identifier_text(field.name) for field in plan.query.leading]


def _differs(place: int, is_floating: bool, moved: str | None) -> str:
    """SQL for whether a value has changed: it is another one.

    If it is computed from rounded aggregates, one of them must have ``moved``, and a floating value must differ by more
    than its own rounding.
    """
    old, new = f"old_{place}", f"new_{place}"
    if moved is None or not is_floating:
        return f"({'TRUE' if moved is None else moved} AND NOT ({old} <=> {new}))"
    finite = f"ABS({old}) < DOUBLE('Infinity') AND ABS({new}) < DOUBLE('Infinity')"
    close = f"{finite} AND ABS({old} - {new}) <= {CLOSE!r}D * GREATEST(ABS({old}), ABS({new}))"
    return f"({moved} AND NOT ({old} <=> {new} OR COALESCE({close}, FALSE)))"


def _moved(query: LogicalQuery, expression: Expression) -> str:
    """SQL for whether an aggregate that the expression reads has changed by more than rounding."""
    return " OR ".join(
        f"NOT {same_column(number)}"
        if query.aggregates[number].is_rounded
        else f"NOT ({aggregate_column(number)} <=> {aggregate_column(number, before=True)})"
        for number in sorted(query.aggregates_in(expression))
    )
