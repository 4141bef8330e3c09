"""Turns failures of a running query into one clear message.

Spark wraps an error of a Python worker several times: by the worker, the task, the job, the sink and the query, each
with its own stack trace. The innermost error says what happened. The others only say where Spark was.
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
    """The innermost error: joinfold's own if there is one, else Spark's or Java's message in one line."""
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        name, raised = ours[-1]
        message, _, hint = raised.strip().partition("\nHint: ")
        kind = getattr(errors, name, RunError)
        own_error: JoinfoldError = kind(message, hint=hint or None)
        return own_error
    sparks = [message for name, message in _SPARKS.findall(text) if not name.startswith(_WRAPPERS)]
    messages = [*sparks[:1], *sparks[-1:]]  # where it happened, and why
    messages = messages or _RAISED.findall(text)[-1:] or [text.strip().partition("\n")[0]]
    return RunError(" ".join(dict.fromkeys(re.sub(r"\s*SQLSTATE: \w+.*", "", part) for part in messages)))


@contextmanager
def clear_errors() -> Iterator[None]:
    """Raises an error of Spark inside the block as its clear error."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise clear_error(error) from error
