"""Turns failures of a running query into one clear message.

Spark wraps an error of a Python worker several times: by the worker, the task, the job, the sink and the query, each
with its own stack trace. The innermost error says what happened. The others only say where Spark was.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    PySparkException,
    PySparkTypeError,
    PySparkValueError,
)

from joinfold import errors
from joinfold.errors import JoinfoldError, RunError, UsageError

_OURS = re.compile(r"^joinfold\.errors\.(\w+): (.+?)(?=\n SQLSTATE|\n\s*at |\n\n|\Z)", flags=re.MULTILINE | re.DOTALL)
_SPARKS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ([^\n]+)")
_RAISED = re.compile(r"^(?:Caused by: |: )?[\w.$]*(?:Error|Exception): ([^\n]+)", flags=re.MULTILINE)
_WRAPPING = re.compile(r"^\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: ")
_SUPERFLUOUS = re.compile(r"^An error occurred during loading state\.\s*|\s*(?:SQLSTATE: \w+| If the stream job is).*")
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "PYTHON_EXCEPTION")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that Spark reports in its own words: how to find it, and what it means for a user.

    ``message`` may name the checkpoint, and ``cause``, the innermost message.
    """

    pattern: str
    message: str
    hint: str


RESTORE_FILE = "restore the file from a copy of the checkpoint, or use a new checkpoint directory."
RESTORE = "restore the whole checkpoint from one copy, or use a new checkpoint directory."
CONTINUE = "A later start continues from the checkpoint."
NOT_NAMED = "Spark does not name the damaged file"
_STATE = r"CANNOT_LOAD_STATE_STORE|An error occurred during loading state"
_READERS = (  # classes of Spark that do not name the file that they read, and the folder below 'state' that has it
    (r"StateSchemaCompatibilityChecker", "_stateSchema"),
    (r"OperatorStateMetadata|TransformWithStateOperatorProperties|TransformWithStateVariable", "_metadata"),
)
_BLOCK = r"block checksum mismatch[^\n]*opId=(\d+),partId=(\d+),[^\n]*/(\d+)\.sst"
LATE_WORKER = "Python worker failed to connect back"
KNOWN = (
    Failure(
        r"CONCURRENT_STREAM_LOG_UPDATE",
        "another query runs on the checkpoint {checkpoint}",
        f"stop one of them: each query needs a checkpoint directory of its own. {CONTINUE}",
    ),
    Failure(
        r"STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "the checkpoint {checkpoint} has lost its folder 'state'",
        RESTORE,
    ),
    Failure(
        _STATE,
        f"the state in the checkpoint {{checkpoint}} cannot be loaded. {NOT_NAMED}: {{cause}}",
        f"a file is missing or damaged; {RESTORE}",
    ),
    Failure(
        r"Failed to read log file|Current State: INITIALIZING|No content to map due to end-of-input",
        "a file of the checkpoint {checkpoint} cannot be read: {cause}",
        f"it is damaged; {RESTORE}",
    ),
    Failure(
        r"Wrong basePath",
        f"the log of a file source in the checkpoint {{checkpoint}} has a wrong path. {NOT_NAMED}: {{cause}}",
        f"a file below 'sources' is damaged; {RESTORE}",
    ),
    Failure(
        r"DATA_SOURCE_NOT_FOUND|Failed to find the data source",
        "Spark has no source or sink of this name. {cause}",
        "the usual sinks are console, parquet, memory and kafka; others need a package: spark.jars.packages.",
    ),
    Failure(
        LATE_WORKER,
        "a Python worker of Spark did not start in time",
        "start fewer queries at once, or give Spark fewer cores, such as master('local[2]'). If it never starts, look "
        f"whether PYSPARK_PYTHON names a Python that has pyspark and joinfold. {CONTINUE}",
    ),
    Failure(
        r"Python worker exited unexpectedly",
        "a Python worker of Spark crashed or was killed",
        "often the machine lacks memory: give Spark fewer cores, such as master('local[2]'), or let the query hold "
        f"less with SHED. {CONTINUE}",
    ),
)
_LOST = Failure(
    "",
    "the Java process of Spark has ended, or does not answer",
    "its own log tells why; often it lacks memory, which spark.driver.memory sets. Start a new Spark session. "
    f"{CONTINUE}",
)
_CHANGED, _MISSING = "it differs from its checksum", "it is missing"
_DAMAGES = (  # how Hadoop and Spark name a file of a checkpoint that they cannot read; the surest come first
    (
        r"Checksum (?:error:|file not a length multiple of checksum size in) (?P<path>\S+) at ",
        _CHANGED,
    ),
    (r"CHECKSUM_VERIFICATION_FAILED[^\n]*?[Ff]ile:? (?P<path>\w+:\S+?)[.,]?\s", _CHANGED),
    (r"Failed to read log file (?P<path>\S+?)\.\s", "it is cut short or damaged"),
    (r"(?:File|state file of) (?P<path>\w+:\S+) does not exist", _MISSING),
    (r"FileNotFoundException: (?:File )?(?P<path>\w+:/\S+)", _MISSING),
)
_USAGE = (AnalysisException, IllegalArgumentException, PySparkTypeError, PySparkValueError)


def clear_error(error: Exception, checkpoint: str | None = None) -> JoinfoldError:
    """The innermost error: joinfold's own if there is one, else a known failure, else the message in one line."""
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        name, raised = ours[-1]
        message, _, hint = raised.strip().partition("\nHint: ")
        kind = getattr(errors, name, RunError)
        own_error: JoinfoldError = kind(message, hint=hint or None)
        return own_error
    if checkpoint is not None:
        damaged = damaged_file(text, checkpoint)
        if damaged is None and re.search(_STATE, text) and (unlike := _unlike(checkpoint, "state")) is not None:
            damaged = (unlike, _CHANGED)
        if damaged is not None:
            return _refusal(*damaged, checkpoint)
        read = _read_by(text + (getattr(error, "_stackTrace", None) or ""))
        if read is not None:
            return _unreadable_among(checkpoint, read)
    cause = _innermost(text)
    known = _LOST if _is_lost(error) else next((own for own in KNOWN if re.search(own.pattern, text)), None)
    if known is not None:
        place = "of this query" if checkpoint is None else f"'{checkpoint}'"
        return RunError(known.message.format(checkpoint=place, cause=cause.rstrip(".")), known.hint)
    return UsageError(cause) if isinstance(error, _USAGE) else RunError(cause)


def unreadable(checkpoint: str, name: str, why: str) -> UsageError:
    """The error for a file of a checkpoint that is damaged, found before a query starts."""
    return UsageError(f"the file '{name}' of the checkpoint '{checkpoint}' cannot be read: {why}", RESTORE_FILE)


def _refusal(name: str, why: str, checkpoint: str) -> RunError:
    """The error for a damaged file.

    If a snapshot of state is damaged, Spark tries earlier ones and reports what it lacked last, which may be a file
    that it has removed itself. So the files of the state are compared with their checksums.
    """
    state = re.match(r"state/\d+/\d+(?=/)", name)
    if state is not None and why == _MISSING:
        unlike = _unlike(checkpoint, state[0])
        if unlike is None and not _is_needed(checkpoint, name):
            told = (
                f"the state '{state[0]}' of the checkpoint '{checkpoint}' cannot be loaded, neither from its last "
                f"snapshot nor from an earlier one. {NOT_NAMED}, only the last one that it looked for: '{name}'"
            )
            return RunError(told, RESTORE)
        name, why = (name, why) if unlike is None else (unlike, _CHANGED)
    return RunError(f"the file '{name}' of the checkpoint '{checkpoint}' cannot be read: {why}", RESTORE)


def _read_by(text: str) -> str | None:
    """What the files are called, as a pattern, of which Spark could not read one; None if it did not fail there."""
    block = re.search(_BLOCK, text)
    if block is not None:
        return rf"state/{block[1]}/{block[2]}/SSTs/{block[3]}-[^/]*"
    return next((rf"state/\d+/{folder}/.*" for reader, folder in _READERS if re.search(reader, text)), None)


def _unreadable_among(checkpoint: str, pattern: str) -> RunError:
    """The error for a damaged file that Spark does not name, if it is one of a few."""
    found = (_name_in(checkpoint, path) for _, path in _listed(checkpoint, "state"))
    names = ", ".join(f"'{name}'" for name in sorted(found) if re.fullmatch(pattern, name))
    told = names or f"{NOT_NAMED} below 'state'"
    return RunError(f"the state in the checkpoint '{checkpoint}' cannot be read; this is damaged: {told}", RESTORE)


def _name_in(checkpoint: str, path: Any) -> str:
    """The name of a file relative to the checkpoint."""
    return _without_scheme(path.toString()).removeprefix(f"{_without_scheme(checkpoint)}/")


def _unlike(checkpoint: str, folder: str) -> str | None:
    """The first file below a folder of a checkpoint that differs from its checksum, of Hadoop or of Spark.

    An empty file differs from any.
    """
    for files, path in _listed(checkpoint, folder):
        if not _fits(files, path):
            return _name_in(checkpoint, path)
    return None


def _is_needed(checkpoint: str, name: str) -> bool:
    """Whether a file of state belongs to a version that Spark still keeps, and has not removed in its time."""
    listed = (path.getName() for _, path in _listed(checkpoint, os.path.dirname(name)))
    versions = [_version(own) for own in listed if own.endswith((".zip", ".changelog"))]
    return _version(name) >= min(versions, default=0)


def _version(name: str) -> int:
    found = re.match(r"\d+", os.path.basename(name))
    return int(found[0]) if found else 0


def _listed(checkpoint: str, folder: str) -> Iterator[tuple[Any, Any]]:
    """The files below a folder of a checkpoint, each after its file system; none if Spark does not run."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return
    with suppress(Py4JError, ConnectionError):  # the failure itself is told, not that of looking for its cause
        root = context._jvm.org.apache.hadoop.fs.Path(f"{checkpoint.rstrip('/')}/{folder}")
        files = root.getFileSystem(context._jsc.hadoopConfiguration())
        listed = files.listFiles(root, True) if files.exists(root) else None
        while listed is not None and listed.hasNext():
            yield files, listed.next().getPath()


def _fits(files: Any, path: Any) -> bool:
    """Whether a file fits the checksums that it has."""
    jvm: Any = SparkContext._active_spark_context._jvm  # type: ignore[union-attr]
    try:
        read = jvm.java.util.zip.CheckedInputStream(files.open(path), jvm.java.util.zip.CRC32C())
        jvm.org.apache.hadoop.io.IOUtils.copyBytes(read, jvm.java.io.OutputStream.nullOutputStream(), 2**16, True)
    except Py4JError:  # Hadoop compares
        return False
    sparks = path.suffix(".crc")
    if not files.exists(sparks):
        return int(files.getFileStatus(path).getLen()) > 0
    text = jvm.org.apache.commons.io.IOUtils.toString(files.open(sparks), "UTF-8")
    try:
        value = int(json.loads(text)["value"])
    except (ValueError, KeyError, TypeError):
        return False
    return value % 2**32 == int(read.getChecksum().getValue())


def damaged_file(text: str, checkpoint: str) -> tuple[str, str] | None:
    """The file of a checkpoint that Spark could not read, and why; None if the text names no file of it."""
    root = f"{_without_scheme(checkpoint)}/"
    for pattern, why in _DAMAGES:
        for found in re.finditer(pattern, text):
            path = _without_scheme(found["path"])
            if path.startswith(root):
                return path.removeprefix(root), why
    return None


def _without_scheme(path: str) -> str:
    """``file:/x/state`` and ``/x/state`` as ``x/state``, so that both can be compared."""
    is_local = not re.match(r"\w+:", path)
    return re.sub(r"^\w+:", "", os.path.abspath(path) if is_local else path).strip("/")


def _innermost(text: str) -> str:
    """What happened, in one line."""
    sparks = [message for name, message in _SPARKS.findall(text) if not name.startswith(_WRAPPERS)]
    for messages in ([*sparks[:1], *sparks[-1:]], _RAISED.findall(text)[-1:]):  # where it happened, and why
        told = " ".join(filter(None, dict.fromkeys(_SUPERFLUOUS.sub("", part) for part in messages)))
        if told:
            return told
    return _SUPERFLUOUS.sub("", _WRAPPING.sub("", text.strip()).partition("\n")[0])


def _is_lost(error: BaseException | None) -> bool:
    """Whether Java did not answer."""
    while error is not None:
        if isinstance(error, Py4JNetworkError | ConnectionError):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def clear_errors(checkpoint: str | None = None) -> Iterator[None]:
    """Raises an error of Spark inside the block as its clear error."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise clear_error(error, checkpoint) from error
