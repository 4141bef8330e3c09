"""A checkpoint and the query that is started on it have to agree.

Spark would resume from a checkpoint of another query without an error, and give wrong answers. The same holds for
inputs with other columns or another time column, and for another number of buckets. So the first start writes a
manifest into the checkpoint directory. Every later start reads it before anything runs, refuses what differs, and uses
the recorded number of partitions. The recorded query is bound again and compared by its meaning, so a later version may
print queries differently.
"""

import uuid
from dataclasses import astuple, replace

from pyspark.sql import SparkSession

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError, UsageError
from joinfold.logical.query import LogicalQuery
from joinfold.physical.plan import PhysicalPlan
from joinfold.runtime.checkpoints.directory import directory_of
from joinfold.runtime.checkpoints.logs import refuse_lost_files
from joinfold.runtime.checkpoints.manifest import InputFacts, Manifest, read_manifest, write_manifest
from joinfold.timetext import duration_text

COMPACT_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


def agree(spark: SparkSession, directory: str, plan: PhysicalPlan, partitions: int, explicit: bool) -> Manifest:
    """The recorded manifest of the checkpoint, or a new one, which is written.

    Raises `UsageError` if the recorded manifest does not fit the plan, or has another number of partitions than an
    ``explicit`` one.
    """
    wanted = Manifest.of(plan, spark.conf.get("spark.sql.session.timeZone") or "UTC", partitions)
    recorded = recorded_manifest(spark, directory)
    if recorded is None:
        wanted = replace(wanted, id=uuid.uuid4().hex)
        write_manifest(directory_of(spark, directory), wanted)
        return recorded_manifest(spark, directory) or wanted  # another start may have been faster
    refuse_another(recorded, wanted, plan, directory)
    if explicit and recorded.partitions != partitions:
        hint = (
            f"leave out partitions to continue with {recorded.partitions}, make a copy with 'joinfold rescale "
            f"--partitions {partitions}', or use a new directory."
        )
        what = f"the checkpoint '{directory}' has {recorded.partitions} partitions, not {partitions}"
        raise UsageError(what, hint)
    return recorded


def refuse_another(recorded: Manifest, wanted: Manifest, plan: PhysicalPlan, directory: str) -> None:
    """Raises `UsageError` if a recorded manifest belongs to another query, other inputs, another zone or root."""
    if not _means(recorded.query, plan.query) or len(recorded.inputs) != len(wanted.inputs):
        hint = "use another checkpoint directory, or run the query it belongs to:\n" + _indented(recorded.query)
        raise UsageError(f"the checkpoint '{directory}' belongs to another query", hint)
    for was, now in zip(recorded.inputs, wanted.inputs, strict=True):
        _refuse_another_input(directory, was, now)
    if recorded.zone != wanted.zone:
        hint = f'use that time zone: spark.conf.set("spark.sql.session.timeZone", "{recorded.zone}").'
        what = f"the checkpoint '{directory}' was made in the time zone {recorded.zone}, not {wanted.zone}"
        raise UsageError(what, hint)
    if recorded.root != wanted.root:
        hint = "force the same plan as before, or use a new directory."
        what = f"the checkpoint '{directory}' was made by {_shape(recorded)}, not by {_shape(wanted)}"
        raise UsageError(what, hint)


def _means(text: str, query: LogicalQuery) -> bool:
    """Whether a recorded query, bound over the inputs of this one, means the same."""
    try:
        recorded = bind(parse(text), {input_.source.name: input_.source for input_ in query.inputs})
    except QueryError:
        return False
    return recorded.without_options == query.without_options


def recorded_manifest(spark: SparkSession, directory: str) -> Manifest | None:
    """The manifest of a checkpoint; None if there is none yet. Also refuses a checkpoint that has lost other files."""
    found = directory_of(spark, directory)
    manifest = read_manifest(found)
    if manifest is not None:
        refuse_lost_files(found, int(spark.conf.get(COMPACT_INTERVAL) or 1))
    return manifest


def _refuse_another_input(directory: str, was: InputFacts, now: InputFacts) -> None:
    differences = [
        (was.time, now.time, f"with the time of '{now.alias}' taken from {{}}"),
        (was.columns_text, now.columns_text, f"with '{now.alias}' having the columns {{}}"),
        (duration_text(was.delay_us), duration_text(now.delay_us), f"with a delay of '{now.alias}' of {{}}"),
    ]
    if was.guards is not None and now.guards is not None:
        pairs = zip(("ahead", "idle"), astuple(was.guards), astuple(now.guards), strict=True)
        differences += [
            (_guard_text(old), _guard_text(new), f"with {name} of '{now.alias}' {{}}") for name, old, new in pairs
        ]
    for old, new, how in differences:
        if old != new:
            hint = "register it as before, or use a new directory."
            raise UsageError(f"the checkpoint '{directory}' was made {how.format(old)}, not {new}", hint)


def _guard_text(us: int | None) -> str:
    return "off" if us is None else duration_text(us)


def _shape(manifest: Manifest) -> str:
    return "one fold of all inputs" if manifest.root is None else f"a chain of folds with the root '{manifest.root}'"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
