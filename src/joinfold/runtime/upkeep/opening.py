"""Opens a checkpoint whose query is stopped, and a new directory for its copy."""

from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.runtime.checkpoints.agreement import recorded_manifest
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.manifest import Manifest
from joinfold.runtime.sessions.settings import is_connect


def open_checkpoint(spark: SparkSession, checkpoint: str, into: str) -> tuple[Manifest, Folder, Folder]:
    """The manifest of a checkpoint, its directory, and the directory for its copy.

    Raises `UsageError` if there is no checkpoint, if the directory for the copy is not empty, or over Spark Connect.
    """
    if is_connect(spark):
        hint = "use a Spark session that is not remote, on a machine that reaches the checkpoint."
        raise UsageError("a checkpoint cannot be copied over Spark Connect, which does not reach its files", hint)
    manifest = recorded_manifest(spark, checkpoint)
    if manifest is None:
        raise UsageError(
            f"there is no checkpoint in '{checkpoint}'", "give the directory that the query was started with."
        )
    copy = Folder(spark, into)
    if copy.names(""):
        raise UsageError(f"the directory '{into}' is not empty", "give a new directory for the copy.")
    return manifest, Folder(spark, checkpoint), copy
