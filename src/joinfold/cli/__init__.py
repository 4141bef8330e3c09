"""The command line: arguments and printing, no logic. A command is a file.

The exit status is 0 for success, 2 for a user's mistake and 1 for a query that failed while it ran. An error is one
message without a traceback. A command imports Spark only when it runs.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, TextIO

import typer

from joinfold.cli import bench, calibrate, demo, explain, generate, repair, rescale, run
from joinfold.cli.config import USUAL, defaults_of
from joinfold.cli.printing import print_error, print_line
from joinfold.errors import EvaluationError, JoinfoldError, RunError
from joinfold.version import __version__

app = typer.Typer(
    name="joinfold",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (
    explain.explain,
    generate.generate,
    bench.bench,
    calibrate.calibrate,
    run.run,
    repair.repair,
    rescale.rescale,
    demo.demo,
):
    app.command()(command)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print_line(f"joinfold {__version__}")
        raise typer.Exit


@app.callback()
def joinfold(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="JOINFOLD_CONFIG",
            help=f"A TOML file with defaults for options, by command. Usually {USUAL}, if there is one.",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Continuous join-aggregate queries over sliding windows of data streams.

    Every option can also be set by an environment variable, such as JOINFOLD_RUN_CHECKPOINT, or in a file.
    """
    path = config if config is not None else USUAL if USUAL.is_file() else None
    commands = getattr(context.command, "commands", {})
    context.default_map = dict(defaults_of(commands, os.environ, path))


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Prints a warning without the place in the code that raised it."""
    print_error(f"Warning: {message}")


def main() -> None:
    """Entry point of the command ``joinfold``, and of ``python -m joinfold``."""
    warnings.showwarning = _show_warning
    try:
        app(prog_name="joinfold")
    except JoinfoldError as error:
        print_error(error.report())
        sys.exit(1 if isinstance(error, EvaluationError | RunError) else 2)
