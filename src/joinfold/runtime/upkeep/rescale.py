"""Rescales a checkpoint: copies it with its state in another number of buckets.

The offsets of the sources and the numbers of micro-batches stay, so the query goes on with the next micro-batch, and
its sink notices nothing. Only the state of the last micro-batch is copied:

    micro-batches      … 17   18   19   20*        19 was committed last; 20 was begun
    offsets            … •    •    •    •
    state, 2 buckets   … •    •    •
    copy: offsets           •    •    •            with the new number of partitions; 20 is begun again
    state, 5 buckets             •

The checkpoint itself is only read.
"""

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from joinfold.errors import EvaluationError, UsageError
from joinfold.operators.state.rescaling import Rescaling
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.manifest import FOLDER, OLD_FILE, write_manifest
from joinfold.runtime.shuffle_keys import spread_shuffle_keys
from joinfold.runtime.upkeep.opening import open_checkpoint
from joinfold.runtime.upkeep.recorded_plan import recorded_plan
from joinfold.runtime.upkeep.stored_state import LOGS, PARTITIONS, read_state, write_state

_WATERMARK = "nextBatchWatermarkMs"
_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


@dataclass(frozen=True, slots=True)
class Rescaled:
    """The copy goes on after micro-batch ``last``, with ``new`` buckets instead of ``old`` ones."""

    last: int
    old: int
    new: int


def rescale(spark: SparkSession, checkpoint: str, into: str, partitions: int) -> Rescaled:
    """Copies a checkpoint with its state in so many buckets. The query must be stopped.

    Raises `UsageError` if that cannot be done, or would change nothing.
    """
    if partitions < 1:
        raise UsageError(f"a query cannot have {partitions} partitions", "give a whole number of at least 1.")
    manifest, folder, copy = open_checkpoint(spark, checkpoint, into)
    if partitions == manifest.partitions:
        what = f"the checkpoint '{checkpoint}' has {partitions} partitions already"
        raise UsageError(what, "go on with it, or give another number.")
    plan = recorded_plan(manifest, checkpoint)
    if not plan.pipeline.is_distributed:
        what = f"the query of the checkpoint '{checkpoint}' has one bucket, whatever the number of partitions"
        raise UsageError(what, "it has no condition a = b by which its rows could be divided.")
    batch = max(folder.numbers("commits"), default=None)
    if batch is None:
        hint = f"start the query with a new checkpoint and partitions={partitions}."
        raise UsageError(f"no micro-batch of the checkpoint '{checkpoint}' has ended yet", hint)
    old_keys, new_keys = spread_shuffle_keys(manifest.partitions), spread_shuffle_keys(partitions)
    old = read_state(spark, folder, batch)
    if [sorted(own) for own in old] != [sorted(old_keys)] * len(plan.stages):
        what = f"the checkpoint '{checkpoint}' has lost the state of a bucket"
        raise UsageError(what, "restore it from a copy, or use a new checkpoint directory.")
    rescaling = Rescaling(plan.pipeline, plan.choices, batch, manifest.id, uuid.uuid4().hex)
    maps = rescaling.rescaled([[own[key] for key in old_keys] for own in old], partitions)
    new = [dict(zip(new_keys, own, strict=True)) for own in maps]
    copy.make(LOGS[0])  # a query that starts too early finds it without a manifest, and is refused
    committed = write_state(spark, copy, new, partitions, batch, _settings(folder, batch))
    _copy_logs(folder, copy, batch, partitions, committed)
    if read_state(spark, copy, batch) != new:
        raise EvaluationError("Spark has not stored what was written", f"delete '{into}', and try again.")
    # The manifest comes last: a copy without it is refused.
    write_manifest(copy, replace(manifest, partitions=partitions, id=rescaling.new_checkpoint))
    return Rescaled(batch, manifest.partitions, partitions)


def _settings(folder: Folder, batch: int) -> dict[str, str]:
    """The settings of Spark that the state depends on, as the logs record them."""
    offsets, commit = (folder.read(f"{log}/{batch}").splitlines() for log in LOGS)
    settings: dict[str, str] = json.loads(offsets[1])["conf"]
    return settings | {_FORMAT: commit[0].removeprefix("v")}


def _copy_logs(folder: Folder, copy: Folder, batch: int, partitions: int, committed: dict[str, Any]) -> None:
    """Copies what Spark needs to go on: the last offsets and the last commit, and what the sources keep.

    A micro-batch that was begun is begun again with the same rows. ``committed`` is what Spark records of the state.
    """
    folder.copy_to(copy, without={FOLDER, OLD_FILE, "state", *LOGS})
    for number in (own for own in folder.numbers("offsets") if own >= batch - 1):
        version, line, *offsets = folder.read(f"offsets/{number}").splitlines()
        facts = json.loads(line)
        facts["conf"][PARTITIONS] = str(partitions)
        copy.write(f"offsets/{number}", "\n".join([version, json.dumps(facts), *offsets]))
    version, line = folder.read(f"commits/{batch}").splitlines()
    copy.make("commits")
    copy.write(f"commits/{batch}", f"{version}\n{json.dumps(committed | {_WATERMARK: json.loads(line)[_WATERMARK]})}")
