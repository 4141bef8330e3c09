"""``joinfold run``: runs a query over streams."""

from typing import Annotated

import typer
from rich.console import Console

from joinfold.cli.arguments import PARAM_HELP, PLAN_HELP, assignments, parameters, query_text
from joinfold.cli.printing import print_line
from joinfold.errors import UsageError
from joinfold.planner.forcing import Plan
from joinfold.registering import schema_of

PRINTED = ("table", "csv", "json")


def run(
    query: Annotated[str, typer.Argument(help="A file with the query, '-' for standard input, or the query itself.")],
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            help="NAME=FOLDER, NAME=parquet:FOLDER, NAME=csv:FOLDER, NAME=json:FOLDER, NAME=rate:ROWS_PER_SECOND or "
            "NAME=socket:HOST:PORT. Repeatable.",
        ),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            "--schema",
            help="NAME=COLUMNS, such as 'A=location STRING, ts TIMESTAMP', for CSV and JSON.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            help="NAME=PATH, NAME=parquet:PATH, NAME=csv:PATH or NAME=json:PATH: a relation. Repeatable.",
        ),
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option(
            "--time",
            help="NAME=COLUMN: a stream's event time; by default 'ts' or its only TIMESTAMP.",
        ),
    ] = None,
    delay: Annotated[
        list[str] | None,
        typer.Option("--delay", help="NAME='10 seconds': by how much a stream's rows may be out of order."),
    ] = None,
    ahead: Annotated[
        list[str] | None,
        typer.Option(
            "--ahead",
            help="NAME='1 day', NAME=off: how far ahead of the clock a stream's times may be.",
        ),
    ] = None,
    idle: Annotated[
        list[str] | None,
        typer.Option(
            "--idle",
            help="NAME='5 minutes': after this silence the others do not wait for a stream.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", help="NAME=seconds, milliseconds or microseconds: what an integer time counts."),
    ] = None,
    sink: Annotated[
        str,
        typer.Option(
            help="console prints the answers, parquet writes them to --output, memory prints at the end.",
            autocompletion=lambda: ["console", "parquet", "memory"],
        ),
    ] = "console",
    output: Annotated[str | None, typer.Option("--output", "-o", help="The folder of --sink parquet.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A directory for the state, from which a later start goes on.")
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option(
            help="'5 seconds' between micro-batches, or 'available' to stop after the rows that are there now."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="The same as --trigger available.")] = False,
    partitions: Annotated[int | None, typer.Option(min=1, help="The number of partitions of the state.")] = None,
    param: Annotated[list[str] | None, typer.Option("--param", help=PARAM_HELP)] = None,
    plan: Annotated[str | None, typer.Option("--plan", help=PLAN_HELP)] = None,
    safe: Annotated[
        bool, typer.Option("--safe", help="Check every row and file of the state. The checkpoint keeps to it.")
    ] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="How answers are printed: table (default); csv; json, an object on a line of its own per answer.",
            autocompletion=lambda: list(PRINTED),
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Run a query over streams, until it ends or Ctrl-C stops it."""
    from joinfold.live.run import RunSettings  # imports Spark
    from joinfold.live.run import run as run_query
    from joinfold.live.specs import named_stream, named_table

    if once and trigger is not None:
        raise UsageError("--once is --trigger available", "give one of them.")
    if as_json and format_ is not None:
        raise UsageError("--json is --format json", "give one of them.")
    schemas = {name: schema_of(text) for name, text in assignments(schema, "--schema").items()}
    texts = assignments(stream, "--stream")
    streams = {name: named_stream(name, text, schemas.pop(name, None)) for name, text in texts.items()}
    files = assignments(table, "--table")
    tables = {name: named_table(name, text, schemas.pop(name, None)) for name, text in files.items()}
    if schemas:
        hint = "add it with --stream or --table."
        raise UsageError(f"--schema names '{next(iter(schemas))}', which is neither a stream nor a table", hint)
    of_streams = {"time": time, "delay": delay, "ahead": ahead, "idle": idle, "unit": unit}
    settings = RunSettings(
        query_text(query),
        streams,
        tables,
        {option: assignments(named, f"--{option}") for option, named in of_streams.items()},
        sink,
        output,
        checkpoint,
        "available" if once else trigger,
        partitions,
        "json" if as_json else format_ or "table",
        None if plan is None else Plan.parse(plan),
        parameters(param),
        safe,
    )
    run_query(settings, Console(stderr=True), print_line)
