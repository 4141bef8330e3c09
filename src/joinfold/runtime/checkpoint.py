"""The manifest of a checkpoint: whose state it is, and how it was cut.

Spark would resume another query, or the same one cut into another number of buckets, without a word and with wrong
answers. So the first start writes a manifest into the checkpoint directory, and every later one reads it before
anything runs: another query is refused, and the number of partitions is the recorded one.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sql import query_text
from joinfold.operators.codec import VERSION

FILE = "joinfold.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint must agree with."""

    query: str
    delays_us: tuple[int, ...]
    partitions: int
    blob_version: int = VERSION

    @classmethod
    def of(cls, query: LogicalQuery, partitions: int) -> "Manifest":
        """The manifest of a query that starts now."""
        delays = tuple(input_.source.delay_us for input_ in query.streams)
        return cls(query_text(query.without_options), delays, partitions)


def agree(spark: SparkSession, directory: str, query: LogicalQuery, partitions: int, explicit: bool) -> Manifest:
    """The manifest to run by: the recorded one if it is this query's, else a new one, which is written."""
    wanted = Manifest.of(query, partitions)
    recorded = _read(spark, directory)
    if recorded is None:
        _write(spark, directory, wanted)
        return wanted
    if recorded.blob_version > VERSION:
        hint = f"this joinfold reads version {VERSION}; run the query with the joinfold that wrote it."
        raise UsageError(f"the checkpoint '{directory}' holds blobs of version {recorded.blob_version}", hint)
    if recorded.query != wanted.query:
        hint = "use another checkpoint directory, or run the query it belongs to:\n" + _indented(recorded.query)
        raise UsageError(f"the checkpoint '{directory}' belongs to another query", hint)
    if recorded.delays_us != wanted.delays_us:
        hint = "what was late must stay late: register the streams with the delays they had, or start anew."
        was, now = recorded.delays_us, wanted.delays_us
        raise UsageError(f"the checkpoint '{directory}' was made with delays {was} µs, not {now} µs", hint)
    if explicit and recorded.partitions != partitions:
        hint = f"leave partitions out to go on with {recorded.partitions}, or start in a new directory."
        what = f"the checkpoint '{directory}' has {recorded.partitions} partitions, not {partitions}"
        raise UsageError(what, hint)
    return recorded


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _file(spark: SparkSession, directory: str, name: str = FILE) -> tuple[Any, Any]:
    """The path of the manifest, or of another file beside it, and its file system, whichever Hadoop knows."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(f"{directory.rstrip('/')}/{name}")
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())


def _read(spark: SparkSession, directory: str) -> Manifest | None:
    path, files = _file(spark, directory)
    if not files.exists(path):
        if files.exists(_file(spark, directory, "offsets")[0]):
            hint = "use another directory; this one is a checkpoint of Spark's, or has lost its manifest."
            raise UsageError(f"the checkpoint '{directory}' is not joinfold's", hint)
        return None
    try:
        stream = files.open(path)
        try:
            text = spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")  # type: ignore[union-attr]
        finally:
            stream.close()
        facts = json.loads(text)
        return Manifest(facts["query"], tuple(facts["delays_us"]), facts["partitions"], facts["blob_version"])
    except (ValueError, KeyError, TypeError, Py4JJavaError) as error:
        hint = "it is damaged; start in a new directory."
        raise UsageError(f"the manifest of the checkpoint '{directory}' cannot be read", hint) from error


def _write(spark: SparkSession, directory: str, manifest: Manifest) -> None:
    """Writes the whole manifest or none: it gets its name when it is complete."""
    path, files = _file(spark, directory)
    unfinished, _ = _file(spark, directory, f".{FILE}.unfinished")
    stream = files.create(unfinished)
    try:
        stream.write(bytearray(json.dumps(asdict(manifest), indent=2).encode()))
    finally:
        stream.close()
    files.rename(unfinished, path)
