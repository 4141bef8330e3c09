"""Failures of a running query as one clear message."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import IllegalArgumentException

from joinfold.errors import EvaluationError, RunError, UsageError
from joinfold.runtime.failures import NOT_NAMED, clear_error, clear_errors, damaged_file

WORKER = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error \
occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python Proxy.
Traceback (most recent call last):
  File "/x/finish.py", line 103, in _fitting
    raise EvaluationError(f"{value} does not fit {type_}")
joinfold.errors.EvaluationError: 33246000000000000000 does not fit BIGINT
Hint: cast the argument to DECIMAL(38, 0).
 SQLSTATE: 39000
\tat org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink.callBatchWriter(ForeachBatchSink.scala:60)
"""
FILE = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: Task 0 failed
org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///x/a.json. \
SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:870)
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are \
detected in record parsing: [null]. SQLSTATE: 22023
"""


def test_our_own_error_comes_out_as_it_was_raised() -> None:
    error = clear_error(Exception(WORKER))
    assert isinstance(error, EvaluationError)
    assert error.report() == (
        "EvaluationError: 33246000000000000000 does not fit BIGINT\nHint: cast the argument to DECIMAL(38, 0)."
    )


def test_what_spark_says_and_why_is_told_in_one_line() -> None:
    error = clear_error(Exception(FILE))
    assert isinstance(error, RunError)
    assert error.message == (
        "Encountered error while reading file file:///x/a.json. Malformed records are detected in record parsing: "
        "[null]."
    )


FAILED = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "
RESTORE = "restore the whole checkpoint from one copy, or use a new checkpoint directory."
CONTINUE = "A later start continues from the checkpoint."
SPARKS = [  # as Spark 4.3 words them
    (
        f"{FAILED}[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for "
        "5.\nPlease make sure only one streaming job runs on a specific checkpoint location at a time. SQLSTATE: 40000",
        "another query runs on the checkpoint '/state'\n"
        f"Hint: stop one of them: each query needs a checkpoint directory of its own. {CONTINUE}",
    ),
    (
        f"{FAILED}[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart streaming query with stateful "
        "operators because the state directory is empty or missing.\nStateful operators in current batch: […]",
        f"the checkpoint '/state' has lost its folder 'state'\nHint: {RESTORE}",
    ),
    (
        f"{FAILED}[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch "
        "sink.\nCaused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred "
        "during loading state.  SQLSTATE: 58030\n\tat x\nCaused by: org.apache.spark.SparkException: "
        "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state. Error "
        "reading streaming state file of file:/state/state/0/1/3.changelog does not exist. If the stream job is "
        "restarted with a new or updated state operation, please create a new checkpoint location. SQLSTATE: 58030",
        f"the file 'state/0/1/3.changelog' of the checkpoint '/state' cannot be read: it is missing\nHint: {RESTORE}",
    ),
    (
        f"{FAILED}Failed to read log file file:/state/commits/2. [MALFORMED_LOG_FILE] Log file was malformed: failed "
        "to read correct log version from v. SQLSTATE: KD002 SQLSTATE: XXKST\n=== Streaming Query ===",
        f"the file 'commits/2' of the checkpoint '/state' cannot be read: it is cut short or damaged\nHint: {RESTORE}",
    ),
    (
        f"{FAILED}[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state. SQLSTATE: 58030\n"
        "\tat x\nCaused by: org.rocksdb.RocksDBException: Corruption: block checksum mismatch",
        "the state in the checkpoint '/state' cannot be loaded. Spark does not name the damaged file: Corruption: "
        f"block checksum mismatch\nHint: a file is missing or damaged; {RESTORE}",
    ),
    (
        f"{FAILED}next on empty iterator SQLSTATE: XXKST\n=== Streaming Query ===\nCurrent State: INITIALIZING",
        f"a file of the checkpoint '/state' cannot be read: next on empty iterator\nHint: it is damaged; {RESTORE}",
    ),
    (
        f"{FAILED}Python worker failed to connect back. SQLSTATE: XXKST\n=== Streaming Query ===",
        "a Python worker of Spark did not start in time\n"
        "Hint: start fewer queries at once, or give Spark fewer cores, such as master('local[2]'). If it never starts, "
        f"look whether PYSPARK_PYTHON names a Python that has pyspark and joinfold. {CONTINUE}",
    ),
    (
        f"{FAILED}[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function.\nCaused by: "
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting x\n\tat y\n"
        "Caused by: java.net.SocketException: Connection reset",
        "a Python worker of Spark crashed or was killed\n"
        "Hint: often the machine lacks memory: give Spark fewer cores, such as master('local[2]'), or let the query "
        f"hold less with SHED. {CONTINUE}",
    ),
    (f"{FAILED}assertion failed SQLSTATE: XXKST\n=== Streaming Query ===", "assertion failed"),
    (
        "An error occurred while calling o1.getFileSystem.\n: org.apache.hadoop.fs.UnsupportedFileSystemException: No "
        'FileSystem for scheme "foo"\n\tat org.apache.hadoop.fs.FileSystem.getFileSystemClass(FileSystem.java:3586)',
        'No FileSystem for scheme "foo"',
    ),
]


@pytest.mark.parametrize(("raw", "told"), SPARKS)
def test_what_spark_words_for_itself_is_told_to_a_user(raw: str, told: str) -> None:
    error = clear_error(Exception(raw), "/state")
    assert isinstance(error, RunError)
    assert str(error) == told


LOST = "it is missing"
CHANGED = "it differs from its checksum"
DAMAGED = [
    ("Checksum error: file:/state/commits/4 at 0 exp: -215302179 got: 1535715104", "commits/4", CHANGED),
    (
        "Checksum file not a length multiple of checksum size in file:/state/commits/4 at 0 checksumpos: 8",
        "commits/4",
        CHANGED,
    ),
    (
        "File file:/state/state/0/_stateSchema/default/0_dc38 does not exist",
        "state/0/_stateSchema/default/0_dc38",
        LOST,
    ),
    ("java.io.FileNotFoundException: /x/a.parquet\nChecksum error: file:/state/offsets/4 at 0", "offsets/4", CHANGED),
    (  # a snapshot is damaged, and Spark has tried an earlier one in vain
        "Error reading streaming state file of file:/state/state/0/1/1.changelog does not exist. If\n"
        "Suppressed: org.apache.hadoop.fs.ChecksumException: Checksum error: file:/state/state/0/1/SSTs/8.sst at 0 exp",
        "state/0/1/SSTs/8.sst",
        CHANGED,
    ),
]


@pytest.mark.parametrize(("raw", "name", "why"), DAMAGED)
def test_a_damaged_file_of_the_checkpoint_is_named(raw: str, name: str, why: str) -> None:
    told = f"the file '{name}' of the checkpoint '/state' cannot be read: {why}\nHint: {RESTORE}"
    assert str(clear_error(Exception(f"{FAILED}{raw}"), "/state")) == told


def test_a_file_elsewhere_is_not_one_of_the_checkpoint() -> None:
    assert clear_error(Exception("Checksum error: file:/rows/a.parquet at 0"), "/state").message.startswith("Checksum")


def test_a_checkpoint_on_another_file_system() -> None:
    found = damaged_file("File s3a://bucket/state/metadata does not exist", "s3a://bucket/state/")
    assert found == ("metadata", LOST)


@pytest.mark.parametrize(
    "lost", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "no")]
)
def test_java_that_does_not_answer_is_told(lost: Exception) -> None:
    wrapped = Py4JError("An error occurred while calling o12.awaitTermination")
    wrapped.__cause__ = lost
    for error in (lost, wrapped):
        with pytest.raises(RunError, match="the Java process of Spark has ended"), clear_errors():
            raise error


def test_wrong_arguments_that_spark_finds_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="'path' is not specified"), clear_errors():
        raise IllegalArgumentException("'path' is not specified.")


def test_a_cause_without_a_class_of_errors() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: x\nCaused by: java.net.ConnectException: Connection refused"
    )
    assert clear_error(Exception(text)).message == "Connection refused"
    assert clear_error(Exception("something\nelse")).message == "something"


def damaged_state(directory: Path) -> Path:
    """A state as Spark writes it to a local disk, of which a file differs from its checksum."""
    folder = directory / "state" / "0" / "1" / "SSTs"
    folder.mkdir(parents=True)
    for version in (3, 4):
        (folder.parent / f"{version}.changelog").write_text("changes")
    path = folder / "000008-1.sst"
    path.write_text("rows")
    (folder / f".{path.name}.crc").write_bytes(b"crc\0\0\0\2\0\1\2\3\4")
    return path


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_file_that_spark_does_not_name_is_found_by_its_checksum(tmp_path: Path) -> None:
    """Spark tries an earlier snapshot, and lacks changes that it has removed in their time."""
    lacks = f"{FAILED}Error reading streaming state file of file:{tmp_path}/state/0/1/1.changelog does not exist. If"
    unknown = f"{FAILED}[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state. SQLSTATE: 58030"
    path = damaged_state(tmp_path)
    for raw in (lacks, unknown):
        told = clear_error(Exception(raw), str(tmp_path)).message
        assert f"the file 'state/0/1/SSTs/{path.name}'" in told and CHANGED in told
    path.with_name(f".{path.name}.crc").unlink()  # as on an object store
    told = clear_error(Exception(lacks), str(tmp_path)).message
    assert told.startswith("the state 'state/0/1' of the checkpoint") and NOT_NAMED in told
    path.with_name(f"{path.name}.crc").write_text('{"algorithm":"CRC32C","value":1,"mainFileSize":4}')  # Spark's own
    assert f"'state/0/1/SSTs/{path.name}'" in clear_error(Exception(lacks), str(tmp_path)).message


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_file_that_is_missing_among_later_ones_is_the_one_that_was_lost(tmp_path: Path) -> None:
    path = damaged_state(tmp_path)
    path.with_name(f".{path.name}.crc").unlink()
    lacks = f"Error reading streaming state file of file:{tmp_path}/state/0/1/5.changelog does not exist. If"
    told = clear_error(Exception(lacks), str(tmp_path)).message
    assert told.startswith("the file 'state/0/1/5.changelog' of the checkpoint") and LOST in told


READ = [
    (
        "at o.a.s.sql.StateSchemaCompatibilityChecker.readFile\njava.io.EOFException",
        "state/0/_stateSchema/default/0_5e57",
    ),
    ("key not found: timeMode\n\tat TransformWithStateOperatorProperties$.fromJson", "state/0/_metadata/v2/0"),
    ("block checksum mismatch: stored = 1 in /x/StateStoreId(opId=0,partId=1,name=a)/8.sst", "state/0/1/SSTs/8-1.sst"),
]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("raw", "name"), READ)
def test_a_file_is_named_by_what_reads_it(tmp_path: Path, raw: str, name: str) -> None:
    for _, own in READ:
        (tmp_path / own).parent.mkdir(parents=True)
        (tmp_path / own).write_text("damaged")
    told = clear_error(Exception(f"{FAILED}{raw}"), str(tmp_path)).message
    assert told == f"the state in the checkpoint '{tmp_path}' cannot be read; this is damaged: '{name}'"
    (tmp_path / name).unlink()
    assert NOT_NAMED in clear_error(Exception(f"{FAILED}{raw}"), str(tmp_path)).message
