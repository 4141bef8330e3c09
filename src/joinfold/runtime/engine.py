"""Runs a plan on Spark: PACK, shuffle by bucket, FOLD, shuffle by group, MERGE; HAVING and SELECT in the JVM."""

import uuid
from collections.abc import Callable
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from joinfold.names import identifier_text
from joinfold.physical.column_names import ANSWER, NOW, WAS, aggregate_column, bound_columns, group_column, kept_column
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.stage import Concatenate, Merge, is_plain
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.blobs import BLOBS
from joinfold.runtime.budgets import with_budgets
from joinfold.runtime.checkpoint import agree
from joinfold.runtime.expressions import spark_text
from joinfold.runtime.frames import packed
from joinfold.runtime.handle import Handle
from joinfold.runtime.local import require_settings
from joinfold.runtime.schema import schema_text
from joinfold.runtime.shuffle_keys import spread_shuffle_keys
from joinfold.runtime.stages import StageRun, finish_batches, run_bounded
from joinfold.runtime.streaming import StageProcessor
from joinfold.types import BOOLEAN, DOUBLE, DataType, Field, Schema

Sink = str | Callable[[pa.Table, int], None]


def run(plan: PlannedQuery, sources: dict[str, DataFrame], partitions: int, trigger: str | None = None) -> DataFrame:
    """The answers as a DataFrame, which is streaming if a stream of the query is. ``trigger`` is as for `start`."""
    spark = next(iter(sources.values())).sparkSession
    is_streaming = any(sources[frame.input.source.name].isStreaming for frame in plan.frames)
    plan = with_budgets(plan, spark, trigger, is_streaming)
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    pipeline, last = plan.pipeline.in_zone(zone), plan.pipeline.last
    crosses = not isinstance(last, Concatenate) and last.crosses_buckets
    buckets = spread_shuffle_keys(partitions if pipeline.is_distributed else 1)
    merges = spread_shuffle_keys(partitions if plan.query.groups else 1) if crosses else buckets[:1]
    require_settings(spark, is_streaming)
    blobs, run_name = packed(plan, sources, buckets), uuid.uuid4().hex
    for number, choice in enumerate(plan.choices):
        following = plan.following if number == len(pipeline.stages) - 1 else None
        stage = StageRun(pipeline, number, choice, buckets, merges, following)
        grouped = blobs.groupBy("bucket")
        if is_streaming:
            blobs = StageProcessor.over(grouped, stage, run_name)
        else:
            blobs = grouped.applyInArrow(_bounded(stage), BLOBS)
    if crosses:
        blobs = blobs.repartition(len(merges), "bucket")
    schema = finished_schema(plan)
    finished = blobs.mapInArrow(partial(finish_batches, last, schema, zone), schema_text(schema))
    return selected(plan, finished.alias(ANSWER))


def _bounded(stage: StageRun) -> Callable[[pa.Table], pa.Table]:
    return lambda blobs: run_bounded(stage, blobs)


def start(
    plan: PlannedQuery,
    frame: Callable[[int], DataFrame],
    spark: SparkSession,
    sink: Sink,
    checkpoint: str,
    trigger: str | None,
    partitions: int | None,
    name: str | None,
    options: dict[str, str],
) -> Handle:
    """Starts a streaming query that writes to a sink, after checking the manifest of its checkpoint."""
    require_settings(spark, is_streaming=True)
    wanted = default_partitions(spark) if partitions is None else partitions
    manifest = agree(spark, checkpoint, plan, wanted, explicit=partitions is not None)
    writer = frame(manifest.partitions).writeStream.outputMode("append").options(**options)
    writer = writer.format(sink) if isinstance(sink, str) else writer.foreachBatch(_handing_over(sink))
    writer = writer.option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        available = trigger == "available"
        writer = writer.trigger(availableNow=True) if available else writer.trigger(processingTime=trigger)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", manifest.partitions)
    try:
        return Handle(writer.start(), plan)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or manifest.partitions)


def _handing_over(sink: Callable[[pa.Table, int], None]) -> Callable[[DataFrame, int], None]:
    return lambda answers, batch: sink(answers.toArrow(), batch)


def default_partitions(spark: SparkSession) -> int:
    """The number of shuffle partitions of the Spark session."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def finished_schema(plan: PhysicalPlan) -> Schema:
    """The columns of MERGE's output: the instant, the groups and the aggregates of the query; of estimates, bounds."""
    query, when = plan.query, plan.query.leading
    if is_plain(plan.answering):
        return Schema((*when, *(Field(name, column.type) for column, name in plan.shown)))
    groups = [Field(group_column(number), group.type) for number, group in enumerate(query.groups)]
    new, old = (_finished_values(plan, before) for before in (False, True))
    if not query.changes:
        return Schema((*when, *groups, *new))
    return Schema((*when, *groups, Field(WAS, BOOLEAN), Field(NOW, BOOLEAN), *new, *old))


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
    columns = _when(plan)
    for side, exists in (("old", WAS), ("new", NOW)):
        before = side == "old"
        having = "TRUE" if query.having is None else spark_text(plan.over_answer(query.having, before))
        passes = f"{exists} AND COALESCE({having}, FALSE)"
        columns.append(f"{passes} AS {side}")
        columns += [  # a row that HAVING removes must not fail
            f"CASE WHEN {passes} THEN {text} END AS {side}_{place}" for place, text in enumerate(_texts(plan, before))
        ]
    pairs = zip(query.selected, query.outputs, strict=True)
    differs = " OR ".join(_differs(f"old_{place}", f"new_{place}", own.expression.type) for place, own in pairs)
    change = (
        "CASE WHEN new AND NOT old THEN 'insert' WHEN old AND NOT new THEN 'delete' "
        f"WHEN old AND new AND ({differs}) THEN 'update' END AS change"
    )
    shown = [f"IF(new, new_{place}, old_{place}) AS {identifier_text(name)}" for place, name in enumerate(_names(plan))]
    return finished.selectExpr(*columns).selectExpr(*_when(plan), change, *shown).where("change IS NOT NULL")


def _when(plan: PhysicalPlan) -> list[str]:
    return [identifier_text(field.name) for field in plan.query.leading]


def _differs(old: str, new: str, type_: DataType) -> str:
    """SQL for whether a value has changed. A floating value has if it differs by more than 1e-9 of the larger one."""
    if not type_.is_floating:
        return f"NOT ({old} <=> {new})"
    finite = f"ABS({old}) < DOUBLE('Infinity') AND ABS({new}) < DOUBLE('Infinity')"
    close = f"{finite} AND ABS({old} - {new}) <= 1e-9 * GREATEST(ABS({old}), ABS({new}))"
    return f"NOT ({old} <=> {new} OR COALESCE({close}, FALSE))"
