"""`joinfold run`: runs a query over streams given on the command line until it ends or is stopped.

Mistakes in the arguments and in the query are found before Spark starts.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from rich.console import Console

from joinfold.arrow import arrow_schema
from joinfold.errors import RunError, UsageError
from joinfold.live.columns import chosen_time
from joinfold.live.interrupts import Interrupts, errors_to
from joinfold.live.report import Tally, figures_line, summary_line
from joinfold.live.rows import Print, RowPrinter
from joinfold.live.specs import absolute, schema_of_stream, schema_of_table
from joinfold.live.status import status
from joinfold.live.watch import watch
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.runtime.failures import clear_errors
from joinfold.runtime.sources import FileTable, NamedStream, open_stream, read_table
from joinfold.session import Session, schema_of
from joinfold.timetext import duration_us

SINKS = ("console", "parquet", "memory")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The arguments of a run."""

    query: str
    streams: dict[str, NamedStream]
    tables: dict[str, FileTable]
    times: dict[str, str]
    delays: dict[str, str]
    aheads: dict[str, str]
    idles: dict[str, str]
    sink: str = "console"
    output: str | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    partitions: int | None = None
    as_json: bool = False
    plan: Plan | None = None
    parameters: dict[str, int | Decimal | str] = field(default_factory=dict)
    is_safe: bool = False

    def __post_init__(self) -> None:
        if self.sink not in SINKS:
            raise UsageError(f"unknown sink '{self.sink}'", f"the sinks are: {', '.join(SINKS)}.")
        if (self.output is not None) != (self.sink == "parquet"):
            raise UsageError("--sink parquet and its folder --output belong together", "give both or neither.")
        by_stream = {"--time": self.times, "--delay": self.delays, "--ahead": self.aheads, "--idle": self.idles}
        for option, named in by_stream.items():
            for name in named.keys() - self.streams.keys():
                raise UsageError(f"{option} names '{name}', but there is no such stream", "add it with --stream.")
        if self.trigger is not None and self.trigger != "available" and duration_us(self.trigger) == 0:
            raise UsageError("--trigger must be longer than 0", "leave out --trigger.")


def run(settings: RunSettings, console: Console, print_line: Print) -> None:
    """Runs a query until it ends or is stopped: answers go to ``print_line``, everything else to the console."""
    query = _bound(settings, Session(), schema_of_stream, schema_of_table)
    query.plan  # noqa: B018 - plans now, so that a refusal does not wait for Spark
    for warning in (*query.warnings, *query.plan_warnings):
        console.print(f"Warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    with Interrupts() as interrupts, _checkpoint(settings, console) as checkpoint, _spark_log() as log:
        _require_output_of(checkpoint, settings.output)
        console.print("starting Spark …", highlight=False)
        session = Session(safe=settings.is_safe)
        with clear_errors():
            with errors_to(log):
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
        data = stream(source)
        time_ = settings.times.get(name) or chosen_time(name, schema_of(data))
        delay, ahead, idle = settings.delays.get(name, "0 seconds"), settings.aheads.get(name), settings.idles.get(name)
        session.stream(name, data, time=time_, delay=delay, ahead=ahead, idle=idle)
    for name, files in settings.tables.items():
        session.table(name, table(files))
    return session.sql(settings.query, settings.plan, **settings.parameters)


def _watched(
    query: Query, settings: RunSettings, checkpoint: str, interrupts: Interrupts, console: Console, print_line: Print
) -> Tally:
    order = [field.name for field in query.logical.leading]
    printer = RowPrinter(arrow_schema(query.schema), order, print_line, settings.as_json)
    kept: list[pa.Table] = []
    options = {} if settings.output is None else {"path": absolute(settings.output)}
    sinks: dict[str, Any] = {
        "console": lambda answers, batch: printer.show(answers),
        "memory": lambda answers, batch: kept.append(answers),
        "parquet": "parquet",
    }
    with status(console) as show:
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
