"""The command line: arguments and printing, no logic.

Exit status 0 when all went well, 2 for a user's mistake, 1 for a query that failed while it ran; with one clear
message and no traceback.
"""

import json
import sys
import time as clock
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from joinfold.errors import EvaluationError, JoinfoldError, RunError, UsageError
from joinfold.live.inputs import refuse_schemas, register
from joinfold.planner.forcing import Plan
from joinfold.session import Session, schema_of
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
        app(prog_name="joinfold")
    except JoinfoldError as error:
        print_error(error.report())
        sys.exit(1 if isinstance(error, EvaluationError | RunError) else 2)


def print_error(text: str) -> None:
    """An error is text for a person, on standard error."""
    sys.stderr.write(text + "\n")


def print_line(text: str) -> None:
    """A result is text or JSON, on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


PLAN_HELP = "How to run it, such as 'method=tc; early=a; index=a hash, b btree; order=b, a'."


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
            "or folder to take them from, and its rows where costs are asked for. Repeatable.",
        ),
    ] = None,
    table: Annotated[list[str] | None, typer.Option("--table", help="The same for a relation. Repeatable.")] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", help="NAME=COLUMN: a stream's event time; by default 'ts' or its only TIMESTAMP."),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            help="What to show: logical, what it means (unless given); windows, when it is answered over what; "
            "physical, how it runs; cost, what that costs and what else could be.",
        ),
    ] = None,
    windows: Annotated[
        bool, typer.Option("--windows", help="Draw windows, sub-windows and instants: the same as --stage windows.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with costs and other plans to this file.")
    ] = None,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Run it on Parquet files, without Spark: costs measured and estimated.")
    ] = False,
    plan: Annotated[str | None, typer.Option("--plan", help=PLAN_HELP)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print canonical SQL, schema and tree, or measured costs, as JSON.")
    ] = False,
) -> None:
    """Show what a query means, how it runs, and what that costs."""
    if windows and stage is not None:
        raise UsageError("--windows is --stage windows", "give one of them.")
    if (stage is not None or windows) + (html is not None) + analyze > 1:
        raise UsageError("--stage, --html and --analyze show different things", "give one of them.")
    if html is not None and as_json:
        raise UsageError("--html writes a page and --json prints JSON", "give one of them.")
    stage = "windows" if windows else stage or ("logical" if html is None and not analyze else "cost")
    session, streams, tables = Session(), _assignments(stream, "--stream"), _assignments(table, "--table")
    if analyze:
        refuse_schemas((*streams.items(), *tables.items()))
    register(session, streams, tables, _assignments(time, "--time"), with_rows=stage == "cost")
    bound = session.sql(_query_text(query), None if plan is None else Plan.parse(plan))
    warnings = [*bound.warnings, *(bound.plan_warnings if stage == "cost" else ())]
    if analyze:
        names = {input_.source.name for input_ in bound.logical.streams}
        with _ProgressBar("running the query", sum(session.rows(name).num_rows for name in names)) as advance:
            analysis = bound.analyze(progress=advance)
        shown, facts = str(analysis), {"sql": bound.to_sql(), "warnings": warnings, **analysis.to_dict()}
    elif html is not None:
        _write_text(html, bound.explain(format="html"))
        shown, facts = str(html), {}
    else:
        shown = bound.explain(stage, warn=False)
        columns = [{"name": field.name, "type": str(field.type)} for field in bound.schema]
        facts = {"sql": bound.to_sql(), "schema": columns, "warnings": warnings, "tree": shown}
    for warning in warnings:
        print_error(f"Warning: {warning}")
    print_line(json.dumps(facts, indent=2) if as_json else shown)


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


@app.command()
def bench(
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Add Spark on R1 and the sweeps; with --planner, plans on Spark.")
    ] = False,
    methods: Annotated[
        bool, typer.Option("--methods", help="Measure joinfold's methods and structures instead, without Spark.")
    ] = False,
    joins: Annotated[bool, typer.Option("--joins", help="Measure joins of three streams instead.")] = False,
    windows: Annotated[bool, typer.Option("--windows", help="Measure windows that are not alike instead.")] = False,
    planner: Annotated[
        bool,
        typer.Option("--planner", help="Measure whether the plans that are chosen by cost are the fastest instead."),
    ] = False,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where results.json and rates.svg go, or results-methods.json, results-joins.json, "
            "results-windows.json, results-planner.json.",
        ),
    ] = Path("bench-results"),
    repeats: Annotated[
        int,
        typer.Option(
            min=1, help="Runs of joinfold and of the limit, in turn; with --methods, slides that are measured."
        ),
    ] = 3,
    cap: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds after which a slow engine is stopped: 60, with --full or --joins 300."),
    ] = None,
    seconds: Annotated[int, typer.Option(min=1, help="Event time of R1: 100 s are a micro-batch of 2,000,000.")] = 600,
    json_: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure joinfold side by side with other engines, on the same data and with equal answers."""
    from joinfold import benchmark  # it loads Spark

    wanted = {"--methods": methods, "--joins": joins, "--windows": windows, "--planner": planner}
    special = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(special) > 1:
        raise UsageError(f"{' and '.join(special)} measure different things", "give one of them.")
    if full and special and not planner:
        raise UsageError(f"{special[0]} measures something else than --full", "give one of them.")
    if cap is not None and special and not joins:
        raise UsageError(f"{special[0]} stops no engine, so it has no --cap", "leave it out.")
    benchmark.prepare_output(output)
    began = clock.monotonic()

    def say(line: str) -> None:
        print_error(f"{clock.monotonic() - began:5.0f} s  {line}")

    try:
        if methods:
            of_methods = benchmark.run_methods(benchmark.MethodSettings(measured=repeats), say)
            written: tuple[Path, ...] = (benchmark.write_methods(of_methods, output),)
            printed, as_json = benchmark.method_tables(of_methods), benchmark.methods_json(of_methods)
            different = f"not equal: {'; '.join(of_methods.differences)}" if of_methods.differences else None
        elif joins:
            of_joins = benchmark.run_joins(benchmark.JoinSettings(repeats, cap or 300.0), Session(), say)
            written = (benchmark.write_joins(of_joins, output),)
            printed, as_json = benchmark.join_tables(of_joins), benchmark.joins_json(of_joins)
            different = f"not equal: {'; '.join(of_joins.wrong)}" if of_joins.wrong else None
        elif windows:
            of_windows = benchmark.run_windows(benchmark.WindowSettings(repeats), Session(), say)
            written = (benchmark.write_windows(of_windows, output),)
            printed, as_json = benchmark.window_tables(of_windows), benchmark.windows_json(of_windows)
            different = f"not equal: {'; '.join(of_windows.wrong)}" if of_windows.wrong else None
        elif planner:
            of_plans = benchmark.run_planner(say, on_spark=Session() if full else None)
            written = (benchmark.write_planner(of_plans, output),)
            printed, as_json = benchmark.planner_tables(of_plans), benchmark.planner_json(of_plans)
            differences = of_plans.on_spark.differences
            different = f"not equal: {'; '.join(differences)}" if differences else None
        else:
            settings = benchmark.Settings(full=full, repeats=repeats, cap_seconds=cap or (300.0 if full else 60.0))
            settings = replace(settings, r1=replace(settings.r1, seconds=seconds))
            results = benchmark.run_suite(settings, Session(), say)
            written = benchmark.write_report(results, output)
            printed, as_json = benchmark.tables(results), benchmark.as_json(results)
            different = None if results.no_difference else "the engines did not give equal answers"
    except KeyboardInterrupt:
        print_error("stopped; no results were written")
        raise typer.Exit(130) from None
    if json_:
        print_line(json.dumps(as_json, indent=1))
    else:
        console = Console()
        for table in printed:
            (console if console.is_terminal else Console(width=140)).print(table)
        print_line(f"{as_json['seconds']:.0f} s; {', '.join(str(path) for path in written)}")
    if different is not None:
        print_error(different)
        raise typer.Exit(1)


@app.command()
def calibrate(
    as_json: Annotated[bool, typer.Option("--json", help="Print the weights as JSON.")] = False,
) -> None:
    """Measure what operations cost on this machine, so that plans are chosen by its prices; takes about two minutes."""
    from joinfold import calibration  # it loads Spark

    with _ProgressBar("calibrating", len(list(calibration.trials()))) as advance:
        found = calibration.calibrate(Session().spark, advance)
    path = found.weights.save()
    if as_json:
        print_line(
            json.dumps({"file": str(path), "error": found.error, "seconds": dict(found.weights.seconds)}, indent=1)
        )
        return
    print_line(f"{path}: the prices of {len(found.weights.seconds)} operations, by {len(found.bills)} runs")
    print_line(f"estimates of half of them are within {found.error:.0%} of what was measured")


@app.command()
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
        typer.Option("--schema", help="NAME=COLUMNS, such as 'A=location STRING, ts TIMESTAMP', for CSV and JSON."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", help="NAME=PATH, NAME=parquet:PATH, NAME=csv:PATH or NAME=json:PATH: a relation. Repeatable."
        ),
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", help="NAME=COLUMN: a stream's event time; by default 'ts' or its only TIMESTAMP."),
    ] = None,
    delay: Annotated[
        list[str] | None, typer.Option("--delay", help="NAME='10 seconds': how much later a stream's rows may come.")
    ] = None,
    sink: Annotated[
        str, typer.Option(help="console prints the answers, parquet writes them to --output, memory prints at the end.")
    ] = "console",
    output: Annotated[str | None, typer.Option("--output", "-o", help="The folder of --sink parquet.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A directory that keeps the state, so that a later start goes on.")
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(help="'5 seconds' between micro-batches, or 'available' to end with what is there.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="The same as --trigger available.")] = False,
    partitions: Annotated[int | None, typer.Option(min=1, help="Into how many parts the state is cut.")] = None,
    plan: Annotated[str | None, typer.Option("--plan", help=PLAN_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each answer as a JSON object on its line.")] = False,
) -> None:
    """Run a query over streams, until it ends or Ctrl-C stops it."""
    from joinfold.live.run import RunSettings  # it loads Spark
    from joinfold.live.run import run as run_query
    from joinfold.live.specs import named_stream, named_table

    if once and trigger is not None:
        raise UsageError("--once is --trigger available", "give one of them.")
    schemas = {name: schema_of(text) for name, text in _assignments(schema, "--schema").items()}
    texts = _assignments(stream, "--stream")
    streams = {name: named_stream(name, text, schemas.pop(name, None)) for name, text in texts.items()}
    files = _assignments(table, "--table")
    tables = {name: named_table(name, text, schemas.pop(name, None)) for name, text in files.items()}
    if schemas:
        hint = "give it with --stream or --table."
        raise UsageError(f"--schema names '{next(iter(schemas))}', which is neither a stream nor a table", hint)
    settings = RunSettings(
        _query_text(query),
        streams,
        tables,
        _assignments(time, "--time"),
        _assignments(delay, "--delay"),
        sink,
        output,
        checkpoint,
        "available" if once else trigger,
        partitions,
        as_json,
        None if plan is None else Plan.parse(plan),
    )
    run_query(settings, Console(stderr=True), print_line)


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long the readings flow, from the first answer on.")] = 60,
) -> None:
    """Watch a building burn: generated sensor streams, the query of the README, the rooms in alarm as they change."""
    from joinfold.live.demo import demo as run_demo  # it loads Spark

    console = Console()
    run_demo(seconds, console if console.is_terminal else Console(width=140))


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
    if any(char.isspace() for char in query) and not query.endswith(".sql"):
        return query
    try:
        read = sys.stdin.buffer.read() if query == "-" else Path(query).read_bytes()
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"the query '{query}' is not text in UTF-8") from error
    except OSError as error:
        hint = "give a file with a query, '-' for standard input, or the query itself in quotes."
        raise UsageError(f"cannot read the query '{query}': {error.strerror}", hint) from error


def _assignment(entry: str, option: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"{option} takes NAME=VALUE, not '{entry}'")
    return name.strip(), value.strip()


def _assignments(entries: list[str] | None, option: str) -> dict[str, str]:
    return dict(_assignment(entry, option) for entry in entries or [])


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


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
