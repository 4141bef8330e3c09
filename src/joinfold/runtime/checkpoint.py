"""The manifest of a checkpoint: the query that its state belongs to, its inputs, and the number of partitions.

Spark would resume from a checkpoint of another query without an error, and give wrong answers. The same holds for
inputs with other columns or another time column, and for another number of buckets. So the first start writes a
manifest into the checkpoint directory. Every later start reads it before anything runs, refuses what differs, and uses
the recorded number of partitions. The recorded query is bound again and compared by its meaning, so a later version may
print queries differently.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError, UsageError
from joinfold.logical.query import Input, LogicalQuery
from joinfold.logical.shedding import Sampler
from joinfold.logical.sql import query_text
from joinfold.names import identifier_text
from joinfold.operators.codec import VERSION
from joinfold.physical.plan import PhysicalPlan
from joinfold.timetext import duration_text

FILE = "joinfold.json"


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What a query reads from an input: its time column, its delay, and the columns that it reads, with their types."""

    alias: str
    time: str | None
    delay_us: int
    columns: dict[str, str]

    @classmethod
    def of(cls, query: LogicalQuery, input_: Input) -> "InputFacts":
        """The facts of an input of a query. A relation has no time column."""
        source, read = input_.source, {*query.columns_read(input_.alias), input_.source.time}
        columns = {field.name: str(field.type) for field in source.schema if field.name in read}
        return cls(input_.alias, source.time, source.delay_us, columns)

    @property
    def columns_text(self) -> str:
        """The columns as the text of a schema."""
        return ", ".join(f"{identifier_text(name)} {type_}" for name, type_ in sorted(self.columns.items()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a query must have in common with its checkpoint.

    ``zone`` is None if the query does not depend on a time zone. ``root`` is None if the plan is not a chain,
    ``sampler`` unless SHED samples.
    """

    query: str
    inputs: tuple[InputFacts, ...]
    zone: str | None
    partitions: int
    root: str | None
    sampler: Sampler | None = None
    blob_version: int = VERSION

    @classmethod
    def of(cls, plan: PhysicalPlan, zone: str, partitions: int) -> "Manifest":
        """The manifest of a query that starts now."""
        query = plan.query
        inputs = tuple(InputFacts.of(query, input_) for input_ in query.inputs)
        zone_read = zone if query.reads_zone else None
        return cls(query_text(query.without_options), inputs, zone_read, partitions, plan.root, plan.sampler)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Manifest":
        """The manifest from its JSON object, the inverse of `asdict`."""
        return cls(**facts | {"inputs": tuple(InputFacts(**input_) for input_ in facts["inputs"])})


def agree(spark: SparkSession, directory: str, plan: PhysicalPlan, partitions: int, explicit: bool) -> Manifest:
    """The recorded manifest of the checkpoint, or a new one, which is written.

    Raises `UsageError` if the recorded manifest does not fit the plan, or has another number of partitions than an
    ``explicit`` one.
    """
    wanted = Manifest.of(plan, spark.conf.get("spark.sql.session.timeZone") or "UTC", partitions)
    recorded = _read(spark, directory)
    if recorded is None:
        _write(spark, directory, wanted)
        return wanted
    refuse_another(recorded, wanted, plan, directory)
    if explicit and recorded.partitions != partitions:
        hint = f"leave out partitions to continue with {recorded.partitions}, or use a new directory."
        what = f"the checkpoint '{directory}' has {recorded.partitions} partitions, not {partitions}"
        raise UsageError(what, hint)
    return recorded


def refuse_another(recorded: Manifest, wanted: Manifest, plan: PhysicalPlan, directory: str) -> None:
    """Raises `UsageError` if a recorded manifest belongs to another query, other inputs, another zone or root."""
    if not _means(recorded.query, plan.query):
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
    """The manifest of a checkpoint; None if there is none yet."""
    return _read(spark, directory)


def _refuse_another_input(directory: str, was: InputFacts, now: InputFacts) -> None:
    differences = [
        (was.time, now.time, f"with the time of '{now.alias}' taken from {{}}"),
        (was.columns_text, now.columns_text, f"with '{now.alias}' having the columns {{}}"),
        (duration_text(was.delay_us), duration_text(now.delay_us), f"with a delay of '{now.alias}' of {{}}"),
    ]
    for old, new, how in differences:
        if old != new:
            hint = "register it as before, or use a new directory."
            raise UsageError(f"the checkpoint '{directory}' was made {how.format(old)}, not {new}", hint)


def _shape(manifest: Manifest) -> str:
    return "one fold of all inputs" if manifest.root is None else f"a chain of folds with the root '{manifest.root}'"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _file(spark: SparkSession, directory: str, name: str = FILE) -> tuple[Any, Any]:
    """The path of the manifest, or of another file beside it, and its Hadoop file system."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(f"{directory.rstrip('/')}/{name}")
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())


def _read(spark: SparkSession, directory: str) -> Manifest | None:
    path, files = _file(spark, directory)
    if not files.exists(path):
        if files.exists(_file(spark, directory, "offsets")[0]):
            hint = f"use a new directory. This one belongs to another Spark query, or has lost its manifest {FILE}."
            raise UsageError(f"the checkpoint '{directory}' was not made by joinfold", hint)
        return None
    try:
        stream = files.open(path)
        try:
            text = spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")  # type: ignore[union-attr]
        finally:
            stream.close()
        facts = json.loads(text)
        if facts["blob_version"] != VERSION:
            hint = f"this joinfold reads version {VERSION}. Run the query with the joinfold that wrote the checkpoint."
            raise UsageError(f"the checkpoint '{directory}' holds blobs of version {facts['blob_version']}", hint)
        return Manifest.from_facts(facts)
    except (ValueError, KeyError, TypeError, Py4JJavaError) as error:
        hint = f"the file {FILE} is damaged. Use a new directory."
        raise UsageError(f"the manifest of the checkpoint '{directory}' cannot be read", hint) from error


def _write(spark: SparkSession, directory: str, manifest: Manifest) -> None:
    """Writes the manifest to another file first and then renames it, so that it is never there in part."""
    path, files = _file(spark, directory)
    unfinished, _ = _file(spark, directory, f".{FILE}.unfinished")
    stream = files.create(unfinished)
    try:
        stream.write(bytearray(json.dumps(asdict(manifest), indent=2).encode()))
    finally:
        stream.close()
    files.rename(unfinished, path)
