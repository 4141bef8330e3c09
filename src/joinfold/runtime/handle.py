"""A running query: stop it, wait for it, read its progress."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from joinfold.errors import JoinfoldError, UsageError
from joinfold.notebook import facts, fragment
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.failures import LATE_WORKER, clear_error, clear_errors
from joinfold.runtime.progress import Growth, Progress, ended, holding, metrics_of, progress_of
from joinfold.runtime.showing.cells import answers_table
from joinfold.runtime.showing.following import follow
from joinfold.runtime.showing.live_table import LiveTable
from joinfold.runtime.showing.plot import Plot, check_columns, plot_of, require_matplotlib
from joinfold.runtime.showing.tail import Tail

_log = logging.getLogger(__name__)

REMEMBERED = 1000
RESTARTS = 2


class Handle:
    """A started query: stop it, wait for it, or read its progress.

    ``begin`` starts the query on Spark, from its checkpoint. ``tidy`` is called when it has ended. If it failed because
    a worker did not start in time, as on a busy machine, it is started again, up to `RESTARTS` times. ``tail`` has the
    last answers, if answers come to this process.
    """

    def __init__(
        self,
        begin: Callable[[], StreamingQuery],
        plan: PlannedQuery,
        checkpoint: str,
        tidy: Callable[[], None],
        tail: Tail | None = None,
    ) -> None:
        self.query = begin()
        self.plan = plan
        self.checkpoint = checkpoint
        self._begin = begin
        self._tidy = tidy
        self._tail = tail
        self._restarts = 0
        self._history: deque[Progress] = deque(maxlen=REMEMBERED)
        self._last: dict[str, Any] | None = None
        self._silent_since: datetime | None = None
        self._growth = Growth()
        self._rows: dict[str, int] = {}

    @property
    def is_active(self) -> bool:
        """Whether the query is running."""
        with clear_errors(self.checkpoint):
            active = bool(self.query.isActive) or self._is_started_again(self.query.exception())
        if not active:
            self._tidy()
        return active

    def stop(self) -> None:
        """Stops the query at once. A later start repeats the micro-batch that was not finished."""
        try:
            with clear_errors(self.checkpoint):
                self.query.stop()
        finally:
            self._tidy()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits until the query ends; False if it has not ended within the timeout. Raises the error it failed with."""
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        try:
            with clear_errors(self.checkpoint):
                while not self._waited(until):
                    if until is not None and time.monotonic() >= until:
                        return False
        except JoinfoldError:
            self._tidy()
            raise
        self._tidy()
        return True

    def failure(self) -> JoinfoldError | None:
        """The error that the query failed with, None if it has not failed."""
        try:
            with clear_errors(self.checkpoint):
                error = self.query.exception()
                if error is None or self._is_started_again(error):
                    return None
        except JoinfoldError as lost:
            return lost
        self._tidy()
        clear = clear_error(error, self.checkpoint)
        clear.__cause__ = error
        return clear

    def _waited(self, until: float | None) -> bool:
        """Whether the query has ended by a time; False also if it was started again."""
        try:
            if until is None:
                self.query.awaitTermination()
                return True
            return bool(self.query.awaitTermination(max(until - time.monotonic(), 0.001)))  # type: ignore[arg-type]
        except StreamingQueryException as error:
            if self._is_started_again(error):
                return False
            raise

    def _is_started_again(self, error: StreamingQueryException | None) -> bool:
        if error is None or LATE_WORKER not in str(error) or self._restarts == RESTARTS:
            return False
        self._restarts += 1
        _log.warning("a Python worker did not start in time: restart %d of %d", self._restarts, RESTARTS)
        self.query = self._begin()
        return True

    def progress(self) -> Progress | None:
        """The latest progress of the query; None before the end of its first micro-batch."""
        self._look()
        if not self._history or self._last is None:
            return None
        latest = self._history[-1]
        if metrics_of(self._last):
            return latest
        idle = tuple(replace(stream, rows=0, rows_per_second=0.0) for stream in latest.streams)
        return replace(latest, streams=idle, instants=0)

    def history(self) -> tuple[Progress, ...]:
        """The progress after each micro-batch that had rows, oldest first, at most the last 1000.

        Spark keeps few reports. Those that it drops between two calls of `progress` or `history` are missing.
        """
        self._look()
        return tuple(self._history)

    def answers(self, rows: int | None = None) -> pa.Table:
        """The last rows that were answered, in the order of their instants: at most ``rows``, and at most 10,000.

        They are kept if the sink is a function, or 'latest'. Other sinks write their rows where Spark's workers are.
        """
        if self._tail is None:
            hint = "start the query with the sink 'latest', or with a function, or read what its sink wrote."
            raise UsageError("the answers of this query go to a sink of Spark, and do not come to this process", hint)
        if rows is not None and (not isinstance(rows, int) or rows < 0):
            raise UsageError(f"rows cannot be {rows!r}", "give a whole number, such as 20.")
        return self._tail.rows(rows)

    def show(self, rows: int = 20, seconds: float | None = None) -> None:
        """Shows the last answers and the rates of the streams, in place, in a notebook or a terminal.

        It ends when the query ends, after so many ``seconds``, or with Ctrl-C (in a notebook: the stop button), which
        does not stop the query. Answers are shown as far as `answers` has them. Raises the error of a failed query.
        """

        def drawn() -> LiveTable:
            shown = None if self._tail is None else answers_table(self.answers(rows), f"The last {rows} answers")
            return LiveTable(self.progress(), shown, self._status())

        follow(lambda: self.is_active, drawn, seconds)
        self._raise_failure()

    def plot(self, column: str, by: str | None = None, seconds: float | None = 0) -> Plot:
        """Plots a column of the last answers over their instants, with a line for each value of the column ``by``.

        ``seconds`` redraws the plot in a notebook while the query runs, for so long, or with None until it ends or is
        interrupted as `show` is. Needs matplotlib: ``pip install 'joinfold[notebook]'``.
        """
        require_matplotlib()
        answers = self.answers()
        check_columns(answers.schema, column, by)
        assert self._tail is not None
        order = self._tail.order
        if seconds == 0:
            return plot_of(answers, order, column, by)
        drawn = follow(lambda: self.is_active, lambda: plot_of(self.answers(), order, column, by), seconds)
        self._raise_failure()
        assert isinstance(drawn, Plot)
        return drawn

    def _raise_failure(self) -> None:
        failure = self.failure()
        if failure is not None:
            raise failure

    def _look(self) -> None:
        """Takes in what Spark has reported since the last call. Fetches all recent reports only if some were missed."""
        with clear_errors(self.checkpoint):
            last = self.query.lastProgress
        if last is None or (self._last is not None and _stamp(last) == _stamp(self._last)):
            return
        follows = self._last is not None and last["batchId"] - self._last["batchId"] <= 1
        with clear_errors(self.checkpoint):
            steps = [last] if follows else self.query.recentProgress
        for step in steps:
            if self._last is None or _stamp(step) > _stamp(self._last):
                self._take(dict(step))

    def _take(self, step: dict[str, Any]) -> None:
        metrics = metrics_of(step)
        if metrics.get("instants"):
            self._silent_since = ended(step)
        self._silent_since = self._silent_since or datetime.fromisoformat(step["timestamp"])
        if metrics.get("change"):
            _log.info("micro-batch %d: %s", step["batchId"], metrics["change"])
        if metrics:
            progress = progress_of(step, metrics, self.plan, self._silent_since, self._rows)
            self._rows = {stream.alias: stream.rows_so_far for stream in progress.streams}
            warning = self._growth.warning(progress, holding(self.plan, metrics))
            if warning is not None:
                _log.warning("micro-batch %d: %s", step["batchId"], warning)
            self._history.append(replace(progress, warning=warning))
        self._last = step

    def __repr__(self) -> str:
        return f"<joinfold.Handle {self._status()}, checkpoint '{self.checkpoint}'>"

    def _repr_html_(self) -> str:
        """The query as HTML, for a notebook: whether it runs, and its latest progress."""
        latest = self.progress() if self._status() == "running" or self._history else None
        shown = "" if latest is None else latest._repr_html_()
        return fragment(facts({"query": self._status(), "checkpoint": self.checkpoint})) + shown

    def _status(self) -> str:
        """Whether the query runs, in words. Does not start it again."""
        try:
            with clear_errors(self.checkpoint):
                error = self.query.exception()
                if error is None:
                    return "running" if self.query.isActive else "ended"
        except JoinfoldError as lost:
            return f"failed: {lost.message}"
        return f"failed: {clear_error(error, self.checkpoint).message}"


def _stamp(step: Mapping[str, Any]) -> tuple[int, str]:
    return step["batchId"], step["timestamp"]
