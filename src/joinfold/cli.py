"""The command line: arguments and printing, no logic.

Exit status 0 when all went well, 2 for a user's mistake, with one clear message and no traceback.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pyarrow.parquet as parquet
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from joinfold.errors import JoinfoldError, UsageError
from joinfold.session import Session, schema_of
from joinfold.types import TIMESTAMP, Schema
from joinfold.workloads import PRESETS, WORKLOADS
from joinfold.workloads import generate as generate_workload

app = typer.Typer(
    name="joinfold",
    help="Continuous join-aggregate queries over sliding windows of data streams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the command ``joinfold``."""
    try:
        app()
    except JoinfoldError as error:
        print_error(error.report())
        sys.exit(2)


def print_error(text: str) -> None:
    """An error is text for a person, on standard error."""
    sys.stderr.write(text + "\n")


def print_line(text: str) -> None:
    """A result is text or JSON, on standard output."""
    sys.stdout.write(text + "\n")


@app.callback()
def _joinfold() -> None:
    """Makes every function below a subcommand, even while there are few."""


@app.command()
def explain(
    query: Annotated[str, typer.Argument(help="A file with the query, '-' for standard input, or the query itself.")],
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            help="NAME=SCHEMA or NAME=PATH: columns as text ('A=location STRING, ts TIMESTAMP') or a Parquet file "
            "or folder to take them from. Repeatable.",
        ),
    ] = None,
    table: Annotated[list[str] | None, typer.Option("--table", help="The same for a relation. Repeatable.")] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", help="NAME=COLUMN: a stream's event time; by default 'ts' or its only TIMESTAMP."),
    ] = None,
    stage: Annotated[str, typer.Option("--stage", help="Which stage of the query to show: logical.")] = "logical",
    as_json: Annotated[bool, typer.Option("--json", help="Print canonical SQL, schema and tree as JSON.")] = False,
) -> None:
    """Show what a query means, as a small tree."""
    session = Session()
    times = dict(_assignment(entry, "--time") for entry in time or [])
    for entry in stream or []:
        name, schema = _named_schema(entry, "--stream")
        session.stream(name, schema, time=times.pop(name, None) or _default_time(schema))
    for entry in table or []:
        session.table(*_named_schema(entry, "--table"))
    if times:
        raise UsageError(f"--time names '{next(iter(times))}', which is not a stream", "give it with --stream.")
    bound = session.sql(_query_text(query))
    if as_json:
        columns = [{"name": field.name, "type": str(field.type)} for field in bound.schema]
        print_line(json.dumps({"sql": bound.to_sql(), "schema": columns, "tree": bound.explain(stage)}, indent=2))
    else:
        print_line(bound.explain(stage))


@app.command()
def generate(
    workload: Annotated[str, typer.Argument(help=f"One of: {', '.join((*WORKLOADS, *PRESETS))}.")],
    directory: Annotated[Path, typer.Option("--output", "-o", help="A folder that is empty or does not exist yet.")],
    rows: Annotated[int | None, typer.Option(help="How many rows, over all streams.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 7,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE: a parameter of the workload, such as zipf=1.1. Repeatable."),
    ] = None,
    names: Annotated[str | None, typer.Option(help="auctions only: 'tran' gives the paper's column names.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the streams and their schemas as JSON.")] = False,
) -> None:
    """Write a seeded workload as Parquet files, a folder per stream."""
    settings: dict[str, Any] = dict(_parameter(entry) for entry in parameters or [])
    if names is not None:
        settings["names"] = names
    with _ProgressBar(f"generating {workload}", rows) as advance:
        schemas = generate_workload(workload, rows=rows, seed=seed, directory=directory, progress=advance, **settings)
    described = {name: str(schema_of(schema)) for name, schema in schemas.items()}
    if as_json:
        print_line(json.dumps({"directory": str(directory), "streams": described}, indent=2))
        return
    for name, columns in described.items():
        print_line(f"{directory / name}: {columns}")


class _ProgressBar:
    """A bar on a terminal, silence elsewhere: the result lines say what was written."""

    def __init__(self, title: str, total: int | None) -> None:
        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self.bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self.total = total

    def __enter__(self) -> Callable[[int], None]:
        self.bar.start()
        task = self.bar.add_task("", total=self.total)
        return lambda written: self.bar.advance(task, written)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


def _query_text(query: str) -> str:
    if query == "-":
        return sys.stdin.read()
    if any(char.isspace() for char in query) and not query.endswith(".sql"):
        return query
    try:
        return Path(query).read_text(encoding="utf-8")
    except OSError as error:
        hint = "give a file with a query, '-' for standard input, or the query itself in quotes."
        raise UsageError(f"cannot read the query '{query}': {error.strerror}", hint) from error


def _assignment(entry: str, option: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"{option} takes NAME=VALUE, not '{entry}'")
    return name.strip(), value.strip()


def _named_schema(entry: str, option: str) -> tuple[str, Schema]:
    name, value = _assignment(entry, option)
    path = Path(value)
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise UsageError(f"the folder '{value}' of '{name}' has no Parquet file")
        path = files[0]
    if path.is_file():
        return name, schema_of(parquet.read_schema(path))
    if " " not in value:
        raise UsageError(f"'{value}' is neither a file nor a schema", "such as 'location STRING, ts TIMESTAMP'.")
    return name, schema_of(value)


def _default_time(schema: Schema) -> str | None:
    timestamps = [field.name for field in schema if field.type == TIMESTAMP]
    if "ts" in timestamps:
        return "ts"
    return timestamps[0] if len(timestamps) == 1 else None


def _parameter(entry: str) -> tuple[str, Any]:
    """A value is a number, a comma-separated tuple of numbers, or a word."""
    name, text = _assignment(entry, "--set")
    numbers = [_number(part) for part in text.split(",")]
    if all(number is not None for number in numbers):
        return name, numbers[0] if len(numbers) == 1 else tuple(numbers)
    return name, text


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
