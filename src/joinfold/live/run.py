"""`joinfold run`: runs a query over streams given on the command line until it ends or is stopped.

Mistakes in the arguments and in the query are found before Spark starts.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from rich.console import Console

from joinfold.arrow import arrow_schema
from joinfold.errors import JoinfoldWarning, RunError, UsageError
from joinfold.live.interrupts import Interrupts, errors_to
from joinfold.live.report import Tally, figures_line, summary_line
from joinfold.live.rows import PRINTERS, Print
from joinfold.live.specs import absolute, schema_of_stream, schema_of_table
from joinfold.live.status import busy, status
from joinfold.live.watch import watch
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.runtime.failures import clear_errors
from joinfold.runtime.sources import FileTable, NamedStream, open_stream, read_table
from joinfold.session import Session
from joinfold.starting import refuse_trigger

SINKS = ("console", "parquet", "memory")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The arguments of a run. ``stream_options`` has arguments of `Session.stream`, each with its value by stream."""

    query: str
    streams: dict[str, NamedStream]
    tables: dict[str, FileTable]
    stream_options: dict[str, dict[str, str]]
    sink: str = "console"
    output: str | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    partitions: int | None = None
    format: str = "table"
    plan: Plan | None = None
    parameters: dict[str, int | Decimal | str] = field(default_factory=dict)
    is_safe: bool = False

    def __post_init__(self) -> None:
        if self.sink not in SINKS:
            raise UsageError(f"unknown sink '{self.sink}'", f"the sinks are: {', '.join(SINKS)}.")
        if self.format not in PRINTERS:
            raise UsageError(f"unknown format '{self.format}'", f"the formats are: {', '.join(PRINTERS)}.")
        if (self.output is not None) != (self.sink == "parquet"):
            raise UsageError("--sink parquet and its folder --output belong together", "give both or neither.")
        for option, named in self.stream_options.items():
            for name in named.keys() - self.streams.keys():
                raise UsageError(f"--{option} names '{name}', but there is no such stream", "add it with --stream.")
        if self.trigger is not None:
            refuse_trigger(self.trigger)


def run(settings: RunSettings, console: Console, print_line: Print) -> None:
    """Runs a query until it ends or is stopped: answers go to ``print_line``, everything else to the console."""
    query = _bound(settings, Session(), schema_of_stream, schema_of_table)
    query.plan  # noqa: B018 - plans now, so that a refusal does not wait for Spark
    for warning in (*query.warnings, *query.plan_warnings):
        console.print(f"Warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    with Interrupts() as interrupts, _checkpoint(settings, console) as checkpoint, _spark_log() as log:
        _require_output_of(checkpoint, settings.output)
        session = Session(safe=settings.is_safe)
        with clear_errors():
            with errors_to(log) as errors, busy("starting Spark", errors):
                spark = session.spark
            interrupts.take()
            spark.conf.set("spark.sql.session.timeZone", "UTC")
            query = _bound(settings, session, lambda it: open_stream(spark, it), lambda it: read_table(spark, it))
            began = time.monotonic()
            tally = _watched(query, settings, checkpoint, interrupts, console, print_line)
        changes = (f"plan changed in {change}" for change in tally.plan_changes)
        for line in (summary_line(tally, time.monotonic() - began), figures_line(tally), *changes):
            if line is not None:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        if interrupts.asked:
            how_to_continue = "; start again with the same --checkpoint to continue" if settings.checkpoint else ""
            console.print(f"stopped{how_to_continue}", highlight=False)


def _bound(
    settings: RunSettings, session: Session, stream: Callable[[NamedStream], Any], table: Callable[[FileTable], Any]
) -> Query:
    """The query over the inputs that ``stream`` and ``table`` make: schemas, or DataFrames."""
    for name, source in settings.streams.items():
        own = {option: named[name] for option, named in settings.stream_options.items() if name in named}
        session.stream(name, stream(source), **own)  # type: ignore[arg-type]
    for name, files in settings.tables.items():
        session.table(name, table(files))
    return session.sql(settings.query, settings.plan, **settings.parameters)


def _watched(
    query: Query, settings: RunSettings, checkpoint: str, interrupts: Interrupts, console: Console, print_line: Print
) -> Tally:
    order = [field.name for field in query.logical.leading]
    printer = PRINTERS[settings.format](arrow_schema(query.schema), order, print_line)
    kept: list[pa.Table] = []
    options = {} if settings.output is None else {"path": absolute(settings.output)}
    sinks: dict[str, Any] = {
        "console": lambda answers, batch: printer.show(answers),
        "memory": lambda answers, batch: kept.append(answers),
        "parquet": "parquet",
    }
    with status(console) as show, warnings.catch_warnings():
        warnings.simplefilter("ignore", JoinfoldWarning)  # they were printed before Spark started
        handle = query.start(
            sinks[settings.sink],
            checkpoint=checkpoint,
            trigger=settings.trigger,
            partitions=settings.partitions,
            **options,
        )
        tally = watch(handle, interrupts, show)
    if kept:
        printer.show(pa.concat_tables(kept))
    return tally


@contextmanager
def _checkpoint(settings: RunSettings, console: Console) -> Iterator[str]:
    """The checkpoint directory; without --checkpoint, a temporary one that is removed after the run."""
    if settings.checkpoint is not None:
        yield absolute(settings.checkpoint)
        return
    with tempfile.TemporaryDirectory(prefix="joinfold-checkpoint-", ignore_cleanup_errors=True) as directory:
        notice = "no --checkpoint: the state is kept in a temporary directory and removed at the end"
        console.print(notice, highlight=False, soft_wrap=True)
        yield directory


def _require_output_of(checkpoint: str, output: str | None) -> None:
    """Refuses a run into a folder with answers of another run, or of later micro-batches, as after a repair.

    Spark records in the folder which micro-batches it has, and would skip these.
    """
    if output is None:
        return
    written, begun = os.path.join(output, "_spark_metadata"), _last_number(os.path.join(checkpoint, "offsets"))
    if os.path.isdir(written) and (begun < 0 or _last_number(written) > begun):
        hint = "give the --checkpoint of that run to continue it, or choose another folder."
        raise UsageError(f"the folder '{output}' holds the answers of another run", hint)


def _last_number(folder: str) -> int:
    """The number of the last micro-batch that has a file in a folder of Spark; −1 if there is none."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(number) for name in names if (number := name.removesuffix(".compact")).isdigit()), default=-1)


@contextmanager
def _spark_log() -> Iterator[str]:
    """The path of a temporary file for Spark's log, kept only after a `RunError` and if the log is not empty."""
    number, path = tempfile.mkstemp(prefix="joinfold-spark-", suffix=".log")
    os.close(number)
    try:
        yield path
    except RunError as error:
        if not os.path.getsize(path):
            os.unlink(path)
            raise
        raise RunError(error.message, error.hint or f"Spark's log is in '{path}'.") from error
    except BaseException:
        os.unlink(path)
        raise
    os.unlink(path)
