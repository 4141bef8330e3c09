"""Failures of a running query as one clear message."""

from joinfold.errors import EvaluationError, RunError
from joinfold.runtime.failures import clear_error

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


def test_a_cause_without_a_class_of_errors() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: x\nCaused by: java.net.ConnectException: Connection refused"
    )
    assert clear_error(Exception(text)).message == "Connection refused"
    assert clear_error(Exception("something\nelse")).message == "something"
