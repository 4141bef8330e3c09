"""The manifest of a checkpoint: whose state it is, what its inputs were, and how it was cut.

Spark would resume another query, the same one over inputs with other columns or another time, or cut into another
number of buckets, without a word and with wrong answers. So the first start writes a manifest into the checkpoint
directory, and every later one reads it before anything runs: what differs is refused, and the number of partitions is
the recorded one. The recorded query is bound again and compared by its meaning, so the way in which queries are written
may change between versions.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError, UsageError
from joinfold.logical.query import Input, LogicalQuery
from joinfold.logical.sql import query_text
from joinfold.names import identifier_text
from joinfold.operators.codec import VERSION
from joinfold.physical.plan import PhysicalPlan
from joinfold.timetext import duration_text

FILE = "joinfold.json"


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What a query takes from an input: its time, its delay, and the columns that it reads, with their types."""

    alias: str
    time: str | None
    delay_us: int
    columns: dict[str, str]

    @classmethod
    def of(cls, query: LogicalQuery, input_: Input) -> "InputFacts":
        """The facts of an input of a query; a relation has no time."""
        source, read = input_.source, {*query.columns_read(input_.alias), input_.source.time}
        columns = {field.name: str(field.type) for field in source.schema if field.name in read}
        return cls(input_.alias, source.time, source.delay_us, columns)

    @property
    def columns_text(self) -> str:
        """The columns as a schema is written."""
        return ", ".join(f"{identifier_text(name)} {type_}" for name, type_ in sorted(self.columns.items()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint must agree with; ``zone`` is None for a query that no time zone has an influence on.

    ``root`` is None for a query of one fold.
    """

    query: str
    inputs: tuple[InputFacts, ...]
    zone: str | None
    partitions: int
    root: str | None
    blob_version: int = VERSION

    @classmethod
    def of(cls, plan: PhysicalPlan, zone: str, partitions: int) -> "Manifest":
        """The manifest of a query that starts now."""
        query = plan.query
        inputs = tuple(InputFacts.of(query, input_) for input_ in query.inputs)
        zone_read = zone if query.reads_zone else None
        return cls(query_text(query.without_options), inputs, zone_read, partitions, plan.root)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Manifest":
        """The inverse of `asdict`, by way of JSON."""
        return cls(**facts | {"inputs": tuple(InputFacts(**input_) for input_ in facts["inputs"])})


def agree(spark: SparkSession, directory: str, plan: PhysicalPlan, partitions: int, explicit: bool) -> Manifest:
    """The manifest to run by: the recorded one if it is this query's, else a new one, which is written."""
    wanted = Manifest.of(plan, spark.conf.get("spark.sql.session.timeZone") or "UTC", partitions)
    recorded = _read(spark, directory)
    if recorded is None:
        _write(spark, directory, wanted)
        return wanted
    refuse_another(recorded, wanted, plan, directory)
    if explicit and recorded.partitions != partitions:
        hint = f"leave partitions out to go on with {recorded.partitions}, or start in a new directory."
        what = f"the checkpoint '{directory}' has {recorded.partitions} partitions, not {partitions}"
        raise UsageError(what, hint)
    return recorded


def refuse_another(recorded: Manifest, wanted: Manifest, plan: PhysicalPlan, directory: str) -> None:
    """Raises `UsageError` where a recorded manifest is not that of this query over these inputs."""
    if not _is_asked(recorded.query, plan.query):
        hint = "use another checkpoint directory, or run the query it belongs to:\n" + _indented(recorded.query)
        raise UsageError(f"the checkpoint '{directory}' belongs to another query", hint)
    for was, now in zip(recorded.inputs, wanted.inputs, strict=True):
        _refuse_another_input(directory, was, now)
    if recorded.zone != wanted.zone:
        hint = f'go on in that one: spark.conf.set("spark.sql.session.timeZone", "{recorded.zone}").'
        what = f"the checkpoint '{directory}' was made in the time zone {recorded.zone}, not {wanted.zone}"
        raise UsageError(what, hint)
    if recorded.root != wanted.root:
        hint = "plan it as it was, or start in a new directory."
        what = f"the checkpoint '{directory}' was made by {_shape(recorded)}, not by {_shape(wanted)}"
        raise UsageError(what, hint)


def _is_asked(text: str, query: LogicalQuery) -> bool:
    """Whether a recorded query, over the inputs of this one, means the same."""
    try:
        recorded = bind(parse(text), {input_.source.name: input_.source for input_ in query.inputs})
    except QueryError:
        return False
    return recorded.without_options == query.without_options


def recorded_roots(spark: SparkSession, directory: str) -> frozenset[str | None] | None:
    """The root that the state of a checkpoint has, None for one fold; nothing where it has no state yet."""
    recorded = _read(spark, directory)
    return None if recorded is None else frozenset({recorded.root})


def _refuse_another_input(directory: str, was: InputFacts, now: InputFacts) -> None:
    differences = [
        (was.time, now.time, f"with the time of '{now.alias}' taken from {{}}"),
        (was.columns_text, now.columns_text, f"with '{now.alias}' having the columns {{}}"),
        (duration_text(was.delay_us), duration_text(now.delay_us), f"with a delay of '{now.alias}' of {{}}"),
    ]
    for old, new, made in differences:
        if old != new:
            hint = "register it as it was, or start in a new directory."
            raise UsageError(f"the checkpoint '{directory}' was made {made.format(old)}, not {new}", hint)


def _shape(manifest: Manifest) -> str:
    return "one fold of all inputs" if manifest.root is None else f"a chain of folds with the root '{manifest.root}'"


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
        if facts["blob_version"] != VERSION:
            hint = f"this joinfold reads version {VERSION}; run the query with the joinfold that wrote it."
            raise UsageError(f"the checkpoint '{directory}' holds blobs of version {facts['blob_version']}", hint)
        return Manifest.from_facts(facts)
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
