"""``joinfold bench``: runs a suite of ``joinfold_bench``, a distribution of its own, and prints the report."""

import json
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from joinfold.cli.printing import print_error, print_line
from joinfold.errors import UsageError

if TYPE_CHECKING:
    from joinfold_bench import Results


def bench(
    suite: Annotated[str, typer.Argument(help="What to measure; --list names the suites.")] = "engines",
    list_: Annotated[bool, typer.Option("--list", help="List the suites, with the options of each.")] = False,
    full: Annotated[bool, typer.Option("--full/--quick", help="Include the long measurements.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for results.json or results-SUITE.json, and rates.svg.")
    ] = Path("bench-results"),
    repeats: Annotated[int | None, typer.Option(min=1, help="How often to measure.")] = None,
    cap: Annotated[float | None, typer.Option(min=1, help="Seconds after which a slow engine is stopped.")] = None,
    seconds: Annotated[int | None, typer.Option(min=1, help="Seconds of event time in the data.")] = None,
    variants: Annotated[bool, typer.Option("--variants", help="Measure harder variants of each query, too.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure joinfold beside other engines, or its plans beside each other. Answers must be equal."""
    try:
        import joinfold_bench  # imports Spark
    except ModuleNotFoundError as error:
        if error.name != "joinfold_bench":
            raise
        raise UsageError("the benchmark suites are not installed", "pip install 'joinfold[bench]'") from error

    if list_:
        for known in joinfold_bench.SUITES.values():
            for line in known.described():
                print_line(line)
        return
    chosen = joinfold_bench.suite_named(suite)
    options = joinfold_bench.Options(full, repeats, cap, seconds, variants)
    chosen.check(options)
    joinfold_bench.prepare_output(output)
    began = clock.monotonic()
    try:
        results = chosen.run(options, lambda line: print_error(f"{clock.monotonic() - began:5.0f} s  {line}"))
        written = joinfold_bench.write_results(results, output, chosen.file)
    except KeyboardInterrupt:
        print_error("stopped; no results were written")
        raise typer.Exit(130) from None
    if json_:
        print_line(json.dumps(results.to_json(), indent=1))
    else:
        _print_tables(results)
        print_line(f"{results.seconds:.0f} s; {', '.join(map(str, written))}")
    if results.wrong:
        print_error(f"not equal: {'; '.join(results.wrong)}")
        raise typer.Exit(1)


def _print_tables(results: "Results") -> None:
    console = Console()
    for table in results.tables():
        (console if console.is_terminal else Console(width=140)).print(table)
