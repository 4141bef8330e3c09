"""Repairs a checkpoint whose time has run away: copies it up to the last micro-batch before that.

A row from the year 9999 moves the watermark there, and all later rows are late. Spark keeps the state of the last 100
micro-batches. So a copy that ends with the last sane one goes on from there, reads the rows since then again, and
leaves out those that are ahead:

    micro-batches      … 17   18   19   20   21        in 20 a row lay ahead
    checkpoint         … •    •    •    •    •         largest times of all streams: in 20 and 21 far in the future
    copy               … •    •    •                   its manifest says ahead = 1 day

The checkpoint itself is only read.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.operators.codec import decode
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.manifest import FOLDER, OLD_FILE, STATE_NAME, Guards, Manifest, write_manifest
from joinfold.runtime.upkeep.opening import open_checkpoint
from joinfold.timetext import duration_text, time_shown

_VERSION = re.compile(r"(\d+)(_[\w-]+)?\.(zip|changelog|delta|snapshot)")


@dataclass(frozen=True, slots=True)
class Repaired:
    """The copy ends with micro-batch ``last``; ``dropped`` later ones will be made again.

    ``ran_away`` has the streams whose time ran away, with their largest times.
    """

    last: int
    dropped: int
    ran_away: dict[str, str]


def repair(spark: SparkSession, checkpoint: str, into: str, ahead_us: int) -> Repaired:
    """Copies a checkpoint up to its last micro-batch in which no stream lay more than ``ahead_us`` ahead.

    The query must be stopped. Raises `UsageError` if there is nothing to repair, or no such micro-batch any more.
    """
    manifest, folder, copy = open_checkpoint(spark, checkpoint, into)
    batches = sorted(folder.numbers("commits"), reverse=True)
    ran_away: dict[str, str] = {}
    for batch in batches:
        last_us = _clock_us(folder, batch) + ahead_us
        times = {name: us for name, us in _largest(spark, checkpoint, batch).items() if name in _dated(manifest)}
        ahead = {name: time_shown(us) for name, us in times.items() if us > last_us}
        if not ahead:
            break
        ran_away = ahead | ran_away
    else:
        hint = "start the query with a new checkpoint."
        what = f"in every micro-batch that the checkpoint '{checkpoint}' still has, a stream lies far in the future"
        raise UsageError(what, hint)
    if not ran_away:
        what = f"no stream of the checkpoint '{checkpoint}' lies more than {duration_text(ahead_us)} in the future"
        raise UsageError(what, "there is nothing to repair.")
    folder.copy_to(copy, without={FOLDER, OLD_FILE})
    for name in ("offsets", "commits"):
        copy.delete(f"{name}/{number}" for number in copy.names(name) if _is_later(number, batch))
    copy.delete(path for path in copy.files("state") if _is_later_state(path, batch))
    for path in copy.files("state"):
        if "/_metadata/" in path:  # Spark keeps whole paths there
            copy.write(path, copy.read(path).replace(folder.location, copy.location))
    inputs = [
        replace(own, guards=Guards(ahead_us, None if own.guards is None else own.guards.idle_us))
        if own.alias in _dated(manifest)
        else own
        for own in manifest.inputs
    ]
    # The manifest comes last: a copy without it is refused.
    write_manifest(copy, replace(manifest, inputs=tuple(inputs)))
    return Repaired(batch, sum(other > batch for other in batches), ran_away)


def _dated(manifest: Manifest) -> set[str]:
    """The streams whose time column is a TIMESTAMP. An integer clock cannot be compared with micro-batches."""
    return {
        own.alias for own in manifest.inputs if own.time is not None and own.columns[own.time].startswith("TIMESTAMP")
    }


def _is_later(name: str, batch: int) -> bool:
    return name.isdigit() and int(name) > batch


def _is_later_state(path: str, batch: int) -> bool:
    """Whether a file has a later version of the state. Micro-batch n makes version n + 1."""
    found = _VERSION.fullmatch(path.rpartition("/")[2])
    return found is not None and int(found.group(1)) > batch + 1


def _clock_us(folder: Folder, batch: int) -> int:
    """The time of a micro-batch, which Spark keeps beside its offsets."""
    return 1000 * int(json.loads(folder.read(f"offsets/{batch}").splitlines()[1])["batchTimestampMs"])


def _largest(spark: SparkSession, checkpoint: str, batch: int) -> dict[str, int]:
    """The largest event time of each stream after a micro-batch. Every bucket knows it, so one is read."""
    options = {"path": checkpoint, "batchId": str(batch), "stateVarName": STATE_NAME}
    rows = spark.read.format("statestore").options(**options).load()
    blobs = rows.where("user_map_key.number = -1").select("user_map_value.blob").head(1)
    facts: dict[str, Any] = decode(bytes(blobs[0][0]))[1] if blobs else {"position": {"streams": {}}}
    streams = facts["position"]["streams"]
    return {name: own["largest"] for name, own in streams.items() if own["largest"] is not None}
