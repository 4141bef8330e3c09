"""``joinfold demo``: a query at work on generated streams."""

from typing import Annotated

import typer
from rich.console import Console


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long the readings flow, from the first answer on.")] = 60,
) -> None:
    """Watch a building burn: generated sensor streams, the query of the README, the rooms in alarm as they change."""
    from joinfold.live.demo import demo as run_demo  # it loads Spark

    console = Console()
    run_demo(seconds, console if console.is_terminal else Console(width=140))
