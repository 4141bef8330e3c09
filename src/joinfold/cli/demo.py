"""``joinfold demo``: the query of the README on generated streams."""

from typing import Annotated

import typer
from rich.console import Console


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long to run after the first answer.")] = 60,
) -> None:
    """Watch a building burn: the query of the README on generated sensors, with the rooms in alarm as they change."""
    from joinfold.live.demo import demo as run_demo  # imports Spark

    console = Console()
    run_demo(seconds, console if console.is_terminal else Console(width=140))
