"""The steps of a window: at how many instants it holds a row.

    [1 HOUR SLIDE 1 MICROSECOND]     3,600,000,000 steps of 1 MICROSECOND in a window of 1 HOUR

A row may change the answer of each of these instants. So a handful of rows could make more answers than any machine can
write. Windows that count rows move only where rows are, and EMIT ON TRIGGER and EMIT ON ARRIVAL answer once for each
micro-batch or row. They have no steps.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from joinfold.logical.query import Every, Input, LogicalQuery, OnFull, OnSlide, OnWindowId
from joinfold.timetext import duration_text
from joinfold.types import BIGINT
from joinfold.window import Continuous, Sliding, common

MOST_STEPS = 10**6
MANY_STEPS = 10**4


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of the window of ``held``; ``moving`` is the input whose SLIDE makes them, None for EMIT EVERY."""

    held: Input
    moving: Input | None
    size_us: int
    step_us: int

    @property
    def number(self) -> int:
        """How many instants hold a row."""
        return -(-self.size_us // self.step_us)

    def text(self, us: int) -> str:
        """A duration on the clock of the stream."""
        text_of: Callable[[int], str] = str if self.held.source.clock == BIGINT else duration_text
        return text_of(us)

    def __str__(self) -> str:
        return f"{self.number:,} steps of {self.text(self.step_us)} in a window of {self.text(self.size_us)}"


def most_steps(query: LogicalQuery) -> Steps | None:
    """The most steps that a window of the query has; None if no window has steps."""
    return max(_steps(query), key=lambda steps: steps.number, default=None)


def _steps(query: LogicalQuery) -> Iterator[Steps]:
    sizes = [(own, own.window.size_us) for own in query.streams if isinstance(own.window, Sliding | Continuous)]
    slides = [(own, own.window) for own in query.streams if isinstance(own.window, Sliding)]
    if isinstance(query.sync, OnWindowId):
        yield from (Steps(own, own, window.size_us, window.slide_us) for own, window in slides)
    elif isinstance(query.emit, Every):
        yield from (Steps(own, None, size_us, query.emit.period_us) for own, size_us in sizes)
    elif isinstance(query.emit, OnSlide) and slides:
        moving, window = min(slides, key=lambda slide: slide[1].slide_us)
        together = common(own.moves for _, own in slides) if isinstance(query.sync, OnFull) else None
        step_us = window.slide_us if together is None else together.period_us
        yield from (Steps(own, moving, size_us, step_us) for own, size_us in sizes)
