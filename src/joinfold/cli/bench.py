"""``joinfold bench``: joinfold side by side with other engines."""

import json
import time as clock
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from joinfold.cli.printing import print_error, print_line
from joinfold.errors import UsageError
from joinfold.session import Session


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
    import joinfold_bench as benchmark  # it loads Spark

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
