"""Warnings about queries that may not mean what their author wanted. They are answered as written."""

from collections.abc import Callable, Iterator

from joinfold.logical.query import LogicalQuery
from joinfold.logical.steps import MANY_STEPS, most_steps
from joinfold.timetext import duration_text
from joinfold.types import BIGINT
from joinfold.window import Rows, Sliding


def gaps(query: LogicalQuery) -> Iterator[str]:
    """If the slide of a window is larger than its size, some rows fall between two windows."""
    for input_ in query.streams:
        match input_.window:
            case Sliding(size_us=size, slide_us=slide) if slide > size:
                text_of: Callable[[int], str] = str if input_.source.clock == BIGINT else duration_text
            case Rows(size=size, slide=slide) if slide > size:
                text_of = "{} ROWS".format
            case _:
                continue
        lengths = f"holds {text_of(size)} but slides by {text_of(slide)}"
        yield f"the window of '{input_.alias}' {lengths}, so some rows are in no window"


def many_steps(query: LogicalQuery) -> Iterator[str]:
    """If a window moves in very small steps, each row is in very many answers."""
    steps = most_steps(query)
    if steps is not None and steps.number > MANY_STEPS:
        yield f"a row of '{steps.held.alias}' is in up to {steps.number:,} answers: there are {steps}"


CAUTIONS: tuple[Callable[[LogicalQuery], Iterator[str]], ...] = (gaps, many_steps)


def warnings_of(query: LogicalQuery) -> tuple[str, ...]:
    """All warnings about a query."""
    return tuple(text for caution in CAUTIONS for text in caution(query))
