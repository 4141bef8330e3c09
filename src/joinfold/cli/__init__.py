"""The command line: arguments and printing, no logic. A command is a file.

The exit status is 0 for success, 2 for a user's mistake and 1 for a query that failed while it ran. An error is one
message without a traceback. A command imports Spark only when it runs.
"""

import sys

import typer

from joinfold.cli import bench, calibrate, demo, explain, generate, repair, rescale, run
from joinfold.cli.printing import print_error
from joinfold.errors import EvaluationError, JoinfoldError, RunError

app = typer.Typer(
    name="joinfold",
    help="Continuous join-aggregate queries over sliding windows of data streams.",
    no_args_is_help=True,
    add_completion=False,
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


def main() -> None:
    """Entry point of the command ``joinfold``."""
    try:
        app(prog_name="joinfold")
    except JoinfoldError as error:
        print_error(error.report())
        sys.exit(1 if isinstance(error, EvaluationError | RunError) else 2)
