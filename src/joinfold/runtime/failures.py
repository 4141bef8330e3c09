"""Failures of a running query as one clear message.

An error of a Python worker comes wrapped by the worker, the task, the job, the sink and the query, each with a trace
of its own. The innermost says what happened; the others say where Spark was at the time.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from joinfold import errors
from joinfold.errors import JoinfoldError, RunError

_OURS = re.compile(r"^joinfold\.errors\.(\w+): (.+?)(?=\n SQLSTATE|\n\s*at |\n\n|\Z)", flags=re.MULTILINE | re.DOTALL)
_SPARKS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ([^\n]+)")
_RAISED = re.compile(r"^(?:Caused by: )?[\w.$]*(?:Error|Exception): ([^\n]+)", flags=re.MULTILINE)
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "PYTHON_EXCEPTION")


def clear_error(error: Exception) -> JoinfoldError:
    """The innermost reason: joinfold's own error, else what Spark or the machine says in one line."""
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        name, told = ours[-1]
        message, _, hint = told.strip().partition("\nHint: ")
        kind = getattr(errors, name, RunError)
        made: JoinfoldError = kind(message, hint=hint or None)
        return made
    sparks = [told for name, told in _SPARKS.findall(text) if not name.startswith(_WRAPPERS)]
    told = [*sparks[:1], *sparks[-1:]]  # where it happened, and why
    told = told or _RAISED.findall(text)[-1:] or [text.strip().partition("\n")[0]]
    return RunError(" ".join(dict.fromkeys(re.sub(r"\s*SQLSTATE: \w+.*", "", part) for part in told)))


@contextmanager
def clear_errors() -> Iterator[None]:
    """Whatever Spark raises inside is raised as its clear error."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise clear_error(error) from error
