"""``joinfold rescale``: a copy of a checkpoint with another number of partitions."""

from typing import Annotated

import typer

from joinfold.cli.printing import print_line
from joinfold.session import Session


def rescale(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint of a stopped query. It is not changed.")],
    partitions: Annotated[int, typer.Option("--partitions", help="The number of partitions of the copy.")],
    into: Annotated[str, typer.Option("--into", help="A new directory for the copy.")],
) -> None:
    """Copy a checkpoint with its state in another number of partitions."""
    from joinfold.live.specs import absolute  # imports Spark
    from joinfold.runtime.failures import clear_errors
    from joinfold.runtime.upkeep.rescale import rescale as rescale_checkpoint

    with clear_errors():
        done = rescale_checkpoint(Session().spark, absolute(checkpoint), absolute(into), partitions)
    print_line(
        f"'{into}' has {done.new} partitions instead of {done.old}, and goes on after micro-batch {done.last}. Start "
        "the query with it instead of the old checkpoint, and write to the same place: no answer is lost or comes again"
    )
