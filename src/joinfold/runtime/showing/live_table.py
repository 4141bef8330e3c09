"""The live table of a query: its last answers, its streams and their rates, and why it is silent."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from joinfold.explain.tables import Table
from joinfold.notebook import fragment, paragraphs, warning
from joinfold.runtime.progress import Progress, lag_text, streams_table

PATIENCE = timedelta(seconds=3)
FIRST = "The first micro-batch starts Python workers and compiles the plan: 10 s or more on a cold machine."


@dataclass(frozen=True, slots=True)
class LiveTable:
    """What is shown of a query at one moment. ``answers`` is None if its answers do not come to this process."""

    progress: Progress | None
    answers: Table | None
    status: str

    @property
    def _sentences(self) -> list[str]:
        if self.progress is None:
            return [f"{self.status}. {FIRST}" if self.status == "running" else self.status]
        known = self.progress
        told = [self.status, f"micro-batch {known.batch} in {known.batch_seconds:,.1f} s"]
        told.append(f"watermark {known.watermark or 'not yet'}")
        told += [] if known.latency_seconds is None else [f"latency {lag_text(known.latency_seconds)}"]
        waits = datetime.now(UTC) - known.silent_since
        silent = self.status == "running" and waits > PATIENCE
        return [" · ".join(told)] + (
            [f"no answer for {waits.total_seconds():,.0f} s: {known.waiting_for}"] if silent else []
        )

    @property
    def _tables(self) -> list[Table]:
        streams = [] if self.progress is None else [streams_table(self.progress)]
        return streams + ([] if self.answers is None else [self.answers])

    def __str__(self) -> str:
        return "\n".join([*self._sentences, *map(str, self._tables)])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """The table as HTML and as text, for a notebook."""
        alarm = [] if self.progress is None or self.progress.warning is None else [warning(self.progress.warning)]
        html = fragment(paragraphs(self._sentences), *alarm, *(table.to_html() for table in self._tables))
        return {"text/html": html, "text/plain": str(self)}
