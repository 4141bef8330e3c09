"""``joinfold generate``: a seeded workload as Parquet files."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from joinfold.cli.arguments import assignment
from joinfold.cli.printing import ProgressBar, print_line
from joinfold.registering import schema_of
from joinfold.workloads import PRESETS, WORKLOADS
from joinfold.workloads import generate as generate_workload


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
    with ProgressBar(f"generating {workload}", rows) as advance:
        schemas = generate_workload(workload, rows=rows, seed=seed, directory=directory, progress=advance, **settings)
    described = {name: str(schema_of(schema)) for name, schema in schemas.items()}
    if as_json:
        print_line(json.dumps({"directory": str(directory), "streams": described}, indent=2))
        return
    for name, columns in described.items():
        print_line(f"{directory / name}: {columns}")


def _parameter(entry: str) -> tuple[str, Any]:
    """A value is a number, a comma-separated tuple of numbers, or a word."""
    name, text = assignment(entry, "--set")
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
