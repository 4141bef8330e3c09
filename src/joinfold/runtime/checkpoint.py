"""The manifest of a checkpoint: the query that its state belongs to, its inputs, and the number of partitions.

Spark would resume from a checkpoint of another query without an error, and give wrong answers. The same holds for
inputs with other columns or another time column, and for another number of buckets. So the first start writes a
manifest into the checkpoint directory. Every later start reads it before anything runs, refuses what differs, and uses
the recorded number of partitions. The recorded query is bound again and compared by its meaning, so a later version may
print queries differently.
"""

import json
import re
import uuid
from dataclasses import asdict, astuple, dataclass, replace
from types import NoneType
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError, UsageError
from joinfold.logical.query import Input, LogicalQuery
from joinfold.logical.shedding import Sampler
from joinfold.logical.sql import query_text
from joinfold.names import identifier_text
from joinfold.operators.codec import VERSION
from joinfold.physical.plan import PhysicalPlan
from joinfold.runtime.failures import clear_error
from joinfold.timetext import duration_text

FILE = "joinfold.json"
METADATA = "metadata"  # Spark's own: the id of the query
STATE_NAME = "moment"  # in all versions, so that the state of an older one is found, and refused by its version
_RESTORE = "restore the file from a copy of the checkpoint, or use a new checkpoint directory."
_COMPACT = ".compact"  # every few files of a source's log, one has them all
_LONG_LOG_BYTES = 2**22
_COMPACT_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"
_LATER = {"sampler", "homes", "id", "guards"}  # fields that manifests of earlier versions lack


@dataclass(frozen=True, slots=True)
class Guards:
    """What keeps the time of a stream from running away or standing still; None where it is switched off."""

    ahead_us: int | None
    idle_us: int | None


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What a query reads from an input: its time column, its delay, and the columns that it reads, with their types.

    ``guards`` is None in the manifest of a version that had none. Such a checkpoint goes on with any.
    """

    alias: str
    time: str | None
    delay_us: int
    columns: dict[str, str]
    guards: Guards | None = None

    @classmethod
    def of(cls, query: LogicalQuery, input_: Input) -> "InputFacts":
        """The facts of an input of a query. A relation has no time column."""
        source, read = input_.source, {*query.columns_read(input_.alias), input_.source.time}
        columns = {field.name: str(field.type) for field in source.schema if field.name in read}
        return cls(input_.alias, source.time, source.delay_us, columns, Guards(source.ahead_us, source.idle_us))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "InputFacts":
        """The facts from their JSON object, the inverse of `asdict`."""
        guards = facts.get("guards")
        return cls(**facts | {"guards": None if guards is None else Guards(**_checked(guards, _GUARD_FIELDS))})

    @property
    def columns_text(self) -> str:
        """The columns as the text of a schema."""
        return ", ".join(f"{identifier_text(name)} {type_}" for name, type_ in sorted(self.columns.items()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a query must have in common with its checkpoint.

    ``zone`` is None if the query does not depend on a time zone. ``root`` is None if the plan is not a chain,
    ``sampler`` unless SHED samples. ``homes`` has the stream that each relation is joined to, ``id`` tells this
    checkpoint from all others; both are None in the manifests of versions that did not record them.
    """

    query: str
    inputs: tuple[InputFacts, ...]
    zone: str | None
    partitions: int
    root: str | None
    sampler: Sampler | None = None
    homes: dict[str, str] | None = None
    blob_version: int = VERSION
    id: str | None = None

    @classmethod
    def of(cls, plan: PhysicalPlan, zone: str, partitions: int) -> "Manifest":
        """The manifest of a query that starts now."""
        query = plan.query
        inputs = tuple(InputFacts.of(query, input_) for input_ in query.inputs)
        zone_read = zone if query.reads_zone else None
        text = query_text(query.without_options)
        return cls(text, inputs, zone_read, partitions, plan.root, plan.sampler, plan.homes)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Manifest":
        """The manifest from its JSON object, the inverse of `asdict`. Raises `ValueError` if the object is not one."""
        inputs = _checked(facts, _FIELDS)["inputs"]
        found = tuple(InputFacts.from_facts(_checked(input_, _INPUT_FIELDS)) for input_ in inputs)
        return cls(**facts | {"inputs": found})


_OPTIONAL_TEXT = (str, NoneType)
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "query": str,
    "inputs": list,
    "zone": _OPTIONAL_TEXT,
    "partitions": int,
    "root": _OPTIONAL_TEXT,
    "sampler": _OPTIONAL_TEXT,
    "homes": (dict, NoneType),
    "blob_version": int,
    "id": _OPTIONAL_TEXT,
}
_INPUT_FIELDS: dict[str, type | tuple[type, ...]] = {
    "alias": str,
    "time": _OPTIONAL_TEXT,
    "delay_us": int,
    "columns": dict,
    "guards": (dict, NoneType),
}
_GUARD_FIELDS: dict[str, type | tuple[type, ...]] = {"ahead_us": (int, NoneType), "idle_us": (int, NoneType)}


def _checked(facts: Any, fields: dict[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """An object of the manifest, after a check of its fields."""
    if not isinstance(facts, dict):
        raise ValueError(f"{json.dumps(facts)} stands where an object belongs")
    unknown, missing = sorted(facts.keys() - fields.keys()), sorted(fields.keys() - facts.keys() - _LATER)
    if unknown or missing:
        raise ValueError(f"'{missing[0]}' is missing" if missing else f"'{unknown[0]}' is unknown")
    for name, value in facts.items():
        if not isinstance(value, fields[name]) or isinstance(value, bool):
            raise ValueError(f"'{name}' cannot be {json.dumps(value)}")
    return facts


def agree(spark: SparkSession, directory: str, plan: PhysicalPlan, partitions: int, explicit: bool) -> Manifest:
    """The recorded manifest of the checkpoint, or a new one, which is written.

    Raises `UsageError` if the recorded manifest does not fit the plan, or has another number of partitions than an
    ``explicit`` one.
    """
    wanted = Manifest.of(plan, spark.conf.get("spark.sql.session.timeZone") or "UTC", partitions)
    recorded = _read(spark, directory)
    if recorded is None:
        wanted = replace(wanted, id=uuid.uuid4().hex)
        write_manifest(spark, directory, wanted)
        return _read(spark, directory) or wanted  # another start may have been faster
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
    """The manifest of a checkpoint; None if there is none yet."""
    return _read(spark, directory)


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


def _file(spark: SparkSession, directory: str, name: str = FILE) -> tuple[Any, Any]:
    """The path of the manifest, or of another file beside it, and its Hadoop file system."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(f"{directory.rstrip('/')}/{name}")
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())


def _text(spark: SparkSession, directory: str, name: str) -> str | None:
    """The text of a file; None if there is no such file."""
    path, files = _file(spark, directory, name)
    if not files.exists(path):
        return None
    stream = files.open(path)
    try:
        text: str = spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")  # type: ignore[union-attr]
    finally:
        stream.close()
    return text


def _read(spark: SparkSession, directory: str) -> Manifest | None:
    """The manifest; None if there is none yet. Also refuses a checkpoint that has lost other files."""
    offsets, files = _file(spark, directory, "offsets")
    text = _small_file(spark, directory, FILE)
    if text is None:
        if files.exists(offsets):
            hint = f"use a new directory. This one belongs to another Spark query, or has lost its manifest {FILE}."
            raise UsageError(f"the checkpoint '{directory}' was not made by joinfold", hint)
        return None
    facts = _object(text, directory, FILE)
    if facts.get("blob_version", VERSION) != VERSION:
        hint = f"this joinfold reads version {VERSION}. Run the query with the joinfold that wrote the checkpoint."
        raise UsageError(f"the checkpoint '{directory}' holds blobs of version {facts['blob_version']}", hint)
    _refuse_lost_files(spark, directory)
    try:
        return Manifest.from_facts(facts)
    except ValueError as error:
        raise _unreadable(directory, FILE, str(error)) from error


def _refuse_lost_files(spark: SparkSession, directory: str) -> None:
    """Refuses a checkpoint that lacks files without which Spark fails later, and not by their names."""
    offsets, commits = (_numbers(spark, directory, name) for name in ("offsets", "commits"))
    lost = [f"offsets/{number}" for number in sorted(commits)[-1:] if number not in offsets]
    if offsets | commits:
        query = _small_file(spark, directory, METADATA)
        if query is not None and not _is_uuid(_object(query, directory, METADATA).get("id")):
            raise _unreadable(directory, METADATA, "it has no id of a query")
        lost += [METADATA] if query is None else []
    if offsets and not lost:
        lost += _lost_logs(spark, directory, max(offsets))
    for name in [f"commits/{number}" for number in sorted(commits)[-1:]]:
        _log_lines(spark, directory, name)
    for name in lost:
        raise UsageError(f"the checkpoint '{directory}' has lost its file '{name}'", _RESTORE)


def _is_uuid(text: Any) -> bool:
    return (
        isinstance(text, str) and re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None
    )


def _lost_logs(spark: SparkSession, directory: str, batch: int) -> list[str]:
    """The files that the logs of file sources lack, from the last compacted one to that of a micro-batch.

    Also refuses damaged ones. The n-th offset of a micro-batch belongs to the n-th source, unless one source is read
    twice: it then has two offsets and one log. Which offset is whose is unknown in that case, so each log has to reach
    as far as its own last file.
    """
    offsets = _log_lines(spark, directory, f"offsets/{batch}", parsed=1)[1:]
    found = [re.fullmatch(r'\{"logOffset":(\d+)\}', line) for line in offsets]
    logs = {number: int(own[1]) for number, own in enumerate(found) if own}
    sources = _numbers(spark, directory, "sources")
    if len(sources) < len(offsets):
        logs = {number: _last(spark, directory, number) for number in sources} if all(found) else {}
    lost = (_lost_log(spark, directory, f"sources/{source}", last) for source, last in sorted(logs.items()))
    return [name for name in lost if name is not None]


def _last(spark: SparkSession, directory: str, source: int) -> int:
    """The number of the last file in the log of a source; -1 if there is none."""
    names = [name.removesuffix(_COMPACT) for name in _names(spark, directory, f"sources/{source}")]
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _lost_log(spark: SparkSession, directory: str, folder: str, last: int) -> str | None:
    """The file that a log lacks, counting back from its last one to a compacted one; reads the files on the way."""
    names, interval = _names(spark, directory, folder), int(spark.conf.get(_COMPACT_INTERVAL) or 1)
    for number in range(last, -1, -1):
        if f"{number}{_COMPACT}" in names:
            _log_lines(spark, directory, f"{folder}/{number}{_COMPACT}")
            break
        if str(number) not in names:
            return f"{folder}/{number}{_COMPACT if (number + 1) % interval == 0 else ''}"
        _log_lines(spark, directory, f"{folder}/{number}")
    return None


def _log_lines(spark: SparkSession, directory: str, name: str, parsed: int | None = None) -> list[str]:
    """The lines of a log of Spark after its version, of which the first ``parsed`` must be JSON, or all.

    Raises an error that names the file if it is damaged; Spark would not name it. A very long one is not read.
    """
    path, files = _file(spark, directory, name)
    if not files.exists(path) or files.getFileStatus(path).getLen() > _LONG_LOG_BYTES:
        return []
    version, *lines = (_small_file(spark, directory, name) or "").splitlines() or [""]
    if re.fullmatch(r"v\d+", version) is None:
        raise _unreadable(directory, name, "it does not begin with a version")
    try:
        for line in lines[:parsed]:
            json.loads(line)
    except ValueError as error:
        raise _unreadable(directory, name, f"{error}") from error
    return lines


def _numbers(spark: SparkSession, directory: str, name: str) -> set[int]:
    """The micro-batches that have a file in a folder of the checkpoint."""
    return {int(own) for own in _names(spark, directory, name) if own.isdigit()}


def _names(spark: SparkSession, directory: str, name: str) -> set[str]:
    """The names in a folder of the checkpoint; none if there is no such folder."""
    folder, files = _file(spark, directory, name)
    return {status.getPath().getName() for status in files.listStatus(folder)} if files.exists(folder) else set()


def _small_file(spark: SparkSession, directory: str, name: str) -> str | None:
    try:
        return _text(spark, directory, name)
    except Py4JError as error:  # Hadoop compares a file with its checksum
        raise _unreadable(directory, name, clear_error(error).message) from error


def _object(text: str, directory: str, name: str) -> dict[str, Any]:
    """The JSON object that a file has."""
    try:
        facts = json.loads(text)
    except ValueError as error:
        raise _unreadable(directory, name, f"{error}") from error
    if not isinstance(facts, dict):
        raise _unreadable(directory, name, "it has no JSON object")
    return facts


def _unreadable(directory: str, name: str, why: str) -> UsageError:
    return UsageError(f"the file '{name}' of the checkpoint '{directory}' cannot be read: {why}", _RESTORE)


def write_manifest(spark: SparkSession, directory: str, manifest: Manifest) -> None:
    """Writes the manifest to another file first and then renames it, so that it is never there in part."""
    path, files = _file(spark, directory)
    unfinished, _ = _file(spark, directory, f".{FILE}.{manifest.id}")
    stream = files.create(unfinished)
    try:
        stream.write(bytearray(json.dumps(asdict(manifest), indent=2).encode()))
    finally:
        stream.close()
    if not files.rename(unfinished, path):  # another start was faster
        files.delete(unfinished, False)
