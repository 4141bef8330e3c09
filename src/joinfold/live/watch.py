"""The loop that watches a running query: it shows the progress until the query ends or is asked to stop."""

from collections.abc import Callable

from joinfold.live.interrupts import Interrupts
from joinfold.live.report import Tally
from joinfold.runtime.handle import Handle
from joinfold.runtime.progress import Progress

LOOK_SECONDS = 0.25

Show = Callable[[Progress | None, Tally], None]


def watch(handle: Handle, interrupts: Interrupts, show: Show, is_over: Callable[[], bool] = lambda: False) -> Tally:
    """Shows a query until it ends, is interrupted, or ``is_over``; if the query failed, raises its error."""
    tally = Tally()
    while True:
        active = handle.is_active
        tally.add(handle.history())
        show(handle.progress(), tally)
        if not active:
            break
        if interrupts.asked or is_over():
            handle.stop()
            tally.add(handle.history())
            return tally
        interrupts.wait(LOOK_SECONDS)
    failure = handle.failure()
    if failure is not None:
        raise failure
    return tally
