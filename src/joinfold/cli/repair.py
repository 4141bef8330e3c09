"""``joinfold repair``: a copy of a checkpoint from before its time ran away."""

from typing import Annotated

import typer

from joinfold.cli.printing import print_line
from joinfold.registering import AHEAD
from joinfold.session import Session
from joinfold.timetext import duration_text, duration_us


def repair(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint of a stopped query. It is not changed.")],
    into: Annotated[str, typer.Option("--into", help="A new directory for the copy.")],
    ahead: Annotated[
        str, typer.Option(help="A stream whose time lay further ahead of the clock than this has run away.")
    ] = AHEAD,
) -> None:
    """Copy a checkpoint whose time has run away, up to the last micro-batch before that."""
    from joinfold.live.specs import absolute  # imports Spark
    from joinfold.runtime.failures import clear_errors
    from joinfold.runtime.upkeep.repair import repair as repair_checkpoint

    ahead_us = duration_us(ahead)
    with clear_errors():
        done = repair_checkpoint(Session().spark, absolute(checkpoint), absolute(into), ahead_us)
    for alias, largest in done.ran_away.items():
        print_line(f"'{alias}' had run away to {largest}")
    print_line(
        f"'{into}' goes on after micro-batch {done.last}; rows of {done.dropped} later micro-batches are read again. "
        f"Start the query with it, with ahead='{duration_text(ahead_us).lower()}', and write to a new place: answers "
        "of these micro-batches come again"
    )
