"""The arguments of `Query.start`, checked before Spark starts. What only Spark can judge is left to it."""

import inspect
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from joinfold.errors import UsageError, suggestion
from joinfold.timetext import duration_us

SINKS = ("console", "parquet", "memory", "latest", "csv", "json", "orc", "text", "kafka", "delta", "noop")
"""Sinks that many have; Spark may know others."""
FILES = ("parquet", "csv", "json", "orc", "text")
AVAILABLE = "available"
ARGUMENTS = {
    "outputmode": "each instant is answered once, so there is one mode: leave it out. With CHANGES, a query answers "
    "only what has changed.",
    "checkpointlocation": "give it as checkpoint=….",
    "queryname": "give it as name=….",
    "processingtime": "give it as trigger='5 seconds'.",
    "availablenow": "give it as trigger='available'.",
    "once": "give it as trigger='available'.",
    "continuous": "queries run in micro-batches: give trigger='1 second', or leave it out for one after another.",
}
"""What Spark calls arguments that `start` has, or that a query cannot have."""


def refuse_arguments(
    sink: object, checkpoint: object, trigger: object, partitions: object, name: object, options: Mapping[str, object]
) -> None:
    """Raises `UsageError` for arguments of `Query.start` that nothing can be done with."""
    is_whole = isinstance(partitions, int) and not isinstance(partitions, bool)
    wanted = {
        "sink": (isinstance(sink, str) or callable(sink), sink, "the name of a sink of Spark, or a function"),
        "checkpoint": (
            isinstance(checkpoint, str | os.PathLike) and bool(os.fspath(checkpoint)),
            checkpoint,
            "a directory, as text or as a path",
        ),
        "trigger": (trigger is None or isinstance(trigger, str), trigger, "a text such as '5 seconds' or 'available'"),
        "partitions": (
            partitions is None or (is_whole and int(str(partitions)) > 0),
            partitions,
            "a whole number of at least 1",
        ),
        "name": (name is None or isinstance(name, str), name, "a text"),
    }
    for argument, (is_right, value, what) in wanted.items():
        if not is_right:
            raise UsageError(f"{argument} cannot be {value!r}", f"give {what}.")
    _refuse_options(options)
    if trigger is not None:
        refuse_trigger(str(trigger))
    if isinstance(sink, str):
        _refuse_sink(sink, name, options)
    elif callable(sink):
        _refuse_function(sink)


def _refuse_options(options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if option.lower() in ARGUMENTS:
            raise UsageError(f"start does not take {option}", ARGUMENTS[option.lower()])
        if not isinstance(value, str | int | float | os.PathLike):
            raise UsageError(f"the option {option} of a sink cannot be {value!r}", "give a text, a number or a path.")


def refuse_trigger(trigger: str) -> None:
    """Raises `UsageError` for a trigger that is neither 'available' nor a time."""
    if trigger == AVAILABLE:
        return
    if trigger.lower() in ("once", "availablenow", "available now"):
        hint = "trigger='available' answers all rows that are there now, and ends."
        raise UsageError(f"the trigger '{trigger}' is called '{AVAILABLE}' here", hint)
    if duration_us(trigger) == 0:
        raise UsageError("the time between two micro-batches must be longer than 0", "leave out trigger.")


def _refuse_sink(sink: str, name: object, options: Mapping[str, object]) -> None:
    if sink in SINKS:
        if sink == "memory" and name is None:
            hint = "give name='answers', and read it with spark.table('answers'), or use the sink 'latest'."
            raise UsageError("the sink 'memory' keeps its answers in a table, which needs a name", hint)
        if sink in FILES and "path" not in options:
            raise UsageError(f"the sink '{sink}' writes files, and needs a folder", "give path='answers'.")
        return
    if re.search(r"[/\\]|^$", sink):
        hint = f"write start('parquet', path='{sink}', …)."
        raise UsageError(f"the sink '{sink}' looks like a path, not like the name of a sink", hint)
    near = suggestion(sink, SINKS)
    if near is not None:
        raise UsageError(f"unknown sink '{sink}'", f"did you mean '{near}'? Spark has: {', '.join(SINKS)}, and others.")


def _refuse_function(sink: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(sink)
    except (TypeError, ValueError):  # of a function that is not in Python
        return
    try:
        signature.bind(None, 0)
    except TypeError as error:
        hint = "define it as def sink(answers, batch): it gets the answers as an Arrow table, and the number."
        raise UsageError("the sink function does not take the answers and the number of a micro-batch", hint) from error
